/** `parley apps …`: the control plane's applications. */

import { controlPlane } from "./client.ts";
import type { Answer } from "./command.ts";
import { confirm } from "./confirm.ts";
import { UsageError } from "./errors.ts";
import type { Given } from "./given.ts";
import { fields, table, time } from "./output.ts";
import { rotation } from "./rotation.ts";

interface App {
  readonly _id: string;
  readonly name: string;
  readonly created: number;
  readonly plan: {
    readonly name: string;
    readonly maxConcurrentConnections: number | null;
    readonly maxMessagesPerPeriod: number | null;
  };
  readonly retentionDays: number | null;
  readonly deleted?: number;
  /** In the answer to create. */
  readonly secretKey?: string;
}

const cap = (limit: number | null): string | number => limit ?? "unlimited";
const retention = (days: number | null): string => (days === null ? "for ever" : `${days} days`);

const appPath = (given: Given): string => `/apps/${given.id(0, "the id or name of an application")}`;

const shown = (app: App): string =>
  fields({
    id: app._id,
    name: app.name,
    created: time(app.created),
    deleted: time(app.deleted),
    plan: app.plan.name,
    connections: cap(app.plan.maxConcurrentConnections),
    "messages a month": cap(app.plan.maxMessagesPerPeriod),
    "recordings kept": retention(app.retentionDays),
    "secret key": app.secretKey,
  });

export async function create(given: Given): Promise<Answer> {
  const app = await controlPlane(given).post<App>("/apps", { name: given.word(0) });
  return {
    value: app,
    text: shown(app),
    notes: [`Keep the secret key to yourself; "parley apps secret ${app.name}" shows it again.`],
  };
}

export async function list(given: Given): Promise<Answer> {
  const answer = await controlPlane(given).get<{ data: App[] }>("/apps");
  if (answer.data.length === 0) return { value: answer, text: "", notes: ["There are no applications yet."] };
  const rows = answer.data.map((app) => [
    app.name,
    app._id,
    app.plan.name,
    cap(app.plan.maxConcurrentConnections),
    cap(app.plan.maxMessagesPerPeriod),
    retention(app.retentionDays),
    time(app.created),
  ]);
  return { value: answer, text: table(["NAME", "ID", "PLAN", "CONNECTIONS", "MESSAGES", "KEPT", "CREATED"], rows) };
}

export async function show(given: Given): Promise<Answer> {
  const app = await controlPlane(given).get<App>(appPath(given));
  return { value: app, text: shown(app) };
}

export async function remove(given: Given): Promise<Answer> {
  const server = controlPlane(given);
  const path = appPath(given);
  await confirm(given, `Delete the application ${given.word(0)} and revoke its keys?`);
  const app = await server.delete<App>(path);
  return { value: app, text: shown(app), notes: ["Its keys are revoked."] };
}

export async function plan(given: Given): Promise<Answer> {
  const name = given.text("name");
  const maxConcurrentConnections = given.wholeOrNone("max-connections");
  const maxMessagesPerPeriod = given.wholeOrNone("max-messages");
  const retentionDays = given.wholeOrNone("retention-days");
  if ([name, maxConcurrentConnections, maxMessagesPerPeriod, retentionDays].every((one) => one === undefined))
    throw new UsageError("nothing to change: name --max-connections, --max-messages, --name or --retention-days");
  // What is undefined is not in the JSON, and so stays as it is.
  const edit = { plan: { name, maxConcurrentConnections, maxMessagesPerPeriod }, retentionDays };
  const app = await controlPlane(given).patch<App>(appPath(given), edit);
  return { value: app, text: shown(app) };
}

export async function secret(given: Given): Promise<Answer> {
  const answer = await controlPlane(given).get<{ secretKey: string }>(`${appPath(given)}/secret-key`);
  return { value: answer, text: `${answer.secretKey}\n` };
}

export async function rotateSecret(given: Given): Promise<Answer> {
  const options = rotation(given);
  const answer = await controlPlane(given).post<{ secretKey: string }>(`${appPath(given)}/secret-key/rotate`, options);
  const isOver = options.retirePrevious || options.graceSec === 0;
  const note = isOver
    ? "The old secret key no longer works, nor do the access tokens made under it."
    : "The old secret key, and access tokens made under it, work until the grace is over.";
  return { value: answer, text: `${answer.secretKey}\n`, notes: [note] };
}

/** `parley webhooks …`: manages the webhooks of an application through the control plane. */
import { readFile } from "node:fs/promises";
import { appNamed } from "../../calls/address.ts";
import { controlPlane } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { fields, listed, table, time } from "../../terminal/output.ts";

export interface Webhook {
  readonly _id: string;
  readonly kind: "control" | "application" | "room";
  readonly url: string;
  readonly events: readonly string[];
  readonly channelPatterns: readonly string[] | null;
  readonly description: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly disabled: boolean;
  readonly disabledAt: number | null;
  readonly disabledReason: "request" | "gone" | "failing" | null;
  readonly created: number;
  readonly previousSecrets: readonly { readonly endsAt: number }[];
  readonly health: Health;
  /** Only in the response to the creation. */
  readonly secret?: string;
}

interface Health {
  readonly state: "new" | "ok" | "failing" | "disabled";
  readonly waiting: number;
  readonly delivered: number;
  readonly failed: number;
  readonly dropped: number;
  readonly lastAttempt: number | null;
  readonly lastSuccess: number | null;
  readonly failingSince: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

const SHOWN_ONCE = "Save the secret now: it is not shown again. Receivers verify every request with it.";
const WHY_DISABLED = { request: "on request", gone: "it answered 410", failing: "nothing has succeeded for five days" };

export const webhooksPath = (input: Input): string => `/apps/${encodeURIComponent(appNamed(input))}/webhooks`;
export const webhookPath = (input: Input): string => `${webhooksPath(input)}/${input.id(0, "the id of a webhook")}`;

const describe = (one: Webhook): string =>
  fields({
    webhook: one._id,
    secret: one.secret,
    address: one.url,
    "made by": { control: "operators", application: "the application", room: "fields of rooms" }[one.kind],
    events: one.kind === "room" ? undefined : listed(one.events),
    channels: listed(one.channelPatterns ?? undefined),
    description: one.description ?? undefined,
    headers: Object.keys(one.headers).length > 0 ? Object.keys(one.headers).join(", ") : undefined,
    state: one.health.state,
    disabled:
      one.disabledReason === null ? undefined : `${time(one.disabledAt ?? 0)}, ${WHY_DISABLED[one.disabledReason]}`,
    created: time(one.created),
    "previous secrets sign until": listedTimes(one.previousSecrets),
    delivered: one.health.delivered,
    waiting: one.health.waiting,
    "without success": one.health.failed,
    dropped: one.health.dropped || undefined,
    "last attempt": time(one.health.lastAttempt ?? undefined),
    "last success": time(one.health.lastSuccess ?? undefined),
    "failing since": time(one.health.failingSince ?? undefined),
    "last answer": one.health.lastStatus ?? undefined,
    "last error": one.health.lastError ?? undefined,
  });

const listedTimes = (secrets: Webhook["previousSecrets"]): string | undefined =>
  secrets.length === 0 ? undefined : secrets.map(({ endsAt }) => time(endsAt)).join(", ");

const shown = (one: Webhook): CommandResult => ({ value: one, text: describe(one) });

export async function list(input: Input): Promise<CommandResult> {
  const { data } = await controlPlane(input).getAll<Webhook>(webhooksPath(input));
  if (data.length === 0) return { value: data, text: "", notes: ["There are no webhooks yet."] };
  const rows = data.map((one) => [
    one._id,
    one.url,
    one.kind === "room" ? "of rooms" : listed(one.events),
    one.health.state,
    one.health.delivered,
    one.health.waiting,
    one.health.failed,
    time(one.health.lastAttempt ?? undefined),
  ]);
  const head = ["WEBHOOK", "ADDRESS", { prose: "EVENTS" }, "STATE", "DELIVERED", "WAITING", "FAILED", "LAST ATTEMPT"];
  return { value: data, text: table(head, rows) };
}

export async function create(input: Input): Promise<CommandResult> {
  const wanted = {
    url: input.operand(0),
    events: input.list("events"),
    channelPatterns: input.list("channels"),
    description: input.text("description"),
    disabled: input.isOn("disabled") || undefined,
    headers: await headersIn(input),
  };
  const made = await controlPlane(input).post<Webhook>(webhooksPath(input), wanted);
  return {
    ...shown(made),
    notes: [SHOWN_ONCE, `"parley webhooks test ${made._id}${appFlag(input)}" sends a test event.`],
  };
}

/** For commands to paste. */
const appFlag = (input: Input): string => {
  const app = input.text("app");
  return app === undefined ? "" : ` --app ${app}`;
};

export async function show(input: Input): Promise<CommandResult> {
  return shown(await controlPlane(input).get<Webhook>(webhookPath(input)));
}

export async function edit(input: Input): Promise<CommandResult> {
  const channels = input.list("channels");
  const edit = {
    url: input.text("address"),
    events: input.list("events"),
    channelPatterns: channels?.length === 0 ? null : channels,
    description: input.textOrNull("description"),
    disabled: input.onOff("disabled"),
    headers: await headersIn(input),
  };
  if (Object.values(edit).every((value) => value === undefined))
    throw new UsageError(
      "nothing to change: pass --address, --events, --channels, --description, --headers-file or --disabled",
    );
  return shown(await controlPlane(input).patch<Webhook>(webhookPath(input), edit));
}

export async function remove(input: Input): Promise<CommandResult> {
  const server = controlPlane(input);
  const path = webhookPath(input);
  await confirm(input, `delete the webhook ${input.operand(0)} and its log`, () => server.get(path));
  return shown(await server.delete<Webhook>(path));
}

interface Rotated {
  readonly _id: string;
  readonly secret: string;
  readonly previousSecretExpiresAt: number;
}

export async function rotate(input: Input): Promise<CommandResult> {
  const graceSec = input.seconds("grace");
  const rotated = await controlPlane(input).post<Rotated>(`${webhookPath(input)}/rotate`, { graceSec });
  const text = fields({
    webhook: rotated._id,
    secret: rotated.secret,
    "previous secret signs until": time(rotated.previousSecretExpiresAt),
  });
  return { value: rotated, text, notes: [SHOWN_ONCE] };
}

/** In a file, because other users can see arguments, and values are often credentials. null: the header is removed. */
async function headersIn(input: Input): Promise<Record<string, string | null> | undefined> {
  const file = input.text("headers-file");
  if (file === undefined) return undefined;
  const text = file === "-" ? await Bun.stdin.text() : await readHeaders(file);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== "");
  const pairs = lines.map((line, at): [string, string | null] => {
    const colon = line.indexOf(":");
    // The line itself is not shown: it may be nothing but a secret.
    if (colon < 1) throw new UsageError(`line ${at + 1} of the headers must be "Name: value"`);
    return [line.slice(0, colon).trim(), line.slice(colon + 1).trim() || null];
  });
  return Object.fromEntries(pairs);
}

async function readHeaders(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(`--headers-file: ${(error as Error).message}`);
  }
}

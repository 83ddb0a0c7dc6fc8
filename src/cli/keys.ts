/** `parley keys …`: the control plane's keys. */
import { ACTIONS } from "../protocol/actions.ts";
import { controlPlane, type Server } from "./client.ts";
import type { Answer } from "./command.ts";
import { confirm } from "./confirm.ts";
import { UsageError } from "./errors.ts";
import type { Given } from "./given.ts";
import { fields, listed, table, time } from "./output.ts";
import { rotation } from "./rotation.ts";

interface Key {
  readonly keyId: string;
  readonly app: string;
  readonly type: "publishable" | "secret";
  readonly label: string | null;
  readonly channelPatterns: readonly string[];
  readonly actions: readonly string[];
  /** Only publishable keys have them. */
  readonly allowedOrigins?: readonly string[];
  readonly created: number;
  readonly rotated: number | null;
  readonly revoked: number | null;
  /** In the answer to the creation of a secret key. */
  readonly secret?: string;
}

const ROOT = "/signalling/keys";
const keyPath = (given: Given): string => `${ROOT}/${given.id(0, "the id of a key (pk_live_… or sk_id_…)")}`;

const ONCE =
  "The secret is shown this once: keep it now. Parley takes it together with the key's id, as PARLEY_KEY=KEY:SECRET.";

const shown = (key: Key): string =>
  fields({
    key: key.keyId,
    secret: key.secret,
    app: key.app,
    type: key.type,
    label: key.label,
    channels: listed(key.channelPatterns),
    actions: listed(key.actions),
    origins: listed(key.allowedOrigins),
    created: time(key.created),
    rotated: time(key.rotated ?? undefined),
    revoked: time(key.revoked ?? undefined),
  });

export async function create(given: Given): Promise<Answer> {
  const type = given.oneOf("type", ["publishable", "secret"]);
  const allowedOrigins = given.list("origins");
  if (type === "publishable" && !allowedOrigins)
    throw new UsageError(
      "a publishable key needs --origins: 'https://example.com', '*' for every page, '' for no browser",
    );
  if (type === "secret" && allowedOrigins)
    throw new UsageError("a secret key has no --origins: browsers never hold it");
  const wanted = { app: given.needed("app"), type, ...scope(given), allowedOrigins, label: given.text("label") };
  const key = await controlPlane(given).post<Key>(ROOT, wanted);
  return { value: key, text: shown(key), notes: key.secret === undefined ? [] : [ONCE] };
}

export async function list(given: Given): Promise<Answer> {
  const app = given.text("app");
  const server = controlPlane(given);
  const answer = await server.get<{ data: Key[] }>(app === undefined ? ROOT : `${ROOT}?app=${encodeURIComponent(app)}`);
  if (answer.data.length === 0) return { value: answer, text: "", notes: ["There are no keys yet."] };
  const names = given.on("json") ? new Map<string, string>() : await appNames(server);
  const rows = answer.data.map((key) => [
    key.keyId,
    names.get(key.app) ?? key.app,
    key.type,
    key.revoked === null ? "live" : "revoked",
    key.label,
    listed(key.channelPatterns),
    listed(key.actions),
    listed(key.allowedOrigins),
    time(key.created),
  ]);
  const head = ["KEY", "APP", "TYPE", "STATE", "LABEL", "CHANNELS", "ACTIONS", "ORIGINS", "CREATED"];
  return { value: answer, text: table(head, rows) };
}

/** People know their applications by name; deleted ones have none left. */
async function appNames(server: Server): Promise<ReadonlyMap<string, string>> {
  const { data } = await server.get<{ data: { _id: string; name: string }[] }>("/apps");
  return new Map(data.map((app) => [app._id, app.name]));
}

export async function show(given: Given): Promise<Answer> {
  const key = await controlPlane(given).get<Key>(keyPath(given));
  return { value: key, text: shown(key) };
}

export async function edit(given: Given): Promise<Answer> {
  const edit = { ...scope(given), allowedOrigins: given.list("origins"), label: given.textOrNull("label") };
  if (Object.values(edit).every((value) => value === undefined))
    throw new UsageError("nothing to change: name --channels, --actions, --origins or --label");
  const key = await controlPlane(given).patch<Key>(keyPath(given), edit);
  return { value: key, text: shown(key) };
}

/** What both create and edit take; what is not given is not in the JSON. */
const scope = (given: Given) => ({
  channelPatterns: given.list("channels"),
  actions: given.list("actions", ACTIONS),
});

interface Rotated {
  readonly keyId: string;
  readonly secret: string;
  readonly previousSecretExpiresAt: number;
}

export async function rotate(given: Given): Promise<Answer> {
  const answer = await controlPlane(given).post<Rotated>(`${keyPath(given)}/rotate`, rotation(given));
  const text = fields({
    key: answer.keyId,
    secret: answer.secret,
    "previous secret ends": time(answer.previousSecretExpiresAt),
  });
  return { value: answer, text, notes: [ONCE] };
}

export async function revoke(given: Given): Promise<Answer> {
  const server = controlPlane(given);
  const path = keyPath(given);
  await confirm(given, `Revoke the key ${given.word(0)} and end its connections?`);
  const key = await server.delete<Key>(path);
  return { value: key, text: shown(key) };
}

/** `parley keys …`: manages keys through the control plane. */
import { ACTIONS } from "../../../protocol/actions.ts";
import { controlPlane, type Server } from "../../calls/client.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { endsNow, rotation } from "../../line/rotation.ts";
import { confirm } from "../../terminal/confirm.ts";
import { fields, listed, table, time } from "../../terminal/output.ts";
import { nameOfApp } from "./app-name.ts";

interface Key {
  readonly keyId: string;
  readonly app: string;
  readonly type: "publishable" | "secret";
  readonly label: string | null;
  readonly channelPatterns: readonly string[];
  readonly actions: readonly string[];
  /** Only publishable keys have them. */
  readonly allowedOrigins?: readonly string[];
  readonly turn: boolean;
  readonly created: number;
  readonly rotated: number | null;
  readonly revoked: number | null;
  /** Only in the response to the creation of a secret key. */
  readonly secret?: string;
}

const ROOT = "/signalling/keys";
const keyPath = (input: Input): string => `${ROOT}/${input.id(0, "the id of a key (pk_live_… or sk_id_…)")}`;

const SHOWN_ONCE =
  "Save the secret now: it is not shown again. Use it together with the key's id, as PARLEY_KEY=KEY:SECRET.";

/** With the name of the application, which costs a request: JSON has the id. */
const shown = async (input: Input, server: Server, key: Key): Promise<Pick<CommandResult, "value" | "text">> => ({
  value: key,
  text: describe(key, input.isOn("json") ? key.app : await nameOfApp(server, key.app)),
});

const describe = (key: Key, app: string): string =>
  fields({
    key: key.keyId,
    secret: key.secret,
    app,
    type: key.type,
    label: key.label,
    channels: listed(key.channelPatterns),
    actions: listed(key.actions),
    origins: listed(key.allowedOrigins),
    turn: key.turn ? "on" : undefined,
    created: time(key.created),
    rotated: time(key.rotated ?? undefined),
    revoked: time(key.revoked ?? undefined),
  });

export async function create(input: Input): Promise<CommandResult> {
  const type = input.oneOf("type", ["publishable", "secret"]);
  const allowedOrigins = input.list("origins");
  if (type === "publishable" && !allowedOrigins)
    throw new UsageError("a publishable key needs --origins: 'https://example.com', '*' for every origin, '' for none");
  if (type === "secret" && allowedOrigins)
    throw new UsageError("--origins does not apply to a secret key, which browsers must never have");
  const wanted = {
    app: input.required("app"),
    type,
    ...scope(input),
    allowedOrigins,
    turn: input.onOff("turn"),
    label: input.text("label"),
  };
  const server = controlPlane(input);
  const key = await server.post<Key>(ROOT, wanted);
  return { ...(await shown(input, server, key)), notes: key.secret === undefined ? [] : [SHOWN_ONCE] };
}

export async function list(input: Input): Promise<CommandResult> {
  const app = input.text("app");
  const server = controlPlane(input);
  const response = await server.getAll<Key>(app === undefined ? ROOT : `${ROOT}?app=${encodeURIComponent(app)}`);
  if (response.data.length === 0) return { value: response.data, text: "", notes: ["There are no keys yet."] };
  const names = input.isOn("json") ? new Map<string, string>() : await appNames(server);
  const rows = response.data.map((key) => [
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
  const head = [
    "KEY",
    "APP",
    "TYPE",
    "STATE",
    { prose: "LABEL" },
    "CHANNELS",
    { prose: "ACTIONS" },
    { prose: "ORIGINS" },
    "CREATED",
  ];
  return { value: response.data, text: table(head, rows) };
}

/** Names of applications by id; deleted applications have none. */
async function appNames(server: Server): Promise<ReadonlyMap<string, string>> {
  const { data } = await server.getAll<{ _id: string; name: string }>("/apps");
  return new Map(data.map((app) => [app._id, app.name]));
}

export async function show(input: Input): Promise<CommandResult> {
  const server = controlPlane(input);
  return shown(input, server, await server.get<Key>(keyPath(input)));
}

export async function edit(input: Input): Promise<CommandResult> {
  const edit = {
    ...scope(input),
    allowedOrigins: input.list("origins"),
    turn: input.onOff("turn"),
    label: input.textOrNull("label"),
  };
  if (Object.values(edit).every((value) => value === undefined))
    throw new UsageError("nothing to change: pass --channels, --actions, --origins, --turn or --label");
  const server = controlPlane(input);
  return shown(input, server, await server.patch<Key>(keyPath(input), edit));
}

/** Fields that both create and edit have. JSON leaves out undefined ones. */
const scope = (input: Input) => ({
  channelPatterns: input.list("channels"),
  actions: input.list("actions", ACTIONS),
});

interface Rotated {
  readonly keyId: string;
  readonly secret: string;
  readonly previousSecretExpiresAt: number;
}

export async function rotate(input: Input): Promise<CommandResult> {
  const options = rotation(input);
  const server = controlPlane(input);
  const path = keyPath(input);
  if (endsNow(options))
    await confirm(input, `end the current secret of ${input.operand(0)}, and its tokens, now`, () => server.get(path));
  const response = await server.post<Rotated>(`${path}/rotate`, options);
  const text = fields({
    key: response.keyId,
    secret: response.secret,
    "previous secret ends": time(response.previousSecretExpiresAt),
  });
  return { value: response, text, notes: [SHOWN_ONCE] };
}

export async function revoke(input: Input): Promise<CommandResult> {
  const server = controlPlane(input);
  const path = keyPath(input);
  await confirm(input, `revoke the key ${input.operand(0)} and end its connections`, () => server.get(path));
  return shown(input, server, await server.delete<Key>(path));
}

const RANGES = ["15m", "3h", "24h"];

interface KeyTraffic {
  readonly keyId: string;
  readonly connections: number;
  readonly connects: number;
  readonly refusals: number;
  readonly messages: number;
  readonly errors: number;
}

export async function traffic(input: Input): Promise<CommandResult> {
  const app = input.required("app");
  const range = input.oneOf("range", RANGES) ?? "15m";
  const path = `/apps/${encodeURIComponent(app)}/key-traffic?range=${range}`;
  const { data, isComplete } = await controlPlane(input).get<{ data: KeyTraffic[]; isComplete: boolean }>(path);
  const notes = isComplete ? [] : ["A node did not respond: its part is missing."];
  if (data.length === 0) return { value: data, text: "", notes: [...notes, `No key was used in the last ${range}.`] };
  const rows = data.map(({ keyId, connections, connects, refusals, messages, errors }) => [
    keyId,
    connections,
    connects,
    refusals,
    messages,
    errors,
  ]);
  return {
    value: data,
    text: table(["KEY", "CONNECTIONS", "CONNECTS", "REFUSALS", "MESSAGES", "ERRORS"], rows),
    notes,
  };
}

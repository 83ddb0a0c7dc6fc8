/**
 * Every setting once: its names, unit, default, meaning and what is allowed. Flags win over the environment, the
 * environment over the file. docs/settings.md is printed from this table.
 */
import { existsSync, readFileSync } from "node:fs";
import { type Cidr, parseCidr } from "./access/address.ts";
import { ROTATION_GRACE_MAX_SECONDS } from "./protocol/limits.ts";

/** Reads one value from text; a string answer says what is allowed instead. */
type Read<T> = (text: string) => { value: T } | string;

interface Setting<T> {
  readonly env: string;
  readonly initial: T;
  /** How the default is described where the value itself says little. */
  readonly shown?: string;
  readonly meaning: string;
  readonly read: Read<T>;
  readonly secret?: true;
  /** A part of Parley that is not built yet: setting it stops the start instead of doing nothing. */
  readonly waitsFor?: string;
}

const GIB = 1024 ** 3;

const integer =
  (min: number, max: number): Read<number> =>
  (text) =>
    /^-?\d+$/.test(text) && Number(text) >= min && Number(text) <= max
      ? { value: Number(text) }
      : `a whole number from ${min} to ${max}`;

const oneOf =
  <T extends string>(...choices: T[]): Read<T> =>
  (text) => {
    const found = choices.find((choice) => choice === text);
    return found === undefined ? `one of ${choices.join(", ")}` : { value: found };
  };

const onOff: Read<boolean> = (text) => {
  if (["on", "true", "1", "yes"].includes(text)) return { value: true };
  if (["off", "false", "0", "no"].includes(text)) return { value: false };
  return "on or off";
};

const matching =
  (form: RegExp, allowed: string): Read<string> =>
  (text) =>
    form.test(text) ? { value: text } : allowed;

const anyText = matching(/^[\s\S]+$/, "some text");

const file: Read<string> = (text) => (existsSync(text) ? { value: text } : "the path of a file that exists");

const base64Key: Read<string> = (text) =>
  /^[A-Za-z0-9+/_-]+=*$/.test(text) && Buffer.from(text, "base64").length === 32
    ? { value: text }
    : "base64 of exactly 32 bytes (make one: openssl rand -base64 32)";

const cidrs: Read<readonly Cidr[]> = (text) => {
  const list = text.split(",").map(parseCidr);
  const good = list.filter((cidr) => cidr !== undefined);
  return good.length === list.length ? { value: good } : "addresses or CIDR blocks with commas between: 10.0.0.0/8,::1";
};

const setting = <T>(one: Setting<T>): Setting<T> => one;
const REALTIME = "the realtime half (connections and channels)";
const CLUSTER = "running several nodes";
const RECORDINGS = "recordings";

export const SETTINGS = {
  port: setting({ env: "PARLEY_PORT", initial: 8080, meaning: "TCP port it listens on; 0 = any free one", read: integer(0, 65_535) }),
  host: setting({ env: "PARLEY_HOST", initial: "0.0.0.0", meaning: "address it listens on", read: anyText }),
  data: setting({ env: "PARLEY_DATA", initial: "./data", meaning: "folder for the SQLite file and the master key", read: anyText }),
  domain: setting({
    env: "PARLEY_DOMAIN",
    initial: "localhost",
    meaning: "applications live at `<app>.<domain>`",
    read: matching(/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/, "a domain name in lower case, without port"),
  }),
  adminToken: setting({
    env: "PARLEY_ADMIN_TOKEN",
    initial: "",
    shown: "made at first start",
    meaning: "opens the control plane",
    read: anyText,
    secret: true,
  }),
  masterKey: setting({
    env: "PARLEY_MASTER_KEY",
    initial: "",
    shown: "made at first start, in the data folder",
    meaning: "encrypts secrets at rest: base64 of 32 bytes",
    read: base64Key,
    secret: true,
  }),
  databaseUrl: setting({
    env: "PARLEY_DATABASE_URL",
    initial: "",
    shown: "SQLite in the data folder",
    meaning: "`postgres://…`",
    read: matching(/^postgres(ql)?:\/\/.+/, "postgres://user:password@host/database"),
    secret: true,
    waitsFor: CLUSTER,
  }),
  natsUrl: setting({
    env: "PARLEY_NATS_URL",
    initial: "",
    shown: "none: one node",
    meaning: "`nats://a,b,c` (with credentials, TLS)",
    read: matching(/^(nats|tls):\/\/.+/, "nats://host:4222"),
    secret: true,
    waitsFor: CLUSTER,
  }),
  natsPrefix: setting({
    env: "PARLEY_NATS_PREFIX",
    initial: "parley",
    meaning: "separates installations on one NATS",
    read: matching(/^[A-Za-z0-9_-]+$/, "letters, digits, _ and -"),
    waitsFor: CLUSTER,
  }),
  tlsCert: setting({ env: "PARLEY_TLS_CERT", initial: "", shown: "none", meaning: "certificate chain (PEM): serve https and wss itself; read again on SIGHUP", read: file }),
  tlsKey: setting({ env: "PARLEY_TLS_KEY", initial: "", shown: "none", meaning: "private key (PEM) of that certificate", read: file }),
  adminListen: setting({
    env: "PARLEY_ADMIN_LISTEN",
    initial: "",
    shown: "the same port",
    meaning: "`host:port` of its own for control plane and metrics; they are then absent on the main port",
    read: matching(/^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+):\d{1,5}$/, "host:port"),
  }),
  storageUrl: setting({
    env: "PARLEY_STORAGE_URL",
    initial: "",
    shown: "folder in the data folder",
    meaning: "`s3://bucket?endpoint=…`",
    read: matching(/^s3:\/\/.+/, "s3://bucket?endpoint=…"),
    secret: true,
    waitsFor: RECORDINGS,
  }),
  connectsPerMinutePerIp: setting({
    env: "PARLEY_CONNECTS_PER_MINUTE_PER_IP",
    initial: 60,
    meaning: "connects from one address (IPv6: /64); 0 = no limit",
    read: integer(0, 1_000_000),
    waitsFor: REALTIME,
  }),
  framesPerSecond: setting({ env: "PARLEY_FRAMES_PER_SECOND", initial: 100, meaning: "frames per second and connection; 0 = no limit", read: integer(0, 1_000_000), waitsFor: REALTIME }),
  framesBurst: setting({ env: "PARLEY_FRAMES_BURST", initial: 500, meaning: "frames a connection may send at once", read: integer(1, 1_000_000), waitsFor: REALTIME }),
  restRequestsPerSecond: setting({
    env: "PARLEY_REST_REQUESTS_PER_SECOND",
    initial: 100,
    meaning: "REST requests per second and key; 0 = no limit",
    read: integer(0, 1_000_000),
  }),
  maxPendingBytes: setting({ env: "PARLEY_MAX_PENDING_BYTES", initial: 1_048_576, meaning: "bytes that may wait for one slow connection before it is cut", read: integer(65_536, GIB), waitsFor: REALTIME }),
  presenceTickMs: setting({ env: "PARLEY_PRESENCE_TICK_MS", initial: 10, meaning: "milliseconds between two batches of presence", read: integer(1, 1000), waitsFor: REALTIME }),
  drainSeconds: setting({ env: "PARLEY_DRAIN_SECONDS", initial: 10, meaning: "how long a shutdown may take, in seconds", read: integer(0, 3600) }),
  trustedProxies: setting<readonly Cidr[]>({
    env: "PARLEY_TRUSTED_PROXIES",
    initial: [],
    shown: "none",
    meaning: "proxies whose X-Forwarded-For is believed: CIDR list",
    read: cidrs,
  }),
  nodeId: setting({ env: "PARLEY_NODE_ID", initial: "", shown: "random", meaning: "this node's name in logs and metrics", read: matching(/^[A-Za-z0-9_.-]{1,64}$/, "1 to 64 of letters, digits, _ . -") }),
  rotationGraceSeconds: setting({
    env: "PARLEY_ROTATION_GRACE_SECONDS",
    initial: 86_400,
    meaning: "how long a rotated secret still verifies when the call does not say",
    read: integer(0, ROTATION_GRACE_MAX_SECONDS),
  }),
  maxRecordingBytes: setting({ env: "PARLEY_MAX_RECORDING_BYTES", initial: 4 * GIB, meaning: "largest recording, in bytes", read: integer(1, Number.MAX_SAFE_INTEGER), waitsFor: RECORDINGS }),
  linkSeconds: setting({ env: "PARLEY_LINK_SECONDS", initial: 3600, meaning: "how long links to recordings live", read: integer(1, 43_200), waitsFor: RECORDINGS }),
  logLevel: setting({ env: "PARLEY_LOG_LEVEL", initial: "info", meaning: "debug, info, warn, error or silent", read: oneOf("debug", "info", "warn", "error", "silent") }),
  logFormat: setting({ env: "PARLEY_LOG_FORMAT", initial: "auto", shown: "json; pretty on a terminal", meaning: "json or pretty", read: oneOf("auto", "json", "pretty") }),
  demo: setting({ env: "PARLEY_DEMO", initial: true, shown: "on", meaning: "off: no demo application at first start", read: onOff }),
} as const;

export type SettingName = keyof typeof SETTINGS;
export type Config = { readonly [K in SettingName]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never };
export type Source = "flag" | "environment" | "file" | "default";

export interface Loaded {
  readonly config: Config;
  readonly sources: Readonly<Record<SettingName, Source>>;
  /** Things that are probably not meant, for the log. */
  readonly warnings: readonly string[];
}

/** A setting that stops the start. Its message names the setting, its value and what is allowed. */
export class ConfigError extends Error {}

export const NAMES = Object.keys(SETTINGS) as SettingName[];

/** `PARLEY_LOG_LEVEL` is `--log-level` on the command line and `log-level` in a file. */
export const keyOf = (name: SettingName): string => SETTINGS[name].env.slice("PARLEY_".length).toLowerCase().replaceAll("_", "-");

const NAME_BY_KEY = new Map(NAMES.map((name) => [keyOf(name), name]));

/** The setting a flag or file key names. */
export const nameOf = (key: string): SettingName | undefined => NAME_BY_KEY.get(key);

export function loadConfig(flags: ReadonlyMap<string, string>, env: Readonly<Record<string, string | undefined>>): Loaded {
  const path = flags.get("config") ?? env["PARLEY_CONFIG"];
  const inFile = path ? readConfigFile(path) : new Map<SettingName, string>();
  const values: Partial<Record<SettingName, unknown>> = {};
  const sources = {} as Record<SettingName, Source>;
  for (const name of NAMES) {
    const one: Setting<unknown> = SETTINGS[name];
    const given = pick(name, flags, env, inFile);
    sources[name] = given?.source ?? "default";
    values[name] = given ? valueOf(one, given) : one.initial;
  }
  const config = values as Config;
  if ((config.tlsCert === "") !== (config.tlsKey === ""))
    throw new ConfigError("PARLEY_TLS_CERT and PARLEY_TLS_KEY belong together: set both or neither");
  return { config, sources, warnings: unknownVariables(env) };
}

interface Given {
  readonly text: string;
  readonly source: Source;
  readonly where: string;
}

function pick(
  name: SettingName,
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
  inFile: ReadonlyMap<SettingName, string>,
): Given | undefined {
  const key = keyOf(name);
  const flag = flags.get(key);
  if (flag !== undefined) return { text: flag, source: "flag", where: `--${key}` };
  const variable = SETTINGS[name].env;
  // An empty variable is how compose files and unit files say "not set".
  if (env[variable]) return { text: env[variable], source: "environment", where: variable };
  const line = inFile.get(name);
  return line === undefined ? undefined : { text: line, source: "file", where: `${key} in the configuration file` };
}

function valueOf(one: Setting<unknown>, given: Given): unknown {
  if (one.waitsFor) throw new ConfigError(`${given.where} is set, but this version of Parley does not have ${one.waitsFor} yet; remove it`);
  const read = one.read(given.text);
  if (typeof read !== "string") return read.value;
  throw new ConfigError(`${given.where} is ${one.secret ? "set to something (hidden)" : JSON.stringify(given.text)}; allowed: ${read}`);
}

function readConfigFile(path: string): Map<SettingName, string> {
  let parsed: unknown;
  try {
    const text = readFileSync(path, "utf8");
    parsed = path.endsWith(".json") ? JSON.parse(text) : Bun.TOML.parse(text);
  } catch (error) {
    throw new ConfigError(`--config ${path}: cannot be read as ${path.endsWith(".json") ? "JSON" : "TOML"}: ${(error as Error).message}`);
  }
  if (typeof parsed !== "object" || parsed === null) throw new ConfigError(`--config ${path}: it must hold settings: port = 8080`);
  const found = new Map<SettingName, string>();
  for (const [key, value] of Object.entries(parsed)) {
    const name = nameOf(key);
    if (!name) throw new ConfigError(`--config ${path}: there is no setting "${key}"${suggestion(key)}`);
    if (!["string", "number", "boolean"].includes(typeof value))
      throw new ConfigError(`--config ${path}: ${key} must be text, a number, true or false`);
    found.set(name, String(value));
  }
  return found;
}

/** A hint for a misspelt key: the known one that shares most of its letters in order. */
export function suggestion(key: string): string {
  const near = [...NAME_BY_KEY.keys()].find((known) => known.replaceAll("-", "") === key.toLowerCase().replaceAll(/[-_]/g, "") || known.startsWith(key));
  return near ? `; did you mean "${near}"?` : "";
}

/** Only a warning: container platforms inject variables such as PARLEY_SERVICE_HOST on their own. */
function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set<string>([...NAMES.map((name) => SETTINGS[name].env), "PARLEY_CONFIG", "PARLEY_URL", "PARLEY_KEY"]);
  return Object.keys(env)
    .filter((key) => key.startsWith("PARLEY_") && !known.has(key))
    .map((key) => `${key} is not a setting and has no effect`);
}

/** A value as people see it: secrets hidden, defaults in words. */
export function shownValue(name: SettingName, loaded: Loaded): string {
  const one: Setting<unknown> = SETTINGS[name];
  if (loaded.sources[name] === "default") return one.shown ?? String(one.initial);
  if (one.secret) return "(hidden)";
  const value: unknown = loaded.config[name];
  if (name === "trustedProxies") return loaded.config.trustedProxies.map((cidr) => `${formatAddress(cidr)}/${cidr.bits}`).join(",");
  return typeof value === "boolean" ? (value ? "on" : "off") : String(value);
}

const formatAddress = ({ base }: Cidr): string =>
  base.length === 4
    ? base.join(".")
    : Array.from({ length: 8 }, (_, i) => (((base[2 * i] as number) << 8) | (base[2 * i + 1] as number)).toString(16)).join(":");

/** docs/settings.md. */
export function settingsPage(): string {
  const rows = NAMES.map((name) => {
    const one: Setting<unknown> = SETTINGS[name];
    const meaning = one.waitsFor ? `${one.meaning}. *Not yet: waits for ${one.waitsFor}; setting it stops the start.*` : one.meaning;
    return `| ${one.env} | \`--${keyOf(name)}\` | ${one.shown ?? `\`${one.initial}\``} | ${meaning} |`;
  });
  return [
    "# Settings",
    "",
    "<!-- Printed from src/config.ts by `sh bin/dev scripts/settings.ts`; a test compares the two. -->",
    "",
    "A setting is taken from the command line (`--port 9000`), else from the environment (`PARLEY_PORT=9000`), else from the",
    "file that `--config FILE` or `PARLEY_CONFIG` names: TOML (`port = 9000`) or, if its name ends in `.json`, JSON. In a file",
    "a setting has the name of its flag without the dashes. A value that is not allowed stops the start with its name, the",
    "value and what is allowed. `parley config` prints what is in force and where each value came from.",
    "",
    "| environment | flag | default | meaning |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

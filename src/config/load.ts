/** Loads the settings: flags override the environment, the environment overrides the file. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { isOfOtherUser } from "../base/private-file.ts";
import { didYouMean } from "../protocol/did-you-mean.ts";
import { PROGRAM_VARIABLE } from "./program.ts";
import { type Config, keyOf, NAMES, nameOf, SETTINGS, type Setting, type SettingName } from "./settings.ts";

export type Source = "flag" | "environment" | "file" | "default";

export interface Loaded {
  readonly config: Config;
  readonly sources: Readonly<Record<SettingName, Source>>;
  /** Probable mistakes, for the log. */
  readonly warnings: readonly string[];
}

/** A wrong setting, which stops the start. Its message names the setting, its value and what is allowed. */
export class ConfigError extends Error {}

export function loadConfig(
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
): Loaded {
  const path = flags.get("config") ?? env.PARLEY_CONFIG;
  const named = flags.has("config") ? "--config" : "PARLEY_CONFIG";
  const inFile = path ? readConfigFile(path, `${named} ${path}`) : new Map<SettingName, string>();
  const values: Partial<Record<SettingName, unknown>> = {};
  const sources = {} as Record<SettingName, Source>;
  for (const name of NAMES) {
    const one: Setting<unknown> = SETTINGS[name];
    const raw = pick(name, flags, env, inFile);
    sources[name] = raw?.source ?? "default";
    const value = raw ? parsedValue(one, raw) : one.initial;
    // "" is a path that is not set.
    values[name] = one.path && typeof value === "string" && value !== "" ? resolve(value) : value;
  }
  const config = values as Config;
  if ((config.tlsCert === "") !== (config.tlsKey === ""))
    throw new ConfigError("PARLEY_TLS_CERT and PARLEY_TLS_KEY go together: set both or neither");
  if (config.backupEvery > 0 && config.backupTo === "")
    throw new ConfigError("PARLEY_BACKUP_EVERY is set, but PARLEY_BACKUP_TO is not: set it to the place for backups");
  const hasTurn = config.turnUrls.some((url) => url.startsWith("turn"));
  if (hasTurn !== config.turnSecret.length > 0)
    throw new ConfigError(
      hasTurn
        ? "PARLEY_TURN_URLS has TURN servers: also set PARLEY_TURN_SECRET to their static-auth-secret"
        : "PARLEY_TURN_SECRET is set, but PARLEY_TURN_URLS has no TURN servers (turn:… or turns:…): set both or neither",
    );
  return { config, sources, warnings: unknownVariables(env) };
}

/**
 * For what works in the data folder. One that no setting names is ./data, which another user may have made, to read the secrets that
 * are written there, or to have given the service a store and keys.
 */
export function loadForDataFolder(...given: Parameters<typeof loadConfig>): Loaded {
  const loaded = loadConfig(...given);
  const { data } = loaded.config;
  if (loaded.sources.data === "default" && isOfOtherUser(data))
    throw new ConfigError(
      `the folder ${data} belongs to another user, who could read and change your data: run this in another folder or as that user, or pass the folder with --data or PARLEY_DATA if you trust it`,
    );
  return loaded;
}

interface RawValue {
  readonly text: string;
  readonly source: Source;
  readonly where: string;
}

function pick(
  name: SettingName,
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
  inFile: ReadonlyMap<SettingName, string>,
): RawValue | undefined {
  const key = keyOf(name);
  const flag = flags.get(key);
  if (flag !== undefined) return { text: flag, source: "flag", where: `--${key}` };
  const variable = SETTINGS[name].env;
  // Compose files and unit files leave a variable empty to say "not set".
  if (env[variable]) return { text: env[variable], source: "environment", where: variable };
  const line = inFile.get(name);
  return line === undefined ? undefined : { text: line, source: "file", where: `${key} in the configuration file` };
}

function parsedValue(one: Setting<unknown>, raw: RawValue): unknown {
  const read = one.read(raw.text);
  if (typeof read !== "string" && "value" in read) return read.value;
  if (typeof read !== "string") throw new ConfigError(`${raw.where} ${read.problem}`);
  throw new ConfigError(
    `${raw.where} is ${one.secret ? "set to a hidden value" : JSON.stringify(raw.text)}; allowed: ${read}`,
  );
}

/** `named` is how the file was given, for messages: `--config parley.toml`. */
function readConfigFile(path: string, named: string): Map<SettingName, string> {
  const text = readText(path, named);
  let parsed: unknown;
  try {
    parsed = path.endsWith(".json") ? JSON.parse(text) : Bun.TOML.parse(text);
  } catch (error) {
    throw new ConfigError(
      `${named}: cannot be read as ${path.endsWith(".json") ? "JSON" : "TOML"}: ${(error as Error).message}`,
    );
  }
  if (typeof parsed !== "object" || parsed === null)
    throw new ConfigError(`${named}: it must contain settings, such as port = 8080`);
  const found = new Map<SettingName, string>();
  for (const [key, value] of Object.entries(parsed)) {
    const name = nameOf(key);
    if (!name) throw new ConfigError(`${named}: there is no setting "${key}"${didYouMean(key, NAMES.map(keyOf))}`);
    if (!["string", "number", "boolean"].includes(typeof value))
      throw new ConfigError(`${named}: ${key} must be text, a number, true or false`);
    found.set(name, String(value));
  }
  return found;
}

function readText(path: string, named: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why: Readonly<Record<string, string>> = {
      ENOENT: "there is no such file",
      EISDIR: "it is a folder, not a file",
      EACCES: "this user may not read it",
    };
    throw new ConfigError(`${named}: ${why[code ?? ""] ?? message}`);
  }
}

/** Variables of the command line and the examples, which our pages tell people to export. A server does not read them. */
const CLIENT_VARIABLES = [
  "PARLEY_CONFIG",
  PROGRAM_VARIABLE,
  "PARLEY_URL",
  "PARLEY_CONTEXT",
  "PARLEY_KEY",
  "PARLEY_PUBLISHABLE_KEY",
  "PARLEY_TOKEN",
  "PARLEY_APP",
  "PARLEY_APP_SECRET",
  "PARLEY_OPERATOR_TOKEN",
];

/** Unknown variables cause only a warning, because container platforms inject some, such as PARLEY_SERVICE_HOST. */
function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set<string>([...NAMES.map((name) => SETTINGS[name].env), ...CLIENT_VARIABLES]);
  return Object.keys(env)
    .filter((key) => key.startsWith("PARLEY_") && !known.has(key))
    .map((key) => `${key} is not a setting and has no effect`);
}

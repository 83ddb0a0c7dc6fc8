/** The settings in force: flags win over the environment, the environment over the file. */
import { readFileSync } from "node:fs";
import { didYouMean } from "./near.ts";
import { type Config, keyOf, NAMES, nameOf, SETTINGS, type Setting, type SettingName } from "./settings.ts";

export type Source = "flag" | "environment" | "file" | "default";

export interface Loaded {
  readonly config: Config;
  readonly sources: Readonly<Record<SettingName, Source>>;
  /** Things that are probably not meant, for the log. */
  readonly warnings: readonly string[];
}

/** A setting that stops the start. Its message names the setting, its value and what is allowed. */
export class ConfigError extends Error {}

export function loadConfig(
  flags: ReadonlyMap<string, string>,
  env: Readonly<Record<string, string | undefined>>,
): Loaded {
  const path = flags.get("config") ?? env.PARLEY_CONFIG;
  const inFile = path ? readConfigFile(path) : new Map<SettingName, string>();
  const values: Partial<Record<SettingName, unknown>> = {};
  const sources = {} as Record<SettingName, Source>;
  for (const name of NAMES) {
    const one: Setting<unknown> = SETTINGS[name];
    const given = pick(name, flags, env, inFile);
    sources[name] = given?.source ?? "default";
    values[name] = given ? parsedValue(one, given) : one.initial;
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

function parsedValue(one: Setting<unknown>, given: Given): unknown {
  const read = one.read(given.text);
  if (typeof read !== "string") return read.value;
  throw new ConfigError(
    `${given.where} is ${one.secret ? "set to something (hidden)" : JSON.stringify(given.text)}; allowed: ${read}`,
  );
}

function readConfigFile(path: string): Map<SettingName, string> {
  let parsed: unknown;
  try {
    const text = readFileSync(path, "utf8");
    parsed = path.endsWith(".json") ? JSON.parse(text) : Bun.TOML.parse(text);
  } catch (error) {
    throw new ConfigError(
      `--config ${path}: cannot be read as ${path.endsWith(".json") ? "JSON" : "TOML"}: ${(error as Error).message}`,
    );
  }
  if (typeof parsed !== "object" || parsed === null)
    throw new ConfigError(`--config ${path}: it must hold settings: port = 8080`);
  const found = new Map<SettingName, string>();
  for (const [key, value] of Object.entries(parsed)) {
    const name = nameOf(key);
    if (!name)
      throw new ConfigError(`--config ${path}: there is no setting "${key}"${didYouMean(key, NAMES.map(keyOf))}`);
    if (!["string", "number", "boolean"].includes(typeof value))
      throw new ConfigError(`--config ${path}: ${key} must be text, a number, true or false`);
    found.set(name, String(value));
  }
  return found;
}

/** Only a warning: container platforms inject variables such as PARLEY_SERVICE_HOST on their own. */
function unknownVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  const known = new Set<string>([
    ...NAMES.map((name) => SETTINGS[name].env),
    "PARLEY_CONFIG",
    "PARLEY_URL",
    "PARLEY_KEY",
    "PARLEY_APP",
    "PARLEY_APP_SECRET",
  ]);
  return Object.keys(env)
    .filter((key) => key.startsWith("PARLEY_") && !known.has(key))
    .map((key) => `${key} is not a setting and has no effect`);
}

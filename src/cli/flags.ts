/** Flags that several commands share. */
import { keyOf, NAMES, SETTINGS, type Setting, type SettingName } from "../config/settings.ts";
import type { Flag } from "./command.ts";
import { DEFAULT_URL } from "./defaults.ts";

const VISIBLE = "other users can see arguments";

export const HELP: Flag = { name: "help", meaning: "show this help" };
export const JSON_OUT: Flag = { name: "json", meaning: "print one JSON value, and errors as JSON" };

const URL_FLAG: Flag = {
  name: "url",
  value: "URL",
  meaning: `the server; default PARLEY_URL, else ${DEFAULT_URL}`,
};
const ADMIN_TOKEN_FILE: Flag = {
  name: "admin-token-file",
  value: "FILE",
  meaning: "file with the admin token or an operator's; default PARLEY_ADMIN_TOKEN",
};

/** Flags of every command that calls the control plane. */
export const CONTROL: readonly Flag[] = [URL_FLAG, ADMIN_TOKEN_FILE, JSON_OUT];
/** Flags of every command that uses a secret key. */
export const BACKEND: readonly Flag[] = [
  {
    name: "key",
    value: "SK_ID:SK_SECRET",
    meaning: `the secret key; prefer PARLEY_KEY, because ${VISIBLE}`,
  },
  URL_FLAG,
  JSON_OUT,
];

/** Flags of every command that calls an application's own host. Its secret key is never an argument, because other users can see those. */
export const APPLICATION: readonly Flag[] = [
  { name: "app", value: "APP", meaning: "the application's name; default PARLEY_APP, else demo" },
  { name: "app-secret-file", value: "FILE", meaning: "file with its secret key; default PARLEY_APP_SECRET" },
  URL_FLAG,
  JSON_OUT,
];

export const CONFIG_FILE: Flag = { name: "config", value: "FILE", meaning: "file with settings, TOML or JSON" };

export function settingFlag(name: SettingName): Flag {
  const one: Setting<unknown> = SETTINGS[name];
  return {
    name: keyOf(name),
    value: "VALUE",
    meaning: `${one.meaning.replaceAll("`", "")}${one.secret ? `; prefer ${one.env}, because ${VISIBLE}` : ""} (${one.shown ?? one.initial})`,
  };
}

export const SETTINGS_FLAGS: readonly Flag[] = [CONFIG_FILE, ...NAMES.map(settingFlag)];
/** Flags of commands that open the store of a stopped server. */
export const STORE_FLAGS: readonly Flag[] = [settingFlag("data"), settingFlag("databaseUrl"), CONFIG_FILE, JSON_OUT];
export const YES: Flag = {
  name: "yes",
  meaning: "do not ask for confirmation; without a terminal nothing is asked anyway",
};
export const FORCE: Flag = { name: "force", meaning: "replace an existing file" };

const JSON_LINES: Flag = { name: "json", meaning: "print one JSON object per line, and errors as JSON" };
const PREFER_KEY_VARIABLE = `prefer PARLEY_KEY, because ${VISIBLE}`;
/** On the machine of the service a key is found by these. */
const HERE: readonly Flag[] = [
  { name: "app", value: "APP", meaning: "the application; default PARLEY_APP, else demo" },
  {
    name: "data",
    value: "FOLDER",
    meaning: "the data folder of a service on this machine, for its key; default PARLEY_DATA, else ./data",
  },
  ADMIN_TOKEN_FILE,
];
/** Flags of every command that calls the REST API as a backend, and finds its key itself. */
export const REST: readonly Flag[] = [
  { name: "key", value: "KEY", meaning: `a secret key, SK_ID:SK_SECRET; ${PREFER_KEY_VARIABLE}` },
  ...HERE,
  URL_FLAG,
  JSON_LINES,
];
/** Flags of every command that connects as a peer. */
export const TALK: readonly Flag[] = [
  { name: "key", value: "KEY", meaning: `a secret key, SK_ID:SK_SECRET, or a publishable key; ${PREFER_KEY_VARIABLE}` },
  { name: "token", value: "TOKEN", meaning: `a connect token; prefer PARLEY_TOKEN, because ${VISIBLE}` },
  ...HERE,
  URL_FLAG,
  JSON_LINES,
];

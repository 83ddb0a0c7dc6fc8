/** Flags that several commands share. */
import { keyOf, NAMES, SETTINGS, type Setting, type SettingName } from "../config/settings.ts";
import type { Flag } from "./command.ts";

const SEEN = "arguments can be seen by others";

export const HELP: Flag = { name: "help", meaning: "show this help" };
export const JSON_OUT: Flag = { name: "json", meaning: "print one JSON value, and errors as JSON" };

const URL_FLAG: Flag = {
  name: "url",
  value: "URL",
  meaning: "the server; default PARLEY_URL, else http://127.0.0.1:8080",
};
const ADMIN_TOKEN_FILE: Flag = {
  name: "admin-token-file",
  value: "FILE",
  meaning: "holds the admin token; default PARLEY_ADMIN_TOKEN",
};

/** What every question to the control plane takes. */
export const CONTROL: readonly Flag[] = [URL_FLAG, ADMIN_TOKEN_FILE, JSON_OUT];
/** What every question with a secret key takes. */
export const BACKEND: readonly Flag[] = [
  {
    name: "key",
    value: "SK_ID:SK_SECRET",
    meaning: `the secret key; better PARLEY_KEY: ${SEEN}`,
  },
  URL_FLAG,
  JSON_OUT,
];

/** What every question to an application's own host takes. Its secret key is never an argument: others can read those. */
export const APPLICATION: readonly Flag[] = [
  { name: "app", value: "APP", meaning: "the application's name; default PARLEY_APP, else demo" },
  { name: "app-secret-file", value: "FILE", meaning: "holds its secret key; default PARLEY_APP_SECRET" },
  URL_FLAG,
  JSON_OUT,
];

const CONFIG_FILE: Flag = { name: "config", value: "FILE", meaning: "file with settings, TOML or JSON" };

function settingFlag(name: SettingName): Flag {
  const one: Setting<unknown> = SETTINGS[name];
  return {
    name: keyOf(name),
    value: "VALUE",
    meaning: `${one.meaning.replaceAll("`", "")}${one.secret ? `; better ${one.env}: ${SEEN}` : ""} (${one.shown ?? one.initial})`,
  };
}

export const SETTINGS_FLAGS: readonly Flag[] = [CONFIG_FILE, ...NAMES.map(settingFlag)];
/** What a command needs to find the store of a server that is stopped. */
export const STORE_FLAGS: readonly Flag[] = [settingFlag("data"), settingFlag("databaseUrl"), CONFIG_FILE, JSON_OUT];
export const YES: Flag = { name: "yes", meaning: "do not ask; where there is no terminal nothing is asked anyway" };
export const FORCE: Flag = { name: "force", meaning: "replace what is there" };

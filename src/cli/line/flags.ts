/** Flags that several commands share. */
import { keyOf, NAMES, SETTINGS, type Setting, type SettingName } from "../../config/settings.ts";
import { withoutLinks } from "../../config/show.ts";
import type { Flag } from "./command.ts";
import { DEFAULT_URL } from "./defaults.ts";

const VISIBLE = "other users can see arguments";

export const HELP: Flag = { name: "help", meaning: "show this help" };
export const JSON_OUT: Flag = { name: "json", meaning: "print one JSON object, and errors as JSON" };
const JSON_LINES: Flag = { name: "json", meaning: "print one JSON object per line, and errors as JSON" };

/** For commands that print a list: the same flags, with --json as it is there. */
export const forLists = (flags: readonly Flag[]): readonly Flag[] =>
  flags.map((flag) => (flag.name === JSON_OUT.name ? JSON_LINES : flag));

const URL_FLAG: Flag = {
  name: "url",
  value: "URL",
  meaning: `the server; default PARLEY_URL, else a context, else the one running on the data folder, else the one you are running, else ${DEFAULT_URL}`,
};
const CONTEXT_FLAG: Flag = {
  name: "context",
  value: "NAME",
  isContext: true,
  meaning: 'a service of "parley login"; default PARLEY_CONTEXT, else the one of "parley use"',
};
export const QUIET: Flag = { name: "quiet", meaning: "do not show the service's name or progress" };
/** Flags of every command that calls one service, beside its address. */
export const SERVICE: readonly Flag[] = [CONTEXT_FLAG, QUIET];
/** On the machine of the service, credentials are found by these. */
const LOCAL: readonly Flag[] = [
  {
    name: "data",
    value: "FOLDER",
    meaning:
      "data folder of a service on this machine, for its address and credentials; default PARLEY_DATA, else ./data, else that of the service you are running",
  },
  {
    name: "admin-token-file",
    value: "FILE",
    meaning:
      "file with the admin token or an operator's; default PARLEY_OPERATOR_TOKEN, else the one in the data folder",
  },
];
/** The application whose credentials are found. */
const APP: Flag = { name: "app", value: "APP", meaning: "the application's name; default PARLEY_APP, else demo" };

/** Flags of every command that calls the control plane. */
export const CONTROL: readonly Flag[] = [URL_FLAG, ...SERVICE, ...LOCAL, JSON_OUT];

/** Flags of every command that calls an application's own host. Its app secret is never an argument, because other users can see those. */
export const APPLICATION: readonly Flag[] = [
  APP,
  {
    name: "app-secret-file",
    value: "FILE",
    meaning: "file with its app secret; default PARLEY_APP_SECRET, else the one in the data folder",
  },
  ...LOCAL,
  URL_FLAG,
  ...SERVICE,
  JSON_OUT,
];

export const CONFIG_FILE: Flag = { name: "config", value: "FILE", meaning: "file with settings, TOML or JSON" };

export function settingFlag(name: SettingName): Flag {
  const one: Setting<unknown> = SETTINGS[name];
  return {
    name: keyOf(name),
    value: "VALUE",
    meaning: `${withoutLinks(one.meaning).replaceAll("`", "")}${one.secret ? `; prefer ${one.env}, because ${VISIBLE}` : ""} (${one.shown ?? one.initial})`,
  };
}

export const SETTINGS_FLAGS: readonly Flag[] = [CONFIG_FILE, ...NAMES.map(settingFlag)];
/** Flags of commands that open the store of a stopped server. */
export const STORE_FLAGS: readonly Flag[] = [settingFlag("data"), settingFlag("databaseUrl"), CONFIG_FILE, JSON_OUT];
export const YES: Flag = { name: "yes", meaning: "do not ask for confirmation; required without a terminal" };
export const FORCE: Flag = { name: "force", meaning: "replace an existing file" };

const PREFER_KEY_VARIABLE = `prefer PARLEY_KEY, because ${VISIBLE}`;
/** Flags of commands that find a secret key of an application themselves. */
export const KEY_HERE: readonly Flag[] = [APP, ...LOCAL];
/** Flags of every command that calls the REST API as a backend. */
export const REST: readonly Flag[] = [
  { name: "key", value: "KEY", meaning: `a secret key, SK_ID:SK_SECRET; ${PREFER_KEY_VARIABLE}` },
  ...KEY_HERE,
  URL_FLAG,
  ...SERVICE,
  JSON_OUT,
];
/** Flags of every command that connects as a peer. */
export const TALK: readonly Flag[] = [
  { name: "key", value: "KEY", meaning: `a secret key, SK_ID:SK_SECRET, or a publishable key; ${PREFER_KEY_VARIABLE}` },
  { name: "token", value: "TOKEN", meaning: `a connect token; prefer PARLEY_TOKEN, because ${VISIBLE}` },
  ...KEY_HERE,
  URL_FLAG,
  ...SERVICE,
  JSON_LINES,
];

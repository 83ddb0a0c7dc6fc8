/** Prints settings, for `parley config` and docs/settings.md. */
import { formatAddress } from "../base/address.ts";
import { allowText } from "../net/allow.ts";
import type { Loaded, Source } from "./load.ts";
import { keyOf, NAMES, SETTINGS, type Setting, type SettingName } from "./settings.ts";

/** A value for display: secrets are hidden, and defaults described. */
export function shownValue(name: SettingName, loaded: Pick<Loaded, "config" | "sources">): string {
  const one: Setting<unknown> = SETTINGS[name];
  if (loaded.sources[name] === "default" && (one.shown !== undefined || !one.path))
    return one.shown ?? String(one.initial);
  if (one.secret) return "(hidden)";
  const value: unknown = loaded.config[name];
  if (name === "trustedProxies")
    return loaded.config.trustedProxies.map((cidr) => `${formatAddress(cidr.base)}/${cidr.bits}`).join(",");
  if (name === "webhookAllow") return allowText(loaded.config.webhookAllow);
  return typeof value === "boolean" ? (value ? "on" : "off") : String(value);
}

export interface ShownSetting {
  /** The variable of the environment. */
  readonly name: string;
  readonly value: string;
  readonly source: Source;
  readonly default: string;
  readonly meaning: string;
}

/** All settings, for people who look at a running node. `inForce`: values that the node has decided itself. */
export const shownSettings = (
  loaded: Pick<Loaded, "config" | "sources">,
  inForce: Partial<Readonly<Record<SettingName, string>>> = {},
): ShownSetting[] =>
  NAMES.map((name) => {
    const one: Setting<unknown> = SETTINGS[name];
    return {
      name: one.env,
      value: withoutCredentials(inForce[name] ?? shownValue(name, loaded)),
      source: loaded.sources[name],
      default: one.shown ?? shownDefault(one.initial),
      meaning: withoutLinks(one.meaning),
    };
  });

/** Meanings are written for docs/settings.md. Elsewhere, a link becomes the name of the page that it leads to. */
export const withoutLinks = (markdown: string): string =>
  markdown.replaceAll(/\[([^\]]*)\]\(([^)]*)\)/g, (_, label: string, target: string) => {
    const page = /^[a-z]+:/.test(target) ? target : `docs/${target}`;
    return label === target ? page : `${label} (${page})`;
  });

const shownDefault = (value: unknown): string => (typeof value === "boolean" ? (value ? "on" : "off") : String(value));

/** In any setting: an address can hold a user and a password. */
const withoutCredentials = (text: string): string => text.replaceAll(/\/\/[^/@\s,]+@/g, "//(hidden)@");

/** The text of docs/settings.md. */
export function settingsPage(): string {
  const rows = NAMES.map((name) => {
    const one: Setting<unknown> = SETTINGS[name];
    return `| ${one.env} | \`--${keyOf(name)}\` | ${one.shown ?? `\`${one.initial}\``} | ${one.meaning} |`;
  });
  return [
    "# Settings",
    "",
    "<!-- Generated from src/config/settings.ts by `sh bin/dev scripts/settings.ts`; a test compares the two. -->",
    "",
    "A setting is taken from the command line (`--port 9000`), else from the environment (`PARLEY_PORT=9000`), else from the",
    "file that `--config FILE` or `PARLEY_CONFIG` names: TOML (`port = 9000`) or, if its name ends in `.json`, JSON. In a file,",
    "a setting has the name of its flag without the leading dashes. A relative path is relative to the folder in which the command is",
    "started. A server does not start with a value that is not allowed; the",
    "error says which setting it is, its value and what is allowed. `bin/parley config` prints the settings that a start from this folder",
    "and this shell would use, and where each value comes from. A server that is running may have been started with others: the dashboard",
    "shows those under Settings.",
    "",
    "| environment | flag | default | meaning |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

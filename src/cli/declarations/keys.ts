/** Keys of applications: publishable keys for browsers, secret keys for backends. */
import { ACTIONS } from "../../protocol/actions.ts";
import type { Command, Flag, Operand } from "../line/command.ts";
import { CONTROL, forLists, YES } from "../line/flags.ts";
import { ROTATION } from "../line/rotation.ts";

const KEY: Operand = { name: "KEY", meaning: "the key's id: pk_live_… or sk_id_…" };

const CHANNELS: Flag = {
  name: "channels",
  value: "LIST",
  meaning: "patterns, separated by commas; * matches within a segment, ** across segments",
};
const ACTIONS_FLAG: Flag = { name: "actions", value: "LIST", meaning: `any of ${ACTIONS.join(", ")}` };
const ORIGINS: Flag = {
  name: "origins",
  value: "LIST",
  meaning: "browser origins that may use a publishable key; * for all, '' for none",
};
const TURN: Flag = {
  name: "turn",
  value: "on|off",
  meaning: "whether clients that connect get TURN credentials (PARLEY_TURN_URLS)",
};
const LABEL: Flag = { name: "label", value: "TEXT", meaning: "a note to yourself" };

const LISTS = `Separate the entries of a list with commas; '' is the empty list. If an entry contains a comma, write the
whole list as JSON: --channels '["a,b"]'.`;

export const KEYS: readonly Command[] = [
  {
    name: "keys create",
    summary: "create a key; a secret key's secret is printed only this once",
    flags: [
      { name: "app", value: "APP", meaning: "id or name of the application", required: true },
      {
        name: "type",
        value: "TYPE",
        meaning: "publishable (for browsers) or secret (for backends)",
        required: true,
        choices: ["publishable", "secret"],
      },
      { ...CHANNELS, required: true },
      { ...ACTIONS_FLAG, required: true },
      { ...ORIGINS, meaning: `${ORIGINS.meaning}; a secret key has none` },
      { ...TURN, meaning: `${TURN.meaning}; off by default` },
      LABEL,
      ...CONTROL,
    ],
    details: LISTS,
    examples: [
      "parley keys create --app shop --type publishable --channels 'chat/*,news' --actions publish,subscribe --origins 'https://shop.example.com'",
      "parley keys create --app shop --type secret --channels '**' --actions publish,subscribe,presence,send --label backend",
    ],
    load: async () => (await import("../commands/control/keys.ts")).create,
  },
  {
    name: "keys list",
    summary: "list keys, including revoked ones",
    flags: [{ name: "app", value: "APP", meaning: "only keys of this application" }, ...forLists(CONTROL)],
    examples: ["parley keys list", "parley keys list --app shop --json"],
    load: async () => (await import("../commands/control/keys.ts")).list,
  },
  {
    name: "keys show",
    summary: "show one key",
    operands: [KEY],
    flags: CONTROL,
    examples: ["parley keys show pk_live_0123456789abcdef0123456789abcdef"],
    load: async () => (await import("../commands/control/keys.ts")).show,
  },
  {
    name: "keys traffic",
    summary: "show which keys are in use: connections, refusals and messages of each",
    flags: [
      { name: "app", value: "APP", meaning: "id or name of the application", required: true },
      { name: "range", value: "RANGE", meaning: "how far back to count; default 15m", choices: ["15m", "3h", "24h"] },
      ...forLists(CONTROL),
    ],
    details:
      "Keys without traffic in that time are not listed. Nodes count in memory: after a restart they begin again at zero.",
    examples: ["parley keys traffic --app shop", "parley keys traffic --app shop --range 24h --json"],
    load: async () => (await import("../commands/control/keys.ts")).traffic,
  },
  {
    name: "keys edit",
    summary: "change a key's channels, actions, origins, turn or label",
    operands: [KEY],
    flags: [
      CHANNELS,
      ACTIONS_FLAG,
      ORIGINS,
      TURN,
      { ...LABEL, meaning: "a note to yourself; '' removes it" },
      ...CONTROL,
    ],
    details: `Only the values you pass change; a list replaces the whole old list.\n${LISTS}`,
    examples: [
      "parley keys edit sk_id_0123456789abcdef0123456789abcdef --channels 'chat/*' --actions publish,subscribe",
    ],
    load: async () => (await import("../commands/control/keys.ts")).edit,
  },
  {
    name: "keys rotate",
    summary: "replace a secret key's secret; the new one is printed only this once",
    operands: [KEY],
    flags: [...ROTATION, ...CONTROL],
    examples: [
      "parley keys rotate sk_id_0123456789abcdef0123456789abcdef --grace 1h",
      "parley keys rotate sk_id_0123456789abcdef0123456789abcdef --retire-previous --yes",
    ],
    load: async () => (await import("../commands/control/keys.ts")).rotate,
  },
  {
    name: "keys revoke",
    summary: "revoke a key and close its connections",
    operands: [KEY],
    flags: [YES, ...CONTROL],
    details: "This cannot be undone. The command asks for confirmation; without a terminal it needs --yes.",
    examples: [
      "parley keys revoke pk_live_0123456789abcdef0123456789abcdef",
      "parley keys revoke pk_live_0123456789abcdef0123456789abcdef --yes",
    ],
    load: async () => (await import("../commands/control/keys.ts")).revoke,
  },
];

/** The streams of an application. */
import type { Command, Flag, Operand } from "../line/command.ts";
import { CONTROL, forLists, YES } from "../line/flags.ts";

const STREAM: Operand = { name: "CHANNEL", meaning: "the channel's name, such as answers/1" };
const OF_APP: readonly Flag[] = [
  { name: "app", value: "APP", meaning: "id or name of the application; default PARLEY_APP, else demo" },
  ...CONTROL,
];

export const STREAMS: readonly Command[] = [
  {
    name: "streams list",
    summary: "list the streams of an application, with their messages and bytes",
    flags: [{ name: "contains", value: "TEXT", meaning: "only names that have this in them" }, ...forLists(OF_APP)],
    details: `A channel whose rule has "stream" is a stream: it exists from its creation over HTTP until it is deleted or expires.
Needs the admin token or an operator's.`,
    examples: ["parley streams list", "parley streams list --app shop --contains answers/ --json"],
    load: async () => (await import("../commands/control/streams.ts")).list,
  },
  {
    name: "streams show",
    summary: "show one stream: its size, its producers, and who reads it now",
    operands: [STREAM],
    flags: OF_APP,
    details: "Needs the admin token or an operator's.",
    examples: ["parley streams show answers/1", "parley streams show answers/1 --app shop --json | jq .producers"],
    load: async () => (await import("../commands/control/streams.ts")).show,
  },
  {
    name: "streams delete",
    summary: "delete a stream with its messages",
    operands: [STREAM],
    flags: [YES, ...OF_APP],
    details: `Its readers end, and its subscribers reconnect. This cannot be undone. The command asks for confirmation; without a terminal
it needs --yes. Needs the admin token, or that of an operator with the role admin.`,
    examples: ["parley streams delete answers/1", "parley streams delete answers/1 --app shop --yes"],
    load: async () => (await import("../commands/control/streams.ts")).remove,
  },
];

/** Applications, their plans and their app secrets. */
import type { Command, Operand } from "../line/command.ts";
import { CONTROL, forLists, YES } from "../line/flags.ts";
import { ROTATION } from "../line/rotation.ts";

const APP: Operand = { name: "APP", meaning: "id or name of the application" };

export const APPS: readonly Command[] = [
  {
    name: "apps create",
    summary: "create an application and print its app secret",
    operands: [{ name: "NAME", meaning: "a DNS label: lower-case letters, digits, hyphens" }],
    flags: CONTROL,
    examples: ["parley apps create shop"],
    load: async () => (await import("../commands/control/apps.ts")).create,
  },
  {
    name: "apps list",
    summary: "list the applications",
    flags: forLists(CONTROL),
    examples: ["parley apps list", "parley apps list --json"],
    load: async () => (await import("../commands/control/apps.ts")).list,
  },
  {
    name: "apps show",
    summary: "show one application",
    operands: [APP],
    flags: CONTROL,
    examples: ["parley apps show shop"],
    load: async () => (await import("../commands/control/apps.ts")).show,
  },
  {
    name: "apps delete",
    summary: "delete an application and revoke its keys",
    operands: [APP],
    flags: [YES, ...CONTROL],
    details: `Its secrets are removed at once; its rooms, meetings, histories and recordings within an hour. Usage is kept for 400 days and
the audit log for 180. This cannot be undone. The command asks for confirmation; without a terminal it needs --yes.`,
    examples: ["parley apps delete shop", "parley apps delete shop --yes"],
    load: async () => (await import("../commands/control/apps.ts")).remove,
  },
  {
    name: "apps plan",
    summary: "change an application's limits and retention",
    operands: [APP],
    flags: [
      { name: "max-connections", value: "N|none", meaning: "connections at the same time" },
      { name: "max-messages", value: "N|none", meaning: "messages in a calendar month" },
      { name: "name", value: "TEXT", meaning: "the plan's name" },
      { name: "console-payloads", value: "on|off", meaning: "whether operators can see its messages" },
      { name: "max-history-bytes", value: "N", meaning: "bytes of history across all channels (1073741824)" },
      { name: "max-stream-bytes", value: "N", meaning: "bytes of all streams together (1073741824)" },
      {
        name: "retention-days",
        value: "N|none",
        meaning: "how many days to keep recordings, as 30 or 30d; none: forever",
      },
      {
        name: "max-recording-bytes-total",
        value: "N",
        meaning: "bytes of recordings, including uploads (107374182400)",
      },
      {
        name: "meeting-retention-days",
        value: "N",
        meaning: "how many days to keep meetings after they end, as 30 or 30d (90)",
      },
      { name: "frame-origins", value: "LIST", meaning: "origins whose pages may embed its meetings" },
      YES,
      ...CONTROL,
    ],
    details: `Only the values you pass change. Lowering a limit does not close connections. If a lower --retention-days,
--meeting-retention-days or --max-history-bytes deletes data, the command asks for confirmation; without a terminal it needs --yes.`,
    examples: ["parley apps plan shop --max-connections 500 --max-messages none --name small"],
    load: async () => (await import("../commands/control/apps.ts")).plan,
  },
  {
    name: "apps rules",
    summary: "show or change the rules for channel history, streams and lost members",
    operands: [APP],
    flags: [
      { name: "add", value: "PATTERN", meaning: "add a rule, or replace the one with this pattern" },
      { name: "messages", value: "N", meaning: "with --add: keep the newest N messages, 1 to 10000" },
      {
        name: "seconds",
        value: "TIME",
        meaning: "with --add: keep them this long at most; also 90s, 15m, 12h, 7d; up to 30d",
      },
      {
        name: "stream-bytes",
        value: "N",
        meaning: "with --add: channels are streams of at most N bytes each, 65536 to 268435456",
      },
      {
        name: "stream-seconds",
        value: "TIME",
        meaning: "with --add: delete a stream that is unused for this long; up to 30d",
      },
      {
        name: "grace",
        value: "TIME",
        meaning: "with --add: how long members stay after losing their connection, in seconds or as 30s; up to 2m (0)",
      },
      { name: "at", value: "N", meaning: "with --add: its position in the list, from 1 (last)" },
      { name: "remove", value: "PATTERN", meaning: "remove the rule with this pattern" },
      { name: "set", value: "FILE|-", meaning: "replace all rules with a JSON list from a file, or from stdin" },
      YES,
      ...CONTROL,
    ],
    details: `The first rule whose pattern matches a channel name applies; there can be up to 50. Without a change, the command prints the rules.
Turning history or streams off removes what they hold at once. Before a change that may remove messages, the command asks for confirmation;
without a terminal it needs --yes.`,
    examples: [
      "parley apps rules shop",
      "parley apps rules shop --add 'chat/*' --messages 500 --seconds 7d",
      "parley apps rules shop --add 'runs/**' --stream-bytes 16777216 --stream-seconds 7d",
      "parley apps rules shop --add '**' --grace 30",
      "parley apps rules shop --remove 'chat/*'",
      "parley apps rules shop --set rules.json",
    ],
    load: async () => (await import("../commands/control/app-rules.ts")).rules,
  },
  {
    name: "apps secret",
    summary: "print an application's app secret, for rooms and recordings",
    operands: [APP],
    flags: CONTROL,
    examples: ["parley apps secret shop"],
    load: async () => (await import("../commands/control/apps.ts")).secret,
  },
  {
    name: "apps rotate-secret",
    summary: "replace an application's app secret and print the new one",
    operands: [APP],
    flags: [...ROTATION, ...CONTROL],
    details: "The old app secret, and access tokens made with it, work until the grace period ends.",
    examples: ["parley apps rotate-secret shop --grace 1h", "parley apps rotate-secret shop --retire-previous --yes"],
    load: async () => (await import("../commands/control/apps.ts")).rotateSecret,
  },
];

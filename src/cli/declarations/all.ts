/** The table of all commands. */
import type { FlagKind } from "../line/args.ts";
import type { Command, Flag } from "../line/command.ts";
import { HELP } from "../line/flags.ts";
import { ABOUT } from "./about.ts";
import { APPS } from "./apps.ts";
import { BACKUPS } from "./backups.ts";
import { CONTEXTS } from "./contexts.ts";
import { DATA } from "./data.ts";
import { INTERNAL } from "./internal.ts";
import { KEYS } from "./keys.ts";
import { MEETINGS } from "./meetings.ts";
import { OPERATORS } from "./operators.ts";
import { RECORDINGS } from "./recordings.ts";
import { ROOMS } from "./rooms.ts";
import { SERVER } from "./server.ts";
import { STREAMS } from "./streams.ts";
import { TAIL } from "./tail.ts";
import { TALKING } from "./talk.ts";
import { TOKEN } from "./token.ts";
import { VERIFY } from "./verify.ts";
import { WEBHOOKS } from "./webhooks.ts";

export interface Group {
  readonly title: string;
  readonly commands: readonly Command[];
}

export const GROUPS: readonly Group[] = [
  { title: "Server", commands: SERVER },
  { title: "Backups", commands: BACKUPS },
  { title: "Applications", commands: APPS },
  { title: "Keys", commands: KEYS },
  { title: "Connect tokens", commands: TOKEN },
  { title: "Messages", commands: TALKING },
  { title: "Streams", commands: STREAMS },
  { title: "Rooms", commands: ROOMS },
  { title: "Meetings", commands: MEETINGS },
  { title: "Recordings", commands: RECORDINGS },
  { title: "Webhooks", commands: WEBHOOKS },
  { title: "Live tail and refusals", commands: TAIL },
  { title: "Operators", commands: OPERATORS },
  { title: "Data", commands: DATA },
  { title: "Verification", commands: VERIFY },
  { title: "Other services", commands: CONTEXTS },
  { title: "About", commands: ABOUT },
];

export const COMMANDS: readonly Command[] = GROUPS.flatMap((group) => group.commands);

const kindOf = (flag: Flag): FlagKind => (flag.value === undefined ? "switch" : "value");

/** All flags. */
export const FLAG_KINDS: ReadonlyMap<string, FlagKind> = flagKinds();

function flagKinds(): Map<string, FlagKind> {
  const kinds = new Map<string, FlagKind>();
  for (const flag of [HELP, { name: "version", meaning: "" }, ...COMMANDS.flatMap((command) => command.flags)]) {
    const kind = kindOf(flag);
    kinds.set(flag.name, (kinds.get(flag.name) ?? kind) === kind ? kind : "either");
  }
  return kinds;
}

/** The same, with those of one command as it has them. */
export const flagKindsOf = (command: Command): ReadonlyMap<string, FlagKind> =>
  new Map([...FLAG_KINDS, ...command.flags.map((flag) => [flag.name, kindOf(flag)] as const)]);

/** The command that these arguments start with; the longest matching name wins. */
export const commandAt = (positionals: readonly string[]): Command | undefined =>
  [2, 1]
    .map((count) => positionals.slice(0, count).join(" "))
    .flatMap((name) => [...COMMANDS, ...INTERNAL].filter((one) => one.name === name))[0];

/** The commands of a group, such as `keys`. */
export const commandsOf = (group: string): readonly Command[] =>
  COMMANDS.filter((command) => command.name.startsWith(`${group} `));

export const TOP_LEVEL_NAMES: readonly string[] = [
  ...new Set(COMMANDS.map((command) => command.name.split(" ")[0] ?? "")),
];

/** `parley help`, generated from the table of commands. */
import { asCalled, PROGRAM } from "../config/program.ts";
import { didYouMean } from "../protocol/did-you-mean.ts";
import { COMMANDS, commandAt, commandsOf, GROUPS, TOP_LEVEL_NAMES } from "./declarations/all.ts";
import type { Command, CommandResult, Flag } from "./line/command.ts";
import { DEFAULT_URL } from "./line/defaults.ts";
import { UsageError } from "./line/errors.ts";
import { HELP } from "./line/flags.ts";
import type { Input } from "./line/input.ts";
import { columnsOf, wrapped } from "./terminal/width.ts";

/** Wide enough for the longest name in a list. */
const COLUMN = Math.max("PARLEY_OPERATOR_TOKEN".length, ...COMMANDS.map(({ name }) => name.length));

/** Help on everything, on a group (`keys`), or on one command. */
export async function help({ operands }: Input): Promise<CommandResult> {
  if (operands.length === 0) return { value: { commands: COMMANDS.map(asJson) }, text: overview() };
  const command = commandAt(operands);
  if (command && command.name.split(" ").length >= operands.length)
    return { value: asJson(command), text: commandHelp(command) };
  const [first = ""] = operands;
  const group = commandsOf(first);
  if (group.length > 0 && operands.length === 1)
    return { value: { commands: group.map(asJson) }, text: groupHelp(first, group) };
  throw noSuchCommand(operands);
}

export function noSuchCommand(positionals: readonly string[]): UsageError {
  const [first = "", second = ""] = positionals;
  const seconds = commandsOf(first).map((command) => command.name.slice(first.length + 1));
  if (seconds.length > 0)
    return new UsageError(
      `"parley ${first}" has no ${JSON.stringify(second)}${didYouMean(second, seconds)} It has ${seconds.join(", ")}; see "parley help ${first}"`,
    );
  if (TOP_LEVEL_NAMES.includes(first))
    return new UsageError(`"parley ${first}" has no ${JSON.stringify(second)}. See "parley help ${first}"`);
  return new UsageError(
    `there is no command ${JSON.stringify(first)}${didYouMean(first, TOP_LEVEL_NAMES)} See "parley help"`,
  );
}

export function overview(columns = columnsOf(process.stdout)): string {
  const paragraph = (text: string): string => wrapped("", asCalled(text), columns);
  const entry = (name: string, meaning: string): string => entryOf(name, meaning, columns);
  const groups = GROUPS.map(({ title, commands }) => `${title}\n${commandList(commands, columns)}`);
  return `Parley, a realtime messaging service you host yourself.

${PROGRAM} COMMAND [flags]

${groups.join("\n")}
${paragraph(`Start with "parley up". "parley help COMMAND" explains a command, with examples; so does --help.`)}
${paragraph('Environment, for a service on another machine; "parley login" keeps its address and a token instead. On its own machine, commands find a service that you run.')}\
${entry("PARLEY_URL", `the server to call (a context, else the one of ./data, else the one you are running, else ${DEFAULT_URL})`)}\
${entry("PARLEY_CONTEXT", 'a context of "parley login" (the one of "parley use")')}\
${entry("PARLEY_OPERATOR_TOKEN", "an operator's token or the admin token, for the control plane: apps, keys, token check, operators, audit, tail")}\
${entry("PARLEY_APP", "an application's name (demo), for messages, rooms and recordings")}\
${entry("PARLEY_APP_SECRET", "that application's app secret, for rooms and recordings")}\
${entry("PARLEY_KEY", "a secret key, SK_ID:SK_SECRET, for messages, token mint and verify; a publishable one to connect")}\
${entry("PARLEY_TOKEN", "a connect token, for listen, publish and send")}
${paragraph(`--json prints one JSON object on stdout, lists and streams one per line, and errors as {"error","message"} on stderr.`)}\
${paragraph("Commands that delete or end something ask first; without a terminal they need --yes.")}\
${paragraph("Exit codes: 0 success, 1 refused or failed, 2 wrong usage or settings.")}`;
}

const entryOf = (name: string, meaning: string, columns: number | undefined): string =>
  wrapped(`  ${name.padEnd(COLUMN)}  `, asCalled(meaning), columns);
const commandList = (commands: readonly Command[], columns = columnsOf(process.stdout)): string =>
  commands.map(({ name, summary }) => entryOf(name, summary, columns)).join("");

const groupHelp = (group: string, commands: readonly Command[]): string =>
  `${commandList(commands)}
${exampleLines(commands.flatMap((command) => command.examples))}
${asCalled(`"parley help ${group} …" explains one of them.`)}
`;

function commandHelp(command: Command): string {
  const columns = columnsOf(process.stdout);
  const { operands = [], details } = command;
  const listed = [...command.flags, HELP];
  const left = (flag: Flag): string => `--${flag.name}${flag.value ? ` ${flag.value}` : ""}`;
  const width = Math.max(...listed.map((flag) => left(flag).length), ...operands.map(({ name }) => name.length));
  const row = (name: string, meaning: string): string =>
    wrapped(`  ${name.padEnd(width)}  `, asCalled(meaning), columns);
  const rows = [
    ...operands.map(({ name, meaning }) => row(name, meaning)),
    ...listed.map((flag) => row(left(flag), `${flag.meaning}${flag.required ? " (required)" : ""}`)),
  ];
  return `${usage(command)}

${wrapped("", `${command.summary[0]?.toUpperCase()}${command.summary.slice(1)}.`, columns)}\
${details ? detailsText(asCalled(details), columns) : ""}
${rows.join("")}
${exampleLines(command.examples)}`;
}

/** The lines of declarations are as long as those of our source; on a terminal its width decides. */
const detailsText = (details: string, columns: number | undefined): string =>
  wrapped("", columns === undefined ? details : details.replaceAll("\n", " "), columns);

/** Whole lines: a command that is broken in two cannot be pasted. */
const exampleLines = (examples: readonly string[]): string =>
  `Example${examples.length > 1 ? "s" : ""}\n${examples.map((example) => `  ${asCalled(example)}\n`).join("")}`;

function usage({ name, operands = [], flags }: Command): string {
  const shown = operands.map((one) => {
    const name = `${one.name}${one.many ? " …" : ""}`;
    return one.optional ? `[${name}]` : name;
  });
  const required = flags.filter((flag) => flag.required).map((flag) => `--${flag.name} ${flag.value}`);
  return [PROGRAM, name, ...shown, ...required, "[flags]"].join(" ");
}

const asJson = (command: Command): object => ({
  name: command.name,
  usage: usage(command),
  summary: command.summary,
  flags: command.flags.map(({ name, value, meaning, required }) => ({
    name,
    value: value ?? null,
    meaning: asCalled(meaning),
    required: required ?? false,
  })),
  examples: command.examples.map((example) => asCalled(example)),
});

/** From the words of a command line to a command that runs, and from how it ended to an exit code. */

import { didYouMean } from "../protocol/did-you-mean.ts";
import { type Args, parseArgs } from "./args.ts";
import type { Command } from "./command.ts";
import { commandAt, commandsUnder, FLAG_KINDS } from "./commands/all.ts";
import { endingOf, UsageError } from "./errors.ts";
import { HELP } from "./flags.ts";
import { type Env, Given } from "./given.ts";
import { noSuchCommand, overview } from "./help.ts";
import { Output } from "./output.ts";

/** The exit code; undefined: the command goes on running. */
export async function dispatch(argv: readonly string[], env: Env): Promise<number | undefined> {
  const output = new Output(argv.includes("--json"));
  if (argv.length === 0) {
    await output.guide(overview());
    return 2;
  }
  try {
    const { command, operands, flags, repeated } = understand(argv);
    const run = await command.load();
    const answer = await run(new Given(operands, flags, env, repeated));
    if (!answer) return undefined;
    await output.answer(answer);
    return answer.refused ? 1 : 0;
  } catch (error) {
    const ending = endingOf(error);
    if (!ending) throw error;
    await output.failure(ending);
    return ending.exitCode;
  }
}

export interface Understood {
  readonly command: Command;
  readonly operands: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  readonly repeated: Args["repeated"];
}

/** Throws a UsageError for everything that its declaration does not take or does not get. */
export function understand(argv: readonly string[]): Understood {
  const { words, flags, repeated, unknown } = spelledOut(parseArgs(argv, FLAG_KINDS));
  const command = commandAt(words);
  if (!command) {
    // Of a wrong flag in front, the word behind it may be the value.
    if (unknown[0] !== undefined && argv[0]?.startsWith("-")) throw unknownFlag(unknown[0], [...FLAG_KINDS.keys()]);
    throw wrongWords(words);
  }
  if (unknown[0] !== undefined) throw unknownFlag(unknown[0], flagNames(command), command);
  const operands = words.slice(command.name.split(" ").length);
  check(command, operands, flags);
  const twice = [...repeated.keys()].find((name) => !command.flags.some((flag) => flag.name === name && flag.many));
  if (twice !== undefined) throw new UsageError(`--${twice} is given twice`);
  return { command, operands, flags, repeated };
}

/** `parley keys list --help` is `parley help keys list`; `parley --version` is how everybody tries it first. */
function spelledOut(args: Args): Args {
  const { words, flags, unknown } = args;
  const repeated = new Map<string, string[]>();
  const json = new Map([...flags].filter(([name]) => name === "json"));
  if (flags.has("help")) {
    const name = commandAt(words)?.name.split(" ") ?? words;
    return { words: ["help", ...name], flags: json, repeated, unknown };
  }
  if (words.length === 0 && flags.has("version")) return { words: ["version"], flags: json, repeated, unknown };
  return args;
}

const flagNames = (command: Command): string[] => [...command.flags, HELP].map((flag) => flag.name);

function check(command: Command, operands: readonly string[], flags: ReadonlyMap<string, string>): void {
  const { name, operands: declared = [] } = command;
  const taken = flagNames(command);
  const foreign = [...flags.keys()].find((flag) => !taken.includes(flag));
  if (foreign !== undefined)
    throw new UsageError(`"parley ${name}" does not take --${foreign}${flagHint(foreign, taken)} ${seeHelp(command)}`);
  const extra = declared.some((one) => one.many) ? undefined : operands[declared.length];
  if (extra !== undefined)
    throw new UsageError(`"parley ${name}" does not take ${JSON.stringify(extra)}. ${seeHelp(command)}`);
  const missing = [
    ...declared.filter((one, at) => !one.optional && !operands[at]).map((one) => one.name),
    ...command.flags.filter((flag) => flag.required && !flags.has(flag.name)).map((flag) => `--${flag.name}`),
  ];
  if (missing.length > 0) throw new UsageError(`"parley ${name}" needs ${missing.join(", ")}. ${seeHelp(command)}`);
}

function wrongWords(words: readonly string[]): UsageError {
  const [first] = words;
  if (first === undefined) return new UsageError('name a command; "parley help" lists them');
  const group = commandsUnder(first);
  if (group.length === 0 || words.length > 1) return noSuchCommand(words);
  const seconds = group.map((command) => command.name.slice(first.length + 1)).join(", ");
  return new UsageError(`"parley ${first}" needs one of ${seconds}. See "parley help ${first}"`);
}

function unknownFlag(flag: string, known: readonly string[], command?: Command): UsageError {
  const name = flag.replace(/^-+/, "");
  const of = command ? ` for "parley ${command.name}"` : "";
  return new UsageError(
    `there is no flag ${flag}${of}${flagHint(name, known)} ${command ? seeHelp(command) : 'See "parley help"'}`,
  );
}

const flagHint = (name: string, known: readonly string[]): string => didYouMean(name, known, (near) => `--${near}`);
const seeHelp = (command: Command): string => `See "parley help ${command.name}"`;

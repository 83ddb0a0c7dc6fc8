/** Finds and runs the command of a command line, and turns its result into output and an exit code. */
import { didYouMean } from "../protocol/did-you-mean.ts";
import { StoreInUse } from "../store/contract/store.ts";
import { commandAt, commandsOf, FLAG_KINDS, flagKindsOf } from "./declarations/all.ts";
import { noSuchCommand, overview } from "./help.ts";
import { type Args, parseArgs } from "./line/args.ts";
import type { Command } from "./line/command.ts";
import { reportOf, UsageError } from "./line/errors.ts";
import { fieldHint } from "./line/field-hint.ts";
import { HELP } from "./line/flags.ts";
import { type Env, Input } from "./line/input.ts";
import { INTERRUPTED } from "./terminal/interrupt.ts";
import { Output } from "./terminal/output.ts";
import { columnsOf } from "./terminal/width.ts";

/** The exit code; undefined if the command keeps running. */
export async function dispatch(argv: readonly string[], env: Env): Promise<number | undefined> {
  const output = new Output(argv.includes("--json"));
  if (argv.length === 0) {
    await output.guide(overview(columnsOf(process.stderr)));
    return 2;
  }
  try {
    const { command, operands, flags, repeated } = parseCommand(argv);
    output.follow(flags);
    const run = await command.load();
    const result = await run(new Input(operands, flags, env, repeated));
    if (!result) return undefined;
    await output.result(result);
    if (result.interrupted) return INTERRUPTED;
    return result.refused ? 1 : 0;
  } catch (error) {
    const report = reportOf(await explained(error, env));
    if (!report) throw error;
    await output.failure(report);
    return report.exitCode;
  }
}

async function explained(error: unknown, env: Env): Promise<unknown> {
  if (error instanceof StoreInUse) return withItsServer(error);
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : {};
  return code === "EADDRINUSE" && message !== undefined ? withItsUser(error as Error, env) : error;
}

/** Many have forgotten that they started one in another folder. */
async function withItsUser(error: Error, env: Env): Promise<Error> {
  const port = /^port (\d+) /.exec(error.message)?.[1];
  // Loaded only where it is used.
  const { servicesOfUser } = await import("./calls/user-services.ts");
  const own = servicesOfUser(env).find(({ url }) => new URL(url).port === port);
  const who = own && `your Parley with the data folder ${own.data} (process ${own.pid})`;
  return who ? Object.assign(error, { message: error.message.replace("another program", who) }) : error;
}

/** Names the server that uses the folder, which people may have started in another terminal. */
async function withItsServer(error: StoreInUse): Promise<StoreInUse> {
  const { folder, remedy } = error;
  // Loaded only where it is used.
  const { serverOn } = await import("./calls/running-server.ts");
  const server = serverOn(folder, true);
  return server.state === "running"
    ? new StoreInUse(folder, remedy, `: it serves ${server.url} (process ${server.pid})`)
    : error;
}

export interface ParsedCommand {
  readonly command: Command;
  readonly operands: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  readonly repeated: Args["repeated"];
}

/** Throws a UsageError for arguments that the command does not have, and for required ones that are missing. */
export function parseCommand(argv: readonly string[]): ParsedCommand {
  const { positionals, flags, repeated, unknown } = expandAliases(parsed(argv));
  const command = commandAt(positionals);
  if (!command) {
    // After an unknown flag in front, the next argument may be its value instead of a command.
    if (unknown[0] !== undefined && argv[0]?.startsWith("-")) throw unknownFlag(unknown[0], [...FLAG_KINDS.keys()]);
    throw unknownCommand(positionals);
  }
  const operands = positionals.slice(command.name.split(" ").length);
  if (unknown[0] !== undefined) throw unknownFlagOf(command, unknown[0], operands, argv);
  check(command, operands, flags);
  const twice = [...repeated.keys()].find((name) => !command.flags.some((flag) => flag.name === name && flag.many));
  if (twice !== undefined) throw new UsageError(`--${twice} is given twice`);
  return { command, operands, flags, repeated };
}

/** Parsed with the flags of all commands first: they show which command it is. */
function parsed(argv: readonly string[]): Args {
  const args = parseArgs(argv, FLAG_KINDS);
  const command = commandAt(args.positionals);
  const isAmbiguous = command?.flags.some(({ name }) => args.flags.has(name) && FLAG_KINDS.get(name) === "either");
  return command && isAmbiguous && !args.flags.has("help") ? parseArgs(argv, flagKindsOf(command)) : args;
}

/** `parley keys list --help` means `parley help keys list`, and `parley --version` means `parley version`. */
function expandAliases(args: Args): Args {
  const { positionals, flags, unknown } = args;
  const repeated = new Map<string, string[]>();
  const json = new Map([...flags].filter(([name]) => name === "json"));
  if (flags.has("help")) {
    const name = commandAt(positionals)?.name.split(" ") ?? positionals;
    return { positionals: ["help", ...name], flags: json, repeated, unknown };
  }
  if (positionals.length === 0 && flags.has("version"))
    return { positionals: ["version"], flags: json, repeated, unknown };
  return args;
}

const flagNames = (command: Command): string[] => [...command.flags, HELP].map((flag) => flag.name);

function check(command: Command, operands: readonly string[], flags: ReadonlyMap<string, string>): void {
  const { name, operands: declared = [] } = command;
  const accepted = flagNames(command);
  const foreign = [...flags.keys()].find((flag) => !accepted.includes(flag));
  if (foreign !== undefined)
    throw new UsageError(
      `"parley ${name}" does not take --${foreign}${flagHint(foreign, accepted)} ${seeHelp(command)}`,
    );
  const extra = declared.some((one) => one.many) ? undefined : operands[declared.length];
  if (extra !== undefined)
    throw new UsageError(`"parley ${name}" does not take ${JSON.stringify(extra)}. ${seeHelp(command)}`);
  const missing = [
    ...declared.filter((one, at) => !one.optional && !operands[at]).map((one) => one.name),
    ...command.flags.filter((flag) => flag.required && !flags.has(flag.name)).map((flag) => `--${flag.name}`),
  ];
  if (missing.length > 0) throw new UsageError(`"parley ${name}" needs ${missing.join(", ")}. ${seeHelp(command)}`);
}

function unknownCommand(positionals: readonly string[]): UsageError {
  const [first] = positionals;
  if (first === undefined) return new UsageError('name a command; "parley help" lists them');
  const group = commandsOf(first);
  if (group.length === 0 || positionals.length > 1) return noSuchCommand(positionals);
  const seconds = group.map((command) => command.name.slice(first.length + 1)).join(", ");
  return new UsageError(`"parley ${first}" needs one of ${seconds}. See "parley help ${first}"`);
}

function unknownFlag(flag: string, known: readonly string[]): UsageError {
  return new UsageError(`there is no flag ${flag}${flagHint(flag.replace(/^-+/, ""), known)} See "parley help"`);
}

function unknownFlagOf(
  command: Command,
  flag: string,
  operands: readonly string[],
  argv: readonly string[],
): UsageError {
  const there = `there is no flag ${flag} for "parley ${command.name}"`;
  const field = fieldHint(command, flag, argv);
  if (field !== undefined) return new UsageError(`${there}; ${field}. ${seeHelp(command)}`);
  const hint = flagHint(flag.replace(/^-+/, ""), flagNames(command));
  // `publish chat/1 -hello`: what begins with a dash may be meant as an operand, unless all of them are given.
  const declared = command.operands ?? [];
  const mayBeOperand = (hint === "." || !flag.startsWith("--")) && operands.length < declared.length;
  const behind = mayBeOperand ? ` If it is ${declared.at(-1)?.name}, put -- before it: -- ${flag}.` : "";
  return new UsageError(`${there}${hint}${behind} ${seeHelp(command)}`);
}

const flagHint = (name: string, known: readonly string[]): string =>
  didYouMean(name, known, (suggestion) => `--${suggestion}`);
const seeHelp = (command: Command): string => `See "parley help ${command.name}"`;

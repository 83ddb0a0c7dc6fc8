/** What can follow in a command line that is being typed, from the declarations of all commands. */
import { COMMANDS, commandAt, commandsOf, FLAG_KINDS, flagKindsOf, TOP_LEVEL_NAMES } from "../../declarations/all.ts";
import type { Command, Flag, Operand } from "../../line/command.ts";
import { HELP } from "../../line/flags.ts";

export interface Candidate {
  readonly word: string;
  readonly meaning: string;
}

/** What a value is. */
export type Wanted =
  | { readonly kind: "known"; readonly candidates: readonly Candidate[] }
  /** Names that only the service, or the user's contexts, have. */
  | { readonly kind: "apps" | "contexts" }
  | { readonly kind: "files" | "folders" };

export interface Place {
  readonly wanted: Wanted;
  /** What has been typed of it. */
  readonly typed: string;
  /** What stands before it in the same word: `--app=`. */
  readonly before: string;
  /** The flags so far that lead to a service. */
  readonly service: ReadonlyMap<string, string>;
}

const NOTHING: Wanted = { kind: "known", candidates: [] };
/** They lead a request to its service. */
const SERVICE_FLAGS = ["url", "context", "data", "admin-token-file"];

/** `args` is all that follows the name of the program; the last is being typed, and may be empty. */
export function placeOf(args: readonly string[]): Place {
  const all = withoutEquals(args);
  const line = read(all.slice(0, -1));
  const current = all.at(-1) ?? "";
  const service = new Map([...line.flags].filter(([name]) => SERVICE_FLAGS.includes(name)));
  const at = (wanted: Wanted, typed = current, before = ""): Place => ({ wanted, typed, before, service });
  if (line.pending) return at(wantedFor(line.pending));
  const [, name, value] = line.isOnlyPositionals ? [] : (/^--([^=]+)=(.*)$/.exec(current) ?? []);
  const flag = flagsOf(line.command).find((one) => one.name === name);
  if (value !== undefined) return at(flag ? wantedFor(flag) : NOTHING, value, `--${name}=`);
  if (current.startsWith("-") && !line.isOnlyPositionals) return at(flagWords(line));
  if (line.command?.name === "help") return at(names(line.positionals.slice(1)));
  return at(line.command ? operandAt(line.command, line.positionals) : names(line.positionals));
}

/** bash splits `--app=shop` into three arguments. */
function withoutEquals(args: readonly string[]): readonly string[] {
  const isEquals = (at: number): boolean => args[at] === "=" && (args[at - 1] ?? "").startsWith("--");
  const kept = args.filter((_, at) => !isEquals(at));
  return isEquals(args.length - 1) ? [...kept, ""] : kept;
}

interface Line {
  readonly command: Command | undefined;
  readonly positionals: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  /** A flag whose value is being typed. */
  readonly pending: Flag | undefined;
  /** `--` came before. */
  readonly isOnlyPositionals: boolean;
}

function read(args: readonly string[]): Line {
  const positionals: string[] = [];
  const flags = new Map<string, string>();
  let pending: string | undefined;
  let isOnlyPositionals = false;
  for (const word of args) {
    if (pending !== undefined) {
      flags.set(pending, word);
      pending = undefined;
    } else if (isOnlyPositionals || !word.startsWith("--")) positionals.push(word);
    else if (word === "--") isOnlyPositionals = true;
    else {
      const [name = "", value] = word.slice(2).split("=", 2);
      const command = commandAt(positionals);
      const kind = (command ? flagKindsOf(command) : FLAG_KINDS).get(name);
      if (value === undefined && kind === "value") pending = name;
      else flags.set(name, value ?? "on");
    }
  }
  const command = commandAt(positionals);
  const flag = flagsOf(command).find(({ name }) => name === pending);
  return { command, positionals, flags, pending: flag, isOnlyPositionals };
}

const flagsOf = (command: Command | undefined): readonly Flag[] => (command ? [...command.flags, HELP] : [HELP]);

/** Those that are not there yet, or may be repeated. */
const flagWords = ({ command, flags }: Line): Wanted => ({
  kind: "known",
  candidates: flagsOf(command)
    .filter(({ name, many }) => many || !flags.has(name))
    .map(({ name, meaning }) => ({ word: `--${name}`, meaning })),
});

/** The next part of the name of a command. */
function names(positionals: readonly string[]): Wanted {
  const [first, ...more] = positionals;
  if (first === undefined)
    return { kind: "known", candidates: TOP_LEVEL_NAMES.map((word) => ({ word, meaning: meaningOf(word) })) };
  const candidates = commandsOf(first).map(({ name, summary }) => ({
    word: name.slice(first.length + 1),
    meaning: summary,
  }));
  return more.length === 0 ? { kind: "known", candidates } : NOTHING;
}

const meaningOf = (name: string): string =>
  COMMANDS.find((one) => one.name === name)?.summary ??
  commandsOf(name)
    .map((one) => one.name.slice(name.length + 1))
    .join(", ");

function operandAt({ name, operands = [] }: Command, positionals: readonly string[]): Wanted {
  const at = positionals.length - name.split(" ").length;
  const last = operands.at(-1);
  const operand = operands[at] ?? (last?.many ? last : undefined);
  return operand ? wantedFor(operand) : NOTHING;
}

/** By what the declaration says about a value: its choices, or how the help names it. */
function wantedFor(one: Flag | Operand): Wanted {
  const named = "value" in one ? (one.value ?? "") : one.name;
  const choices = one.choices ?? named.split("|").filter((part) => /^[a-z]+$/.test(part));
  if (one.isContext) return { kind: "contexts" };
  if (choices.length > 0) return { kind: "known", candidates: choices.map((word) => ({ word, meaning: "" })) };
  if (named === "APP") return { kind: "apps" };
  if (one.name === "data") return { kind: "folders" };
  return /^(FILE|TARGET|SOURCE)\b/.test(named) || FILE_SETTINGS.includes(one.name) ? { kind: "files" } : NOTHING;
}

/** Settings of `parley up` that are files; their values have no names in the help. */
const FILE_SETTINGS: readonly string[] = ["config", "tls-cert", "tls-key"];

/** The command line, split: words, and flags as `--name value`, `--name=value` or, for switches, `--name`. */
import { UsageError } from "./errors.ts";

export interface Args {
  readonly words: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  /** All values of a flag that was given more than once; few commands take that. */
  readonly repeated: ReadonlyMap<string, readonly string[]>;
  /** Flags that no command takes, as they were written. Their values, if any, are among the words. */
  readonly unknown: readonly string[];
}

export type FlagKind = "switch" | "value";

const isFlag = (arg: string): boolean => arg.startsWith("-") && arg !== "-";

/** `kinds` are the flags of all commands: the command is not known before its words are. Behind `--` all are words. */
export function parseArgs(argv: readonly string[], kinds: ReadonlyMap<string, FlagKind>): Args {
  const words: string[] = [];
  const flags = new Map<string, string>();
  const repeated = new Map<string, string[]>();
  const unknown: string[] = [];
  const given = argv.map((arg) => (arg === "-h" ? "--help" : arg));
  for (let i = 0; i < given.length; i++) {
    const arg = given[i] as string;
    if (arg === "--") {
      words.push(...argv.slice(i + 1));
      break;
    }
    if (!isFlag(arg)) {
      words.push(arg);
      continue;
    }
    const equals = arg.indexOf("=");
    const flag = equals < 0 ? arg : arg.slice(0, equals);
    const name = flag.slice(2);
    const kind = flag.startsWith("--") ? kinds.get(name) : undefined;
    if (!kind) {
      unknown.push(flag);
      continue;
    }
    if (kind === "switch" && equals >= 0) throw new UsageError(`${flag} takes no value`);
    const value = kind === "switch" ? "on" : equals >= 0 ? arg.slice(equals + 1) : nextValue(flag, given[++i]);
    const before = flags.get(name);
    if (before === undefined) flags.set(name, value);
    else repeated.set(name, [...(repeated.get(name) ?? [before]), value]);
  }
  return { words, flags, repeated, unknown };
}

/** A forgotten value must not swallow the flag behind it. */
function nextValue(flag: string, next: string | undefined): string {
  if (next === undefined) throw new UsageError(`${flag} needs a value`);
  if (next.startsWith("--"))
    throw new UsageError(`${flag} needs a value, but ${next} follows (if that is the value: ${flag}=${next})`);
  return next;
}

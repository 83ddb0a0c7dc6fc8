/** Splits a command line into positional arguments and flags: `--name value`, `--name=value` or, for switches, `--name`. */
import { UsageError } from "./errors.ts";

export interface Args {
  /** The name of a command and its operands. */
  readonly positionals: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
  /** All values of each flag that occurs more than once; few commands accept that. */
  readonly repeated: ReadonlyMap<string, readonly string[]>;
  /** Flags that no command has, as they were written. Their values, if any, are among the positionals. */
  readonly unknown: readonly string[];
}

/** "either": a switch in some commands, in others it has a value. Before the command is known, only `--name=value` has one. */
export type FlagKind = "switch" | "value" | "either";

/** A negative number is none: no flag begins with a digit. */
const isFlag = (arg: string): boolean => /^-(?!\.?\d)./.test(arg);

/**
 * `kinds` are the flags of all commands, because the command is known only after the positional arguments are; where commands differ,
 * the caller parses a second time with those of the command. After `--` all arguments are positional.
 */
export function parseArgs(argv: readonly string[], kinds: ReadonlyMap<string, FlagKind>): Args {
  const positionals: string[] = [];
  const flags = new Map<string, string>();
  const repeated = new Map<string, string[]>();
  const unknown: string[] = [];
  const args = argv.map((arg) => (arg === "-h" ? "--help" : arg));
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === "--") {
      positionals.push(...argv.slice(i + 1));
      break;
    }
    if (!isFlag(arg)) {
      positionals.push(arg);
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
    const value = equals >= 0 ? arg.slice(equals + 1) : kind === "value" ? nextValue(flag, args[++i]) : "on";
    const before = flags.get(name);
    if (before === undefined) flags.set(name, value);
    else repeated.set(name, [...(repeated.get(name) ?? [before]), value]);
  }
  return { positionals, flags, repeated, unknown };
}

/** If a value is missing, the next flag must not be taken for it. */
function nextValue(flag: string, next: string | undefined): string {
  if (next === undefined) throw new UsageError(`${flag} needs a value`);
  if (next.startsWith("--"))
    throw new UsageError(`${flag} needs a value, but ${next} follows (if that is the value: ${flag}=${next})`);
  return next;
}

/** The command line, split: words, and flags as `--name value`, `--name=value` or, for switches, `--name`. */

/** A wrong command line; the message names what is wrong. */
export class UsageError extends Error {}

export interface Args {
  readonly words: readonly string[];
  readonly flags: ReadonlyMap<string, string>;
}

/** `switches` take no value. Everything behind `--` is a word. */
export function parseArgs(argv: readonly string[], switches: readonly string[]): Args {
  const words: string[] = [];
  const flags = new Map<string, string>();
  for (let i = 0; i < argv.length; i++) {
    const arg = argv[i] as string;
    if (arg === "--") {
      words.push(...argv.slice(i + 1));
      break;
    }
    if (!arg.startsWith("--")) {
      words.push(arg);
      continue;
    }
    const equals = arg.indexOf("=");
    const name = equals < 0 ? arg.slice(2) : arg.slice(2, equals);
    if (flags.has(name)) throw new UsageError(`--${name} is given twice`);
    if (switches.includes(name)) {
      if (equals >= 0) throw new UsageError(`--${name} takes no value`);
      flags.set(name, "on");
    } else if (equals >= 0) flags.set(name, arg.slice(equals + 1));
    else {
      const value = argv[++i];
      if (value === undefined) throw new UsageError(`--${name} needs a value`);
      flags.set(name, value);
    }
  }
  return { words, flags };
}

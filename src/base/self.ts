/**
 * How the program starts itself again: workers, and the processes that mend recordings, make backups and send webhooks. In a checkout that is Bun with our main file; a single
 * executable is both, and takes flags of Bun for arguments of its own. So nothing else builds such a command.
 */

/** Commands that only the service runs, in processes of its own. */
export type OwnCommand = "make-backup" | "mend" | "send-webhooks" | "worker";

/**
 * What a child process was started for. It runs that command and no other: a child that misreads its arguments would otherwise start the
 * service again, whose child would do the same, until the machine is full.
 */
const CHILD_VARIABLE = "PARLEY_CHILD";

/** Turns an executable into plain Bun: the child would run no command of ours. */
const PLAIN_BUN_VARIABLE = "BUN_BE_BUN";

interface Checkout {
  /** Flags of Bun; those of this process unless others are given. */
  readonly flags?: readonly string[];
  readonly main?: string;
}

/** The file that this process runs: an upgrade may have put another one at its path, which its children must not be of. */
const own = (): string => (process.platform === "linux" ? `/proc/${process.pid}/exe` : process.execPath);

/** The beginning of a command line; the command and its operands follow. Outside of a checkout, its parts mean nothing. */
export const selfCommand = ({ flags = process.execArgv, main = Bun.main }: Checkout = {}): string[] =>
  Bun.isStandaloneExecutable ? [own()] : [process.execPath, ...flags, main];

/** Flags of Bun for a child process in a single executable, which takes them from the environment only. */
export const selfFlags = (...flags: readonly string[]): Record<string, string> =>
  Bun.isStandaloneExecutable ? { BUN_OPTIONS: flags.join(" ") } : {};

type Variables = Readonly<Record<string, string | undefined>>;

/** The environment of a process that runs this command. */
export function childEnvironment(command: OwnCommand, inherited: Variables = process.env): Record<string, string> {
  const { [PLAIN_BUN_VARIABLE]: _, ...others } = inherited;
  const set = Object.entries(others).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...Object.fromEntries(set), [CHILD_VARIABLE]: command };
}

/** Why this process must not run that command; undefined if it may. */
export function refusalOf(argv: readonly string[], env: Variables): string | undefined {
  const { [CHILD_VARIABLE]: wanted } = env;
  if (!wanted || argv[0] === wanted) return undefined;
  return `this process was started for "${wanted}" by a running service (${CHILD_VARIABLE}), and runs nothing else; unset ${CHILD_VARIABLE} to run other commands`;
}

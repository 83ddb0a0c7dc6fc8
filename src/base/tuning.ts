/**
 * Settings of the runtime that it reads from the environment when it starts. bin/parley sets them; an executable has no launcher, so it
 * replaces itself once, with the same process id, before it has loaded anything. docs/performance.md says what they are good for.
 */

/** As in bin/parley, which explains them; a test compares the two. A value from the environment is kept. */
export const TUNING: Readonly<Record<string, string>> = {
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: "1000000",
  MIMALLOC_PURGE_DELAY: "10000",
  MIMALLOC_PURGE_HOLES_MIN_INTERVAL: "10000",
};

/** Commands that run for long. Others would wait twice for the runtime to start, and gain nothing; the same is true of these names as operands, which is rare. */
const TUNED: readonly string[] = ["up", "verify"];

/** The id of the process that has replaced itself: its children inherit the variable, and have other ids. */
const MARK_VARIABLE = "PARLEY_TUNED";

type Variables = Readonly<Record<string, string | undefined>>;

/** The environment to start again with; undefined if there is nothing to change, or if this process has done so. */
export function tunedEnvironment(argv: readonly string[], env: Variables, pid: number): NodeJS.ProcessEnv | undefined {
  if (!TUNED.some((name) => argv.includes(name)) || env[MARK_VARIABLE] === String(pid)) return undefined;
  const missing = Object.entries(TUNING).filter(([name]) => !env[name]);
  return missing.length > 0 ? { ...env, ...Object.fromEntries(missing), [MARK_VARIABLE]: String(pid) } : undefined;
}

/** Does not return where it replaces the process. */
export function tune(): void {
  const { argv, argv0, env, execPath, pid } = process;
  const environment = Bun.isStandaloneExecutable ? tunedEnvironment(argv.slice(2), env, pid) : undefined;
  if (environment) {
    try {
      // Windows has no such call: the service runs without these settings there.
      process.execve?.(execPath, [argv0, ...argv.slice(2)], environment);
    } catch {
      // A system that refuses it: the same.
    }
  }
  // Not for children, and no setting of the service, which names those that it does not know.
  delete process.env[MARK_VARIABLE];
}

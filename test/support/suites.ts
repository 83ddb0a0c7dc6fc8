/**
 * Runs suites that were written for one process against a service of several. In full runs too with the sizes and the bounds of
 * `npm test`: what is long, or must be exact, is tested on one process, and several of these runs share the machine.
 */
import { join } from "node:path";

const PROJECT = join(import.meta.dir, "../..");
export const RAW = "test/conformance/raw";
/** These test one process and not the service. */
const ONE_PROCESS = ["frame-metrics", "metrics", "one-process", "over-http", "shutdown"];
export const RAW_WHOLE = [...new Bun.Glob("*.test.ts").scanSync(join(PROJECT, RAW))]
  .map((file) => file.slice(0, -".test.ts".length))
  .filter((name) => !ONE_PROCESS.includes(name))
  .sort();

export interface Run {
  readonly code: number;
  readonly passed: number;
  /** Names of tests. */
  readonly failed: readonly string[];
  readonly output: string;
}

export async function runSuites(paths: readonly string[], env: Readonly<Record<string, string>>): Promise<Run> {
  // With what closes the servers that its files share (run.ts).
  const preload = ["--preload", "./test/support/run-end.ts"];
  const child = Bun.spawn([process.execPath, "test", "--timeout", "60000", ...preload, ...paths], {
    cwd: PROJECT,
    env: { ...process.env, PARLEY_TEST_FULL: undefined, PARLEY_TEST_LONG: undefined, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const output = await new Response(child.stderr).text();
  const names = (outcome: string): string[] =>
    [...output.matchAll(new RegExp(`^\\(${outcome}\\) (.*?)(?: \\[[\\d.]+ms\\])?$`, "gm"))].map(
      ([, name = ""]) => name,
    );
  return { code: await child.exited, passed: names("pass").length, failed: [...new Set(names("fail"))], output };
}

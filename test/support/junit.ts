/** Reports of `bun test`. */
import { existsSync, readFileSync } from "node:fs";

/** The names of the tests that a JUnit report says have failed. */
export function failedIn(report: string): string[] {
  if (!existsSync(report)) return [];
  const cases = readFileSync(report, "utf8").matchAll(/<testcase name="([^"]*)"[^>]*?file="([^"]*)"[^>]*>\s*<failure/g);
  return [...cases].map(([, name, file]) => `${file}: ${name}`);
}

/** [passed, failed] of a JUnit report. A runner that died without one, or failed outside a test, is a failure itself. */
export function counted(report: string, exitCode: number): [number, number] {
  let head: string;
  try {
    head = /<testsuites [^>]*>/.exec(readFileSync(report, "utf8"))?.[0] ?? "";
  } catch {
    return [0, 1];
  }
  const number = (name: string): number => Number(new RegExp(`${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const bad = number("failures") + number("errors");
  const skipped = number("skipped");
  return [number("tests") - bad - skipped, bad === 0 && exitCode !== 0 ? 1 : bad];
}

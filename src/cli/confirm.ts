/** Asks for confirmation before something that cannot be undone. */
import { createInterface } from "node:readline/promises";
import { Failure } from "./errors.ts";
import type { Input } from "./input.ts";

/** Throws unless the answer is yes. Without a terminal, as in scripts, nothing is asked. */
export async function confirm(input: Input, question: string): Promise<void> {
  if (input.isOn("yes") || !process.stdin.isTTY || !process.stderr.isTTY) return;
  // `terminal: false` keeps the line editing of the system, and Ctrl-C remains a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  lines.once("close", () => resolve(""));
  const answer = await Promise.race([lines.question(`${question} This cannot be undone. [y/N] `), ended]);
  lines.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("not_confirmed", "nothing was changed");
}

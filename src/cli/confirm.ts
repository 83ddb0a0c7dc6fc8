/** A question before something that cannot be undone. */
import { createInterface } from "node:readline/promises";
import { Failure } from "./errors.ts";
import type { Given } from "./given.ts";

/** Throws unless the answer is yes. Scripts have no terminal to be asked on: for them it goes on, as it always has. */
export async function confirm(given: Given, question: string): Promise<void> {
  if (given.on("yes") || !process.stdin.isTTY || !process.stderr.isTTY) return;
  // Not as a terminal of its own: the system's line editing is enough, and Ctrl-C stays a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  lines.once("close", () => resolve(""));
  const answer = await Promise.race([lines.question(`${question} It cannot be undone. [y/N] `), ended]);
  lines.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("not_confirmed", "nothing was changed");
}

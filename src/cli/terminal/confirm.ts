/** Asks for confirmation before something is deleted or ended for good. */
import { createInterface } from "node:readline/promises";
import { Failure, UsageError } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { escaped } from "./output.ts";

/**
 * `what` is an order, such as "delete the room standup". Throws unless --yes is given or the answer is yes: a script that has no
 * terminal must say what it wants, because a wrong name would otherwise destroy something without a question. `find` throws if there is
 * nothing of that name: a typo needs neither a question nor --yes.
 */
export async function confirm(input: Input, what: string, find?: () => Promise<unknown>): Promise<void> {
  if (input.isOn("yes")) return;
  await find?.();
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(
      `nothing was changed, because there is no terminal to ask for confirmation: add --yes to ${what}`,
    );
  // `terminal: false` keeps the line editing of the system, and Ctrl-C remains a signal.
  const lines = createInterface({ input: process.stdin, output: process.stderr, terminal: false });
  const { promise: ended, resolve } = Promise.withResolvers<string>();
  lines.once("close", () => resolve(""));
  const question = `${escaped(`${what[0]?.toUpperCase()}${what.slice(1)}`)}? This cannot be undone. [y/N] `;
  const answer = await Promise.race([lines.question(question), ended]);
  lines.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure("not_confirmed", "nothing was changed");
}

/** Asks for a secret, which is not shown while it is typed. */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { Failure, UsageError } from "../line/errors.ts";
import { escaped } from "./output.ts";

/** `instead` says how to give it without a terminal. Rejects after Ctrl-C, Ctrl-D and an empty line. */
export async function askSecret(question: string, instead: string): Promise<string> {
  if (!process.stdin.isTTY || !process.stderr.isTTY)
    throw new UsageError(`there is no terminal to ask for it: ${instead}`);
  // Line editing would show what is typed.
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  // Not before: what is typed at the question must not be shown.
  process.stderr.write(`${escaped(question)}: `);
  const { promise, resolve } = Promise.withResolvers<string>();
  lines.once("line", resolve);
  lines.once("SIGINT", () => resolve(""));
  lines.once("close", () => resolve(""));
  const answer = await promise;
  lines.close();
  process.stderr.write("\n");
  if (answer.trim() === "") throw new Failure("not_confirmed", "nothing was entered, and nothing was changed");
  return answer.trim();
}

/** Commands in messages, as the user can paste them. */
import { asCalled, asShellWord } from "../../config/program.ts";
import { commandAt } from "../declarations/all.ts";

/** Without these, a hint would lead to another service than the command that gave it. */
const REPEATED = ["url", "data", "context"] as const;

type Flags = ReadonlyMap<string, string>;

/** A command in double quotes gets the flags of this command line that lead to its service, if it takes them. */
export const asTyped = (text: string, flags: Flags): string =>
  asCalled(text.replaceAll(/"(parley [a-z][^"]*)"/g, (_, hint: string) => `"${hint}${missingFlags(hint, flags)}"`));

function missingFlags(hint: string, flags: Flags): string {
  const [, ...args] = hint.split(" ");
  const command = args[0] === "help" ? undefined : commandAt(args);
  return REPEATED.map((name) => {
    const value = flags.get(name);
    const isTaken = command?.flags.some((flag) => flag.name === name) && !args.includes(`--${name}`);
    return value === undefined || !isTaken ? "" : ` --${name} ${asShellWord(value)}`;
  }).join("");
}

/** `rooms create standup --record-room on`: a field of the API that is written as a flag. */
import type { Command } from "./command.ts";

const normalized = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, "");

/** How the field is given instead, with the value behind the unknown flag; undefined if it is not the name of a field. */
export function fieldHint(command: Command, flag: string, argv: readonly string[]): string | undefined {
  const taking = command.flags.find(({ fields }) => fields !== undefined);
  const name = taking?.fields?.find((field) => normalized(field) === normalized(flag));
  if (!taking || name === undefined) return undefined;
  const at = argv.findIndex((arg) => arg === flag || arg.startsWith(`${flag}=`));
  const [arg = "", next = ""] = argv.slice(at);
  const text = arg === flag ? next : arg.slice(flag.length + 1);
  const json = JSON.stringify({ [name]: fieldValue(text) }).replaceAll("'", `'\\''`);
  return `${name} is a field: --${taking.name} '${json}'`;
}

/** A switch without a value means on. */
function fieldValue(text: string): string | number | boolean {
  if (["", "on", "yes", "true"].includes(text) || text.startsWith("-")) return true;
  if (["off", "no", "false"].includes(text)) return false;
  return /^\d{1,15}$/.test(text) ? Number(text) : text;
}

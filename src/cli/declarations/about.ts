/** Commands about Parley itself. */
import type { Command } from "../line/command.ts";
import { JSON_OUT } from "../line/flags.ts";

export const ABOUT: readonly Command[] = [
  {
    name: "help",
    summary: "explain a command, with examples",
    operands: [{ name: "COMMAND", meaning: "such as: keys create", optional: true, many: true }],
    flags: [JSON_OUT],
    examples: ["parley help keys create"],
    load: async () => (await import("../help.ts")).help,
  },
  {
    name: "version",
    summary: "print the version",
    flags: [JSON_OUT],
    examples: ["parley version"],
    load: async () => (await import("../version.ts")).version,
  },
  {
    name: "licences",
    summary: "list what Parley consists of, with all licences",
    flags: [JSON_OUT],
    examples: ["parley licences", "parley licences --json | jq -r .licence"],
    load: async () => (await import("../commands/about/licences.ts")).licencesCommand,
  },
];

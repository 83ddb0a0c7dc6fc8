/** What a service keeps. */
import type { Command } from "../line/command.ts";
import { CONTROL } from "../line/flags.ts";

export const DATA: readonly Command[] = [
  {
    name: "data",
    summary: "show what data is stored: how much, for how long, where, and how to change that",
    flags: [{ name: "app", value: "APP", meaning: "only the data of this application, with its limits" }, ...CONTROL],
    details: `The numbers come from the running service, which counts at most every ten seconds. Those with "about" are estimates: a table of
a million rows is not counted. An operator with the role read sees the same. docs/data.md explains each line.`,
    examples: ["parley data", "parley data --app shop", "parley data --json"],
    load: async () => (await import("../commands/control/data.ts")).data,
  },
];

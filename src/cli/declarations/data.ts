/** What a service keeps. */
import type { Command } from "../line/command.ts";
import { CONTROL } from "../line/flags.ts";

export const DATA: readonly Command[] = [
  {
    name: "data",
    summary: "show what is kept: how much, how long, where, and how to change it",
    flags: [
      { name: "app", value: "APP", meaning: "only what is kept of this application, with its limits" },
      ...CONTROL,
    ],
    details: `It asks the running service, which counts at most every ten seconds. Numbers with "about" are estimates: a table of a million
rows is not counted. With an operator of the role read it shows the same. docs/data.md explains each line.`,
    examples: ["parley data", "parley data --app shop", "parley data --json"],
    load: async () => (await import("../commands/control/data.ts")).data,
  },
];

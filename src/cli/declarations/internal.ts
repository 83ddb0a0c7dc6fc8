/** Commands that are in no help: those that the service itself and shells run, in processes of their own, and other spellings. */
import type { Command } from "../line/command.ts";
import { JSON_OUT } from "../line/flags.ts";

export const INTERNAL: readonly Command[] = [
  {
    name: "mend",
    summary: "give a recording its duration and an index",
    operands: [
      { name: "INPUT", meaning: "a file as a browser recorded it" },
      { name: "OUTPUT", meaning: "the file to be written" },
    ],
    flags: [],
    examples: ["parley mend recorded.webm mended.webm"],
    load: async () => (await import("../commands/server/mend.ts")).mend,
  },
  {
    name: "make-backup",
    summary: "copy a running service's data, as instructed on standard input",
    flags: [],
    examples: ["parley make-backup"],
    load: async () => (await import("../commands/server/make-backup.ts")).makeBackupCommand,
  },
  {
    name: "send-webhooks",
    summary: "send webhook requests, as instructed on standard input",
    flags: [],
    examples: ["parley send-webhooks"],
    load: async () => (await import("../commands/server/send-webhooks.ts")).sendWebhooks,
  },
  {
    name: "complete",
    summary: "list what can follow in a command line, for the scripts of parley completion",
    operands: [{ name: "WORD", meaning: "all that has been typed behind --", optional: true, many: true }],
    flags: [],
    examples: ["parley complete -- keys "],
    load: async () => (await import("../commands/completion/complete.ts")).complete,
  },
  {
    name: "worker",
    summary: "one of the processes of a service",
    operands: [
      { name: "SLOT", meaning: "its number" },
      { name: "FOLDER", meaning: "where the sockets of its supervisor are" },
    ],
    flags: [],
    examples: ["parley worker 0 /tmp/parley-abcdef"],
    load: async () => (await import("../commands/server/worker.ts")).runWorker,
  },
  {
    name: "licenses",
    summary: "list Parley's components and their licences",
    flags: [JSON_OUT],
    examples: ["parley licenses"],
    load: async () => (await import("../commands/about/licences.ts")).licencesCommand,
  },
];

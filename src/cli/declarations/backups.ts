/** Backups that a service keeps itself, in the place of PARLEY_BACKUP_TO. */
import type { Command, Operand } from "../line/command.ts";
import { CONTROL, FORCE, forLists, YES } from "../line/flags.ts";

const BACKUP: Operand = { name: "NAME", meaning: 'the name of a backup, as "parley backups list" shows it' };

export const BACKUPS: readonly Command[] = [
  {
    name: "backups list",
    summary: "list the backups that a service keeps, newest first",
    flags: forLists(CONTROL),
    details: `Those in the place of PARLEY_BACKUP_TO, whether the schedule, the dashboard or "parley backup" has written them there.
It also says whether the last one succeeded, and when the next one is due.`,
    examples: ["parley backups list", "parley backups list --json"],
    load: async () => (await import("../commands/control/backups.ts")).list,
  },
  {
    name: "backups start",
    summary: "have a service make a backup now, to the place of PARLEY_BACKUP_TO",
    flags: CONTROL,
    details: `It does not wait for the end: "parley backups list" shows it. One is made at a time. To write a backup to a file or a place of
your own instead, use "parley backup".`,
    examples: ["parley backups start"],
    load: async () => (await import("../commands/control/backups.ts")).start,
  },
  {
    name: "backups download",
    summary: "download a backup that a service keeps",
    operands: [
      BACKUP,
      { name: "FILE", meaning: "the file or folder to write to; default: its name, in this folder", optional: true },
    ],
    flags: [FORCE, ...CONTROL],
    details: 'Only its owner can read the file. It is there only when it is whole. Restore it with "parley restore".',
    examples: ["parley backups download parley-20300131T020000Z.backup"],
    load: async () => (await import("../commands/control/backups.ts")).download,
  },
  {
    name: "backups delete",
    summary: "delete a backup that a service keeps",
    operands: [BACKUP],
    flags: [YES, ...CONTROL],
    details: "This cannot be undone. It asks for confirmation; without a terminal it needs --yes.",
    examples: ["parley backups delete parley-20300131T020000Z.backup --yes"],
    load: async () => (await import("../commands/control/backups.ts")).remove,
  },
];

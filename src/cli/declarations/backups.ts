/** Backups that a service keeps itself, in the place of PARLEY_BACKUP_TO. */
import type { Command, Operand } from "../line/command.ts";
import { CONTROL, FORCE, forLists, YES } from "../line/flags.ts";

const BACKUP: Operand = { name: "NAME", meaning: 'the name of a backup, as "parley backups list" shows it' };

export const BACKUPS: readonly Command[] = [
  {
    name: "backups list",
    summary: "list a service's backups, newest first",
    flags: forLists(CONTROL),
    details: `Lists every backup in PARLEY_BACKUP_TO, whether the schedule, the dashboard or "parley backup" wrote it.
Also shows whether the last backup succeeded and when the next one is due.`,
    examples: ["parley backups list", "parley backups list --json"],
    load: async () => (await import("../commands/control/backups.ts")).list,
  },
  {
    name: "backups start",
    summary: "start a backup to PARLEY_BACKUP_TO now",
    flags: CONTROL,
    details: `The command does not wait for the backup to finish: check "parley backups list". Only one backup runs at a time. To write a backup
somewhere else, use "parley backup".`,
    examples: ["parley backups start"],
    load: async () => (await import("../commands/control/backups.ts")).start,
  },
  {
    name: "backups download",
    summary: "download one of a service's backups",
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
    summary: "delete one of a service's backups",
    operands: [BACKUP],
    flags: [YES, ...CONTROL],
    details: "This cannot be undone. The command asks for confirmation; without a terminal it needs --yes.",
    examples: ["parley backups delete parley-20300131T020000Z.backup --yes"],
    load: async () => (await import("../commands/control/backups.ts")).remove,
  },
];

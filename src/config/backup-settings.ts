/** Settings of backups. */
import { MASTER_KEY_BYTES } from "../access/limits.ts";
import { anyText, base64Key, durationOf, integer, onOff } from "./reading.ts";
import { setting } from "./setting.ts";

const BACKUP_EVERY_MIN_SECONDS = 60;
const BACKUP_EVERY_MAX_SECONDS = 366 * 86_400;
const BACKUP_KEEP_MAX = 1000;

export const BACKUP_SETTINGS = {
  backupEvery: setting({
    env: "PARLEY_BACKUP_EVERY",
    initial: 0,
    shown: "no scheduled backups",
    meaning: "time between scheduled backups, in seconds or as 6h, 1d; needs PARLEY_BACKUP_TO",
    read: durationOf("s", BACKUP_EVERY_MIN_SECONDS, BACKUP_EVERY_MAX_SECONDS),
  }),
  backupTo: setting({
    env: "PARLEY_BACKUP_TO",
    initial: "",
    shown: "none",
    meaning:
      "where backups started by the schedule or the dashboard are written: a folder, or `s3://KEY:SECRET@bucket/prefix?endpoint=…&region=…`",
    read: anyText,
    secret: true,
  }),
  backupKeep: setting({
    env: "PARLEY_BACKUP_KEEP",
    initial: 14,
    meaning: "how many of these backups to keep; older ones are deleted",
    read: integer(1, BACKUP_KEEP_MAX),
  }),
  backupKey: setting({
    env: "PARLEY_BACKUP_KEY",
    initial: "",
    shown: "backups are not encrypted",
    meaning: `encrypts and decrypts backups: base64 of ${MASTER_KEY_BYTES} bytes`,
    read: base64Key,
    secret: true,
  }),
  backupRecordings: setting({
    env: "PARLEY_BACKUP_RECORDINGS",
    initial: true,
    shown: "on",
    meaning: "whether these backups contain recording files; off: only the list of recordings",
    read: onOff,
  }),
};

/** Files of the data folder, and objects of the bucket that recordings may be in. */
import { QUARANTINE_MS, UPLOAD_ABANDONED_MS } from "../../recordings/budgets/limits.ts";
import { CHECK_NAME, MARK_NAME } from "../../recordings/storage/storage.ts";
import { type DurableFile, type Limit, type Retention, WHILE_THE_SERVICE_EXISTS } from "./entry.ts";
import { timeText } from "./texts.ts";

const ONE_FILE: Limit = { fixed: "one file" };
const WHILE_IT_RUNS: Retention = {
  age: { fixed: "while the service runs; what a killed one leaves is removed by the next start" },
  amount: { fixed: "a few files per process" },
};
const OF_RUNNING = { leftBecause: "it describes processes, which are others after a restore" };
const TEMPORARY = { leftBecause: "it is temporary: what a crash leaves is removed" };
const LEFT = { restore: "left as it is", move: "stays" } as const;

const DATABASES: readonly DurableFile[] = [
  {
    paths: ["parley.sqlite", "parley.sqlite-wal", "parley.sqlite-shm", "parley.sqlite-journal"],
    subject: "tables",
    holds: "the embedded store",
    backup: "copied",
    restore: "replaced",
    move: "rows",
    retention: { age: WHILE_THE_SERVICE_EXISTS, amount: { fixed: "its tables; free pages are used again" } },
    deletion: "swept",
  },
  {
    paths: ["history.sqlite", "history.sqlite-wal", "history.sqlite-shm", "history.sqlite-journal"],
    subject: "tables",
    holds: "the embedded histories",
    backup: "copied",
    restore: "replaced",
    move: "converted",
    retention: { age: WHILE_THE_SERVICE_EXISTS, amount: { fixed: "its tables; free pages are used again" } },
    deletion: "swept",
  },
  {
    paths: ["history.sqlite.damaged-*"],
    subject: "copies",
    holds: "histories that could not be read any more, set aside",
    backup: { leftBecause: "it is damaged, and the service goes on without it" },
    ...LEFT,
    retention: {
      age: { grows: "until you delete it: you may want to have it examined" },
      amount: { grows: "a file for each time that one was damaged" },
    },
    deletion: { kept: "until you delete it", because: "it cannot be read, so nothing in it can be removed" },
  },
  {
    paths: ["backup-in-progress-*"],
    subject: "copies",
    holds: "copies of the two SQLite files while a backup is made",
    backup: { leftBecause: "they are what it is made of" },
    ...LEFT,
    retention: {
      age: { fixed: "until the backup is made; the next one removes what a killed process has left" },
      amount: { fixed: "a folder per backup that is being made" },
    },
    deletion: { kept: "as long as the backup is made", because: "a copy is not changed" },
  },
  {
    paths: ["before-restore/*"],
    subject: "copies",
    holds: "what the last restore has replaced",
    backup: { leftBecause: "it is a copy itself, of an earlier state" },
    ...LEFT,
    retention: {
      age: { fixed: "until the next restore replaces it, or you delete it" },
      amount: { fixed: "those of the last restore" },
    },
    deletion: { kept: "as long as the copy", because: "a copy is not changed" },
  },
  {
    paths: ["before-upgrade/*"],
    subject: "copies",
    holds: "copies of the store from before an upgrade",
    backup: { leftBecause: "they are copies themselves, of an earlier version" },
    ...LEFT,
    retention: {
      age: { fixed: "until a later upgrade replaces them, or you delete them" },
      amount: { fixed: "those of the last upgrades" },
    },
    deletion: { kept: "as long as the copy", because: "a copy is not changed" },
  },
];

const SECRETS: readonly DurableFile[] = [
  {
    paths: ["master.key"],
    subject: "secrets",
    holds: "the key that secrets are sealed with, unless PARLEY_MASTER_KEY is set",
    backup: "copied if asked",
    restore: "replaced if it was copied",
    move: "stays",
    retention: { age: WHILE_THE_SERVICE_EXISTS, amount: ONE_FILE },
    deletion: "none",
  },
  {
    paths: ["first-run.txt"],
    subject: "secrets",
    holds: "the keys of the demo and the admin token, in clear, as the first start made them",
    backup: { leftBecause: "it has keys in clear" },
    ...LEFT,
    retention: { age: { grows: "until you delete it: it is for you" }, amount: ONE_FILE },
    deletion: {
      kept: "until you delete it",
      because: "the admin token in it may still be in use",
    },
  },
  {
    paths: ["command-line/*.key", "command-line/*.secret"],
    subject: "secrets",
    holds: "keys and app secrets in clear that commands with --app made or fetched for themselves",
    backup: { leftBecause: "they are credentials in clear, and commands make or fetch them again" },
    ...LEFT,
    retention: {
      age: { fixed: "until they are replaced, or `parley apps delete` deletes their application" },
      amount: { fixed: "two files per application that commands have used" },
    },
    deletion: {
      kept: "until `parley apps delete` on this machine removes them, or you do",
      because: "the service does not know them; they are void from the deletion on",
    },
  },
];

const RECORDINGS: readonly DurableFile[] = [
  {
    paths: ["recordings/files/*/*/*"],
    subject: "recordings",
    holds: "the bytes of recordings",
    backup: "copied",
    restore: "replaced",
    move: "stays",
    retention: { age: { field: "retentionDays" }, amount: { field: "maxRecordingBytesTotal" } },
    deletion: "swept",
  },
  {
    paths: ["recordings/uploads/*"],
    subject: "uploads",
    holds: "the bytes of uploads that are not complete",
    backup: { leftBecause: "they are not complete; their pages and backends send on" },
    ...LEFT,
    retention: {
      age: { fixed: `as long as the upload; ${timeText(UPLOAD_ABANDONED_MS)} after the last byte at most` },
      amount: { field: "maxRecordingBytesTotal" },
    },
    deletion: "swept",
  },
  {
    paths: ["recordings/quarantine/*/*/*"],
    subject: "deleted recordings",
    holds: "files without a recording, set aside",
    backup: { leftBecause: "no recording in the store names them" },
    ...LEFT,
    retention: {
      age: { fixed: timeText(QUARANTINE_MS) },
      amount: { fixed: "what PARLEY_SWEEP_STRAYS allows to be set aside" },
    },
    deletion: {
      kept: `for ${timeText(QUARANTINE_MS)}`,
      because: "the store does not know whose they are: a restored backup may know them again",
    },
  },
  {
    paths: [`recordings/${MARK_NAME}`, `recordings/${MARK_NAME}.*`],
    subject: "notes",
    holds: "which store the recordings belong to",
    backup: "copied",
    restore: "replaced",
    move: "stays",
    retention: { age: WHILE_THE_SERVICE_EXISTS, amount: ONE_FILE },
    deletion: "none",
  },
  {
    paths: ["mending/*/*"],
    subject: "uploads",
    holds: "copies of recordings that are being mended",
    backup: TEMPORARY,
    ...LEFT,
    retention: {
      age: { fixed: "while they are mended; an hour after a crash" },
      amount: { fixed: "one recording at a time" },
    },
    deletion: "swept",
  },
];

const NOTES: readonly DurableFile[] = [
  {
    paths: ["servers/*.json"],
    subject: "notes",
    holds: "the address of each running server, for commands on its machine",
    backup: OF_RUNNING,
    ...LEFT,
    retention: { age: WHILE_IT_RUNS.age, amount: { fixed: "100 files" } },
    deletion: "none",
  },
  {
    paths: ["workers.json"],
    subject: "notes",
    holds: "where the sockets of several workers are, for `parley reload`",
    backup: OF_RUNNING,
    ...LEFT,
    retention: WHILE_IT_RUNS,
    deletion: "none",
  },
  {
    paths: ["parley-*/*", "parley-locks-*/*"],
    subject: "notes",
    holds: "sockets and locks of workers, where no folder for temporary files can be used",
    backup: OF_RUNNING,
    ...LEFT,
    retention: WHILE_IT_RUNS,
    deletion: "none",
  },
  {
    paths: ["*.partial", "servers/*.partial", "command-line/*.partial"],
    subject: "notes",
    holds: "files that are being written, before they get their name",
    backup: TEMPORARY,
    ...LEFT,
    retention: {
      age: { fixed: "while they are written; one that a kill leaves, until you delete it" },
      amount: ONE_FILE,
    },
    deletion: "none",
  },
];

/** Relative to the data folder. */
export const DATA_FILES: readonly DurableFile[] = [...DATABASES, ...SECRETS, ...RECORDINGS, ...NOTES];

/** With PARLEY_STORAGE_URL, instead of `recordings/`: relative to the prefix in the bucket. */
export const BUCKET_OBJECTS: readonly DurableFile[] = [
  {
    paths: ["recordings/*/*"],
    subject: "recordings",
    holds: "the bytes of recordings; an upload that is not complete is a multipart upload to this key",
    backup: "copied",
    restore: "replaced",
    move: "stays",
    retention: { age: { field: "retentionDays" }, amount: { field: "maxRecordingBytesTotal" } },
    deletion: "swept",
  },
  {
    paths: ["uploads/*/*/*"],
    subject: "uploads",
    holds: "pieces of uploads that are too small for a part",
    backup: { leftBecause: "they are not complete; their pages and backends send on" },
    ...LEFT,
    retention: {
      age: { fixed: `as long as the upload; ${timeText(UPLOAD_ABANDONED_MS)} after the last byte at most` },
      amount: { fixed: "less than a hundred per upload" },
    },
    deletion: "swept",
  },
  {
    paths: ["quarantine/*/*"],
    subject: "deleted recordings",
    holds: "empty objects: the recording of that name has no row, and is set aside",
    backup: { leftBecause: "no recording in the store names them" },
    ...LEFT,
    retention: {
      age: { fixed: timeText(QUARANTINE_MS) },
      amount: { fixed: "what PARLEY_SWEEP_STRAYS allows to be set aside" },
    },
    deletion: {
      kept: `for ${timeText(QUARANTINE_MS)}`,
      because: "the store does not know whose they are: a restored backup may know them again",
    },
  },
  {
    paths: [MARK_NAME],
    subject: "notes",
    holds: "which store the recordings belong to",
    backup: "copied",
    restore: "replaced",
    move: "stays",
    retention: { age: WHILE_THE_SERVICE_EXISTS, amount: ONE_FILE },
    deletion: "none",
  },
  {
    paths: [CHECK_NAME],
    subject: "notes",
    holds: "a multipart upload that is begun and ended to find out whether the bucket can be written to",
    backup: TEMPORARY,
    ...LEFT,
    retention: { age: { fixed: "while it is tried" }, amount: ONE_FILE },
    deletion: "none",
  },
];

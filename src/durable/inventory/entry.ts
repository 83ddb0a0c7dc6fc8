/** What the inventory says about each table and each file. */

/** How a table gets to another store. `rows`: as it is. `converted`: the embedded history and PostgreSQL lay messages out differently. */
export type Moved = "rows" | "converted" | { readonly leftBecause: string };

/** Whether backups include it. Tables are copied with the SQLite file that they are in, or with the database. */
export type BackedUp = "copied" | "copied if asked" | { readonly leftBecause: string };

/** What a restore does with what is there. `replaced`: by what the backup has. */
export type Restored = "replaced" | "replaced if it was copied" | { readonly emptiedBecause: string } | "left as it is";

/** Fields of an application that bound what is kept of it. */
export type AppField =
  | "channelRules"
  | "maxHistoryBytes"
  | "maxStreamBytes"
  | "meetingRetentionDays"
  | "retentionDays"
  | "maxRecordingBytesTotal";

export type Limit =
  /** By a constant of the code, as people read it. */
  | { readonly fixed: string }
  | { readonly field: AppField }
  /** By a setting of the service; `per` says of what it is the number. */
  | { readonly setting: string; readonly per: string }
  /** Nothing bounds it: how fast it grows, and why it is kept. */
  | { readonly grows: string };

export interface Retention {
  /** How long it is kept. */
  readonly age: Limit;
  /** How much is kept, in number or bytes. */
  readonly amount: Limit;
}

/**
 * What happens to it when its application is deleted. `at once`: it is gone when the call is answered. `swept`: a sweep that begins then removes it,
 * within an hour, or once the storage and the histories can be reached. `none`: it holds nothing of an application.
 */
export type Deletion = "at once" | "swept" | "none" | { readonly kept: string; readonly because: string };

/** A row of "What Parley keeps": subjects.ts. */
export type SubjectId =
  | "applications"
  | "keys"
  | "messages"
  | "streams"
  | "rooms"
  | "meetings"
  | "visitors"
  | "recordings"
  | "uploads"
  | "deleted recordings"
  | "usage"
  | "blocks"
  | "members"
  | "audit"
  | "operators"
  | "webhooks"
  | "secrets"
  | "notes"
  | "copies";

interface Durable {
  readonly holds: string;
  readonly backup: BackedUp;
  readonly restore: Restored;
  readonly retention: Retention;
  readonly deletion: Deletion;
}

export interface DurableTable extends Durable {
  readonly name: string;
  readonly subject: SubjectId;
  /** Which columns identify a row, in the order of the index. */
  readonly key: readonly string[];
  /** All other columns. */
  readonly columns: readonly string[];
  readonly move: Moved;
}

/** A file of the data folder, or an object of the bucket. A folder is listed by the files in it. */
export interface DurableFile extends Durable {
  /** `tables`: what it holds is listed table by table. */
  readonly subject: SubjectId | "tables";
  /** Patterns, relative to the data folder or to the prefix in the bucket. `*` is any name. */
  readonly paths: readonly string[];
  /** A move is of the store and the histories: all other files stay where they are. */
  readonly move: Moved | "stays";
}

export const WITH_ITS_DATABASE = { backup: "copied", restore: "replaced" } as const;
export const MADE_BY_MIGRATION = { leftBecause: "the migrations of the other store write it" };
export const OF_PROCESSES = { leftBecause: "it belongs to processes that are not running" };
export const WHILE_THE_SERVICE_EXISTS: Limit = { fixed: "as long as the service exists" };
export const AS_ITS_APPLICATION: Limit = { fixed: "as long as its application" };

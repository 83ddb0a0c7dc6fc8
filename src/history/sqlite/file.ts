/**
 * The file of the embedded history: `history.sqlite` in the data folder. It is apart from the store, because losing it costs messages
 * and never keys, and because its commits are not synced by default: written to the log by the kernel, they survive the end of this
 * process at any moment, but not a power cut.
 */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync, renameSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { UNHEARD, type UpgradeLog } from "../../store/before-upgrade.ts";
import { StoreError, StoreInUse } from "../../store/contract/store.ts";
import { prepareFile } from "../../store/engines/data-folder.ts";
import { beforeUpgrade } from "./upgrade.ts";

export type HistorySync = "process" | "disk";

export interface HistoryFileOptions {
  /** A path, or ":memory:". */
  readonly path: string;
  readonly sync: HistorySync;
  /** Gets a sentence for the log when a damaged file was set aside. */
  readonly setAside: (text: string) => void;
  /** Gets sentences for the log when the file has an earlier schema, which is changed then. */
  readonly log?: UpgradeLog | undefined;
}

export const historyFile = (dataFolder: string): string => join(dataFolder, "history.sqlite");

/** "PRLH": tells a history from a store, and from other SQLite files. */
export const HISTORY_APPLICATION_ID = 0x50524c48;
/** "PRLI": the file is a copy of another history that is not complete yet (durable/move). */
export const INCOMPLETE_APPLICATION_ID = 0x50524c49;
/** The schema version that this version of Parley uses. */
export const HISTORY_SCHEMA = 3;
/** A checkpoint copies this many pages of 4 KiB in the turn of the commit that reaches the number: about a millisecond. */
export const CHECKPOINT_PAGES = 256;
const CACHE_KIB = 16 * 1024;
const SIDE_FILES = ["-wal", "-shm"];
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB)/;

/**
 * `low` is the oldest offset that is stored, and `low_check` the check before it; `expires` is when the message at `low` is too old.
 * Ids of streams are never used again, so messages of a removed stream can be deleted later: `gone` names those streams.
 * `ids` is in the order of its rowid, which is nearly that of time.
 */
export const SCHEMA = `
CREATE TABLE streams (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  app TEXT NOT NULL,
  channel TEXT NOT NULL,
  epoch TEXT NOT NULL,
  top INTEGER NOT NULL,
  top_check TEXT NOT NULL,
  low INTEGER NOT NULL,
  low_check TEXT NOT NULL,
  last_time INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  keep_messages INTEGER NOT NULL,
  keep_ms INTEGER NOT NULL,
  expires INTEGER,
  changed INTEGER NOT NULL,
  used INTEGER NOT NULL,
  UNIQUE (app, channel)
);
CREATE INDEX streams_expires ON streams (expires) WHERE expires IS NOT NULL;
CREATE TABLE runs (
  stream INTEGER NOT NULL,
  last INTEGER NOT NULL,
  first INTEGER NOT NULL,
  time INTEGER NOT NULL,
  size INTEGER NOT NULL,
  batch TEXT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (stream, last)
) WITHOUT ROWID;
CREATE TABLE ids (
  seq INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  scope TEXT NOT NULL,
  mid TEXT NOT NULL,
  off INTEGER NOT NULL,
  batch TEXT NOT NULL,
  time INTEGER NOT NULL,
  UNIQUE (stream, scope, mid)
);
CREATE TABLE gone (stream INTEGER PRIMARY KEY);
`;

/** Ids outlive the removal of a history: the next stream of the channel has those of the one before, which was of another epoch. */
const IDS_OUTLIVE_REMOVAL = `
ALTER TABLE streams ADD COLUMN ids_of INTEGER;
ALTER TABLE ids ADD COLUMN epoch TEXT;
`;

/** Created streams, and who writes over HTTP. `ended`: names of streams that have ended lately; `writers`: the last batch of each process. */
const CREATED_STREAMS = `
CREATE TABLE created (
  stream INTEGER PRIMARY KEY,
  type TEXT NOT NULL,
  ttl_ms INTEGER,
  expires_at INTEGER,
  idle_ms INTEGER NOT NULL,
  made INTEGER NOT NULL,
  used INTEGER NOT NULL,
  ends INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  closed TEXT,
  seq TEXT,
  fork TEXT,
  source INTEGER,
  lineage TEXT NOT NULL,
  state TEXT NOT NULL
);
CREATE INDEX created_ends ON created (ends) WHERE state = 'ready';
CREATE INDEX created_copying ON created (made) WHERE state = 'copying';
CREATE INDEX created_changed ON created (changed);
CREATE INDEX created_source ON created (source) WHERE source IS NOT NULL;
CREATE TABLE producers (
  stream INTEGER NOT NULL,
  owner TEXT NOT NULL,
  pid TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  used INTEGER NOT NULL,
  PRIMARY KEY (stream, owner, pid)
) WITHOUT ROWID;
CREATE INDEX producers_used ON producers (used);
CREATE TABLE ended (
  app TEXT NOT NULL,
  channel TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (app, channel)
) WITHOUT ROWID;
CREATE INDEX ended_at ON ended (at);
CREATE TABLE writers (
  id TEXT PRIMARY KEY,
  batch TEXT NOT NULL,
  result TEXT NOT NULL,
  used INTEGER NOT NULL
) WITHOUT ROWID;
`;

/** Closes its statements with the database: SQLite keeps the file locked as long as one of them is open. */
function closeStatementsWith(db: Database): Database {
  const statements: { finalize(): void }[] = [];
  const prepare = db.prepare.bind(db);
  const close = db.close.bind(db);
  const recording: Database["prepare"] = (sql, parameters) => {
    const statement = prepare(sql, parameters);
    statements.push(statement);
    return statement as never;
  };
  return Object.assign(db, {
    prepare: recording,
    close: () => {
      for (const statement of statements.splice(0)) statement.finalize();
      close(true);
    },
  });
}

/** A damaged file is set aside and a new one begun: without history the service works, and the store is not affected. */
export function openHistoryFile(options: HistoryFileOptions): Database {
  try {
    return open(options);
  } catch (error) {
    if (!isDamage(error)) throw error;
    options.setAside(setAside(options.path, error));
    return open(options);
  }
}

export const isDamage = (error: unknown): error is SQLiteError =>
  error instanceof SQLiteError && DAMAGE.test(error.code ?? "");

/** Renames a damaged file; the text says what happened. The file must be closed. */
export function setAside(path: string, damage: Error): string {
  const target = `${path}.damaged-${new Date(systemClock.wallMs()).toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
  for (const side of ["", ...SIDE_FILES]) if (existsSync(path + side)) renameSync(path + side, target + side);
  return `${path} is not a readable database (${damage.message}): it is now ${target}, and a new history begins`;
}

function open({ path, sync, log = UNHEARD }: HistoryFileOptions): Database {
  if (path !== ":memory:") prepareFile(path);
  const db = closeStatementsWith(connect(path));
  try {
    // Locked, so that no second process works on this file.
    db.run("PRAGMA locking_mode = EXCLUSIVE");
    db.run("PRAGMA journal_mode = WAL");
    db.run(`PRAGMA synchronous = ${sync === "disk" ? "FULL" : "OFF"}`);
    db.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.run(`PRAGMA cache_size = -${CACHE_KIB}`);
    // Deleted messages are overwritten where that costs no further write.
    db.run("PRAGMA secure_delete = FAST");
    db.run("PRAGMA temp_store = MEMORY");
    migrate(db, path, log);
    return db;
  } catch (error) {
    db.close();
    if (isDamage(error) || error instanceof StoreError) throw error;
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY")) throw new StoreInUse(dirname(path));
    throw notOpened(path, error);
  }
}

function connect(path: string): Database {
  try {
    return new Database(path, { create: true, strict: true });
  } catch (error) {
    throw isDamage(error) ? error : notOpened(path, error);
  }
}

const notOpened = (path: string, error: unknown): StoreError =>
  new StoreError(`${path} cannot be opened: ${(error as Error).message}`);

function migrate(db: Database, path: string, log: UpgradeLog): void {
  const version = db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
  if (version > HISTORY_SCHEMA)
    throw new StoreError(
      `${path} was written by a newer Parley (its schema is ${version}, this version knows ${HISTORY_SCHEMA}): start that version, or move the file away to begin without history`,
    );
  const marked = db.query<{ application_id: number }, []>("PRAGMA application_id").get()?.application_id;
  if (marked === INCOMPLETE_APPLICATION_ID)
    throw new StoreError(
      `${path} is an incomplete copy of another history: finish it with the same "parley move" as before`,
    );
  const isUpgrade = version > 0 && version < HISTORY_SCHEMA;
  const done = isUpgrade ? beforeUpgrade(db, path, { from: version, to: HISTORY_SCHEMA }, log, isDamage) : undefined;
  db.transaction(() => {
    if (version < 1) db.run(SCHEMA);
    if (version < 2) db.run(IDS_OUTLIVE_REMOVAL);
    if (version < 3) db.run(CREATED_STREAMS);
    // Written at every start: that takes the lock on the file before anything else does.
    db.run(`PRAGMA application_id = ${HISTORY_APPLICATION_ID}`);
    db.run(`PRAGMA user_version = ${HISTORY_SCHEMA}`);
  }).exclusive();
  done?.();
  // A damaged page is better found now than by a publish; this reads the structure of the small tables only.
  for (const table of ["streams", "gone"]) db.query(`SELECT COUNT(*) FROM ${table}`).get();
}

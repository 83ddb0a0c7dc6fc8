/** The embedded stores in a data folder: parley.sqlite and history.sqlite. Both files stay locked, so no server can use them meanwhile. */
import { Database, SQLiteError } from "bun:sqlite";
import { existsSync } from "node:fs";
import { dirname } from "node:path";
import {
  HISTORY_APPLICATION_ID,
  HISTORY_SCHEMA,
  historyFile,
  INCOMPLETE_APPLICATION_ID,
  openHistoryFile,
} from "../../history/sqlite/file.ts";
import { StoreError, StoreInUse } from "../../store/contract/store.ts";
import { explainDamage } from "../../store/engines/damage.ts";
import { schemaVersion } from "../../store/migrate.ts";
import { INCOMPLETE_NOTE, type IncompleteNote, MOVE_NOTES } from "../../store/moves.ts";
import { openMigrated, sqliteFile } from "../../store/open.ts";
import { putNote, type Role, removeNotes, type Side } from "./side.ts";
import { SqliteTables } from "./sqlite-tables.ts";

const REMEDY = "stop it first";
/** Pages of 4 KiB. Larger than while a server runs, because no one waits for a checkpoint. */
const CHECKPOINT_PAGES = 4096;
const CACHE_KIB = 32 * 1024;

export class EmbeddedSide implements Side {
  readonly engine = "sqlite";
  readonly place: string;

  private constructor(
    private readonly data: string,
    private storeFile: Database,
    private readonly historyFile: Database,
  ) {
    this.place = `the store in ${data}`;
  }

  static async open(data: string, role: Role): Promise<EmbeddedSide> {
    const path = sqliteFile(data);
    if (!existsSync(path)) {
      if (role === "source") throw new StoreError(`${data} has no store; pass the data folder with --data`);
      await (await openMigrated(data, "")).close();
    }
    const store = lockFile(path);
    try {
      return new EmbeddedSide(data, store, openHistory(data, role));
    } catch (error) {
      store.close();
      throw error;
    }
  }

  get store(): SqliteTables {
    return new SqliteTables(this.storeFile);
  }

  get history(): SqliteTables {
    return new SqliteTables(this.historyFile);
  }

  get schema(): number {
    return storeSchema(this.storeFile);
  }

  async upgrade(): Promise<void> {
    if (this.schema === schemaVersion()) return;
    // Its own connection migrates it. If another process takes the file in between, that is reported.
    this.storeFile.close();
    await (await openMigrated(this.data, "")).close();
    this.storeFile = lockFile(sqliteFile(this.data));
  }

  /** One process reads and writes. */
  async lookAnew(): Promise<void> {}

  async mark(note: IncompleteNote): Promise<void> {
    // First the store: a server opens it before the history.
    await putNote(this, INCOMPLETE_NOTE, JSON.stringify(note));
    this.historyFile.run(`PRAGMA application_id = ${INCOMPLETE_APPLICATION_ID}`);
  }

  async settle(): Promise<void> {
    for (const db of [this.storeFile, this.historyFile]) {
      db.run("PRAGMA synchronous = FULL");
      db.run("PRAGMA wal_checkpoint(TRUNCATE)");
    }
  }

  async unmark(): Promise<void> {
    this.historyFile.run(`PRAGMA application_id = ${HISTORY_APPLICATION_ID}`);
    await removeNotes(this, MOVE_NOTES);
  }

  /** Both files are locked. */
  async refuseUsers(): Promise<void> {}

  async close(): Promise<void> {
    this.storeFile.close();
    this.historyFile.close();
  }
}

/** Schema 0: the file was just made. */
function storeSchema(db: Database): number {
  using tables = db.prepare<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE name = 'migrations'");
  if (!tables.get()) return 0;
  using newest = db.prepare<{ version: number | null }, []>("SELECT MAX(version) AS version FROM migrations");
  return newest.get()?.version ?? 0;
}

function openHistory(data: string, role: Role): Database {
  const path = historyFile(data);
  // A store without a history, which the source must not get by this.
  if (!existsSync(path) && role === "source")
    return openHistoryFile({ path: ":memory:", sync: "process", setAside: refuse });
  const db = existsSync(path) ? lockFile(path) : undefined;
  if (db && pragma(db, "user_version") === HISTORY_SCHEMA) return db;
  // The store has a mark too.
  if (db && isMarked(db)) db.run(`PRAGMA application_id = ${HISTORY_APPLICATION_ID}`);
  db?.close();
  openHistoryFile({ path, sync: "process", setAside: refuse }).close();
  return lockFile(path);
}

const isMarked = (db: Database): boolean => pragma(db, "application_id") === INCOMPLETE_APPLICATION_ID;

/** A server begins a new history then; a move must not. */
function refuse(text: string): never {
  throw new StoreError(text);
}

function pragma(db: Database, name: string): number {
  using statement = db.prepare<Record<string, number>, []>(`PRAGMA ${name}`);
  return statement.get()?.[name] ?? 0;
}

function lockFile(path: string): Database {
  let db: Database | undefined;
  try {
    db = new Database(path, { readwrite: true, create: false, strict: true });
    db.run("PRAGMA locking_mode = EXCLUSIVE");
    db.run("PRAGMA journal_mode = WAL");
    db.run("BEGIN EXCLUSIVE");
    db.run("COMMIT");
    // A kill loses nothing of what was written; `settle` syncs the rest.
    db.run("PRAGMA synchronous = NORMAL");
    db.run(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.run(`PRAGMA cache_size = -${CACHE_KIB}`);
    db.run("PRAGMA foreign_keys = ON");
    // Replaced rows may hold secrets.
    db.run("PRAGMA secure_delete = ON");
    return db;
  } catch (error) {
    db?.close();
    const explanation = explainDamage(error, path);
    if (explanation instanceof StoreError) throw explanation;
    if (error instanceof SQLiteError && error.code?.startsWith("SQLITE_BUSY"))
      throw new StoreInUse(dirname(path), REMEDY);
    throw new StoreError(`${path} cannot be opened: ${(error as Error).message}`);
  }
}

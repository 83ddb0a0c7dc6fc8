/**
 * Backup and restore of the embedded store. Both need the store while no other process has it open. Neither leaves a partial file under a final
 * name: files are written under a temporary name, synced, then renamed.
 */
import { Database } from "bun:sqlite";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import type { AppId } from "../base/ids.ts";
import { StoreError, StoreInUse, WrongTarget } from "./contract/store.ts";
import { CopyBusy, CopyInterrupted, copyStore, type Watch } from "./copy-store.ts";
import { schemaVersion } from "./migrate.ts";
import { APPLICATION_ID, openSqlite, sqliteFile } from "./open.ts";

const MAGIC = Buffer.from("SQLite format 3\0");
/** Offset of the number that `PRAGMA application_id` sets. */
const APPLICATION_ID_AT = 68;
const HEADER_BYTES = 100;
const COPY_BYTES = 1 << 20;
/** Files that SQLite keeps beside a database; a new database of the same name must not find old ones. */
const SIDE_FILES = ["-wal", "-shm", "-journal"];

/** What a command does while it is copied. `total` is about how many bytes there will be. */
export interface BackupWatch {
  readonly progress?: (bytes: number, total: number) => void;
  readonly signal?: AbortSignal;
}

/** Throws a CopyInterrupted if the signal came first; nothing is left then. */
export async function backupStore(
  dataFolder: string,
  file: string,
  force: boolean,
  { progress, signal }: BackupWatch = {},
): Promise<{ bytes: number }> {
  const store = sqliteFile(dataFolder);
  if (!existsSync(store)) throw new StoreError(`there is no store in ${dataFolder}; name the data folder with --data`);
  refuseTarget(file, store, force);
  const total = await bytesOf(store);
  return writeThenRename(file, async (temporary) => {
    const watch = { progress: (bytes: number) => progress?.(bytes, total), ...(signal && { signal }) };
    await copyTo(temporary, store, watch);
    // A damaged backup must be noticed now, not when it is needed.
    using copy = new Database(temporary, { readwrite: true, create: false });
    checkIntegrity(copy, store);
    return { bytes: statSync(temporary).size };
  });
}

/** How long a copy will be, which has no free pages. It does not migrate: a backup made before an upgrade must stay readable for the earlier version. */
async function bytesOf(store: string): Promise<number> {
  const sql = await openSqlite(store);
  try {
    const number = async (pragma: string): Promise<number> => {
      const [row] = await sql.unsafe<Record<string, number>[]>(`PRAGMA ${pragma}`);
      return Object.values(row ?? {})[0] ?? 0;
    };
    return ((await number("page_count")) - (await number("freelist_count"))) * (await number("page_size"));
  } finally {
    await sql.close();
  }
}

async function copyTo(temporary: string, store: string, watch: Watch): Promise<void> {
  try {
    await copyStore(store, temporary, watch);
  } catch (error) {
    if (error instanceof CopyInterrupted) throw error;
    // A server that has been started at this moment.
    if (error instanceof CopyBusy) throw new StoreInUse(dirname(store), "stop it first");
    throw new StoreError(`the store could not be copied to ${temporary}: ${(error as Error).message}`);
  }
}

function refuseTarget(file: string, store: string, force: boolean): void {
  const present = statSync(file, { throwIfNoEntry: false });
  if (isSame(file, store)) throw new WrongTarget(`${file} is the store itself; name another file`);
  if (present?.isDirectory()) throw new WrongTarget(`${file} is a folder; name a file in it`);
  if (present && !force) throw new WrongTarget(`${file} exists already; name another file, or replace it with --force`);
  if (!existsSync(dirname(resolve(file)))) throw new WrongTarget(`the folder of ${file} does not exist; make it first`);
}

/** Whether two paths lead to the same file. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((path) => statSync(path, { throwIfNoEntry: false }));
  return a !== undefined && b !== undefined && a.dev === b.dev && a.ino === b.ino;
}

export interface Restored {
  /** The schema version of the backup; the next start migrates it. */
  readonly schema: number;
  /** A sealed secret, to check the master key with. undefined: there is none. */
  readonly sealed: { readonly app: AppId; readonly secret: string } | undefined;
}

export async function restoreStore(dataFolder: string, file: string, force: boolean): Promise<Restored> {
  const store = sqliteFile(dataFolder);
  checkBackup(file);
  if (isSame(file, store)) throw new StoreError(`${file} is the store itself; there is nothing to restore`);
  if (existsSync(store) && !force)
    throw new StoreError(
      `${dataFolder} holds a store already; replace it with --force, or name another folder with --data`,
    );
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  // The copy is checked, not the backup: checking may write files beside it.
  let old: Database | undefined;
  try {
    return await writeThenRename(store, async (temporary) => {
      copyInto(temporary, file);
      const restored = inspect(temporary, file);
      old = existsSync(store) ? lock(store) : undefined;
      for (const side of SIDE_FILES) rmSync(store + side, { force: true });
      return restored;
    });
  } finally {
    // The old store stays locked until the new file has its name, so that a server that starts meanwhile uses one of the two.
    old?.close();
  }
}

/** A cheap check that does not open the file as a database. */
export function checkBackup(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (!stats) throw new StoreError(`there is no file ${file}`);
  if (!stats.isFile()) throw new StoreError(`${file} is not a file`);
  const header = Buffer.alloc(HEADER_BYTES);
  const handle = openSync(file, "r");
  readSync(handle, header, 0, HEADER_BYTES, 0);
  closeSync(handle);
  if (!header.subarray(0, MAGIC.length).equals(MAGIC) || header.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID)
    throw new StoreError(`${file} is not a backup of Parley; nothing was changed`);
  // A store that was copied by hand: its latest changes are in the -wal file, and would be lost without notice.
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw new StoreError(
      `beside ${file} lies ${file}-wal, so it is a store and not a backup: make one of it with "parley backup"; nothing was changed`,
    );
}

function inspect(copy: string, file: string): Restored {
  try {
    using db = new Database(copy, { readwrite: true, create: false });
    checkIntegrity(db, file);
    // Leaves WAL mode, so that closing leaves one file.
    db.run("PRAGMA journal_mode = DELETE");
    const row = db.query<{ version: number | null }, []>("SELECT MAX(version) AS version FROM migrations").get();
    const schema = row?.version ?? 0;
    if (schema > schemaVersion())
      throw new StoreError(
        `${file} was made by a newer Parley (its schema is ${schema}, this version knows ${schemaVersion()}); nothing was changed`,
      );
    return { schema, sealed: schema === 0 ? undefined : sealedSecret(db) };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`${file} is damaged: ${(error as Error).message}; nothing was changed`);
  }
}

const sealedSecret = (db: Database): Restored["sealed"] =>
  db
    .query<{ app: AppId; secret: string }, []>(
      "SELECT id AS app, secret_sealed AS secret FROM apps WHERE deleted IS NULL ORDER BY id DESC LIMIT 1",
    )
    .get() ?? undefined;

function checkIntegrity(db: Database, file: string): void {
  const flaw = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()?.integrity_check;
  if (flaw !== "ok") throw new StoreError(`${file} is damaged: ${flaw ?? "it cannot be checked"}`);
}

/** undefined: the store is too damaged to be locked, so no server can use it either. That may be why it is replaced. */
function lock(store: string): Database | undefined {
  let db: Database | undefined;
  try {
    db = new Database(store, { readwrite: true, create: false });
    db.run("PRAGMA locking_mode = EXCLUSIVE");
    // Leaves WAL mode: closing a store in WAL mode deletes the log by name, and by then that is the new store's log.
    db.run("PRAGMA journal_mode = DELETE");
    db.run("BEGIN EXCLUSIVE");
    db.run("COMMIT");
    return db;
  } catch (error) {
    db?.close();
    if (String((error as { code?: string }).code).startsWith("SQLITE_BUSY"))
      throw new StoreInUse(dirname(store), "stop it first");
    return undefined;
  }
}

/** `fill` gets an empty temporary file that only its owner can read; afterwards it is renamed to `file`. */
async function writeThenRename<T>(file: string, fill: (temporary: string) => Promise<T>): Promise<T> {
  const temporary = `${file}.${randomBytes(4).toString("hex")}.partial`;
  closeSync(openSync(temporary, "wx", 0o600));
  try {
    const result = await fill(temporary);
    sync(temporary);
    renameSync(temporary, file);
    sync(dirname(resolve(file)));
    return result;
  } catch (error) {
    for (const side of ["", ...SIDE_FILES]) rmSync(temporary + side, { force: true });
    throw error;
  }
}

function copyInto(target: string, source: string): void {
  const from = openSync(source, "r");
  const to = openSync(target, "r+");
  try {
    const chunk = Buffer.alloc(COPY_BYTES);
    for (let read = readSync(from, chunk); read > 0; read = readSync(from, chunk)) writeSync(to, chunk, 0, read);
  } finally {
    closeSync(from);
    closeSync(to);
  }
}

function sync(path: string): void {
  const handle = openSync(path, "r");
  fsyncSync(handle);
  closeSync(handle);
}

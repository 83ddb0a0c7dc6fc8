/**
 * Replaces what a stopped service keeps with a backup. In this order: the whole backup is read and checked, with the key that its secrets need;
 * the caller is asked; recordings are written beside those that exist; the stores are replaced, in one step that a kill cannot leave half done
 * (store/pending-restore.ts).
 */
import { chmodSync, copyFileSync, existsSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { lockFile } from "../../base/file-lock.ts";
import { giveToOwner } from "../../base/give-to-owner.ts";
import type { Storage } from "../../recordings/storage/storage.ts";
import { StoreError, StoreInUse } from "../../store/contract/store.ts";
import { applyRestore, finishRestore, RESTORE_FOLDER } from "../../store/pending-restore.ts";
import { HISTORY_ENTRY, MASTER_KEY_ENTRY, type Manifest, STORE_ENTRY } from "../backup/manifest.ts";
import { checkHistory } from "./checked-history.ts";
import { type CheckedStore, checkStore } from "./checked-store.ts";
import { type Extracted, extract } from "./extract.ts";
import { lockPresent, refusePresentInUse } from "./lock-present.ts";
import { claimIfEmpty, type RestoredRecordings, restoreRecordings } from "./recordings.ts";
import { explainedStorage, requireRoom } from "./room.ts";
import { type BackupSource, isStoreFile } from "./source.ts";

export interface RestoreParts {
  readonly dataFolder: string;
  readonly key: Buffer | undefined;
  /** What must stay free on the disk of the data folder. */
  readonly minFreeBytes: number;
  /** Opened when it is needed. */
  readonly storage: () => Storage;
  /** Called with what is in the backup, as soon as that is known and before anything else is read; throws if it is not to be restored. */
  readonly checked: (store: CheckedStore, masterKeyFile: string | undefined) => void;
  /** Called when the whole backup was checked: may ask, and throws to end it. Nothing was changed by then. */
  readonly confirmed: (found: Extracted) => Promise<void>;
  /** Changes the restored store before it is used; `folder` is its data folder. */
  readonly prepared: (folder: string, schema: number) => Promise<void>;
  readonly progress: (doing: "checking" | "writing recordings", bytes: number, total: number) => void;
  readonly signal: AbortSignal;
}

export interface Restored {
  readonly manifest: Manifest | undefined;
  readonly store: CheckedStore | undefined;
  readonly recordings: RestoredRecordings;
  readonly names: readonly string[];
}

/** Two restores would use the same folder. */
const RUNNING_LOCK = "restore-running";

const NO_RECORDINGS: RestoredRecordings = { written: 0, left: 0 };

/** `source`: a backup of this version. */
export async function restoreBackup(source: BackupSource, parts: RestoreParts): Promise<Restored> {
  return within(parts, async (folder) => {
    let store: CheckedStore | undefined;
    const found = await extract(source, {
      ...parts,
      folder,
      storeArrived: (path) => {
        store = checkStore(path, source.name);
        const key = join(folder, MASTER_KEY_ENTRY);
        parts.checked(store, existsSync(key) ? key : undefined);
      },
      progress: (bytes, total) => parts.progress("checking", bytes, total),
    });
    if (found.names.includes(HISTORY_ENTRY)) checkHistory(join(folder, HISTORY_ENTRY), source.name);
    await parts.confirmed(found);
    const recordings = await writeRecordings(source, found, store, parts).catch((error: unknown) => {
      throw explainedStorage(error);
    });
    await replace(folder, store, parts);
    return { manifest: found.manifest, store, recordings, names: found.names };
  });
}

/** `file`: that of a store (source.ts). Messages and recordings stay as they are. */
export async function restoreStoreFile(file: string, parts: RestoreParts): Promise<Restored> {
  refuseOpenStore(file, parts.dataFolder);
  return within(parts, async (folder) => {
    requireRoom(folder, file, statSync(file).size, parts.minFreeBytes);
    copyFileSync(file, join(folder, STORE_ENTRY));
    chmodSync(join(folder, STORE_ENTRY), 0o600);
    const store = checkStore(join(folder, STORE_ENTRY), file);
    parts.checked(store, undefined);
    await parts.confirmed({ manifest: undefined as never, isSealed: false, names: [STORE_ENTRY], files: 0 });
    await replace(folder, store, parts);
    return { manifest: undefined, store, recordings: NO_RECORDINGS, names: [STORE_ENTRY] };
  });
}

export { isStoreFile };

async function within<T>({ dataFolder }: RestoreParts, work: (folder: string) => Promise<T>): Promise<T> {
  mkdirSync(dataFolder, { recursive: true, mode: 0o700 });
  try {
    return await alone(dataFolder, work);
  } finally {
    // When nothing is locked any more: what was replaced, and recordings.
    giveToOwner(dataFolder);
  }
}

async function alone<T>(dataFolder: string, work: (folder: string) => Promise<T>): Promise<T> {
  const running = lockFile(join(dataFolder, RUNNING_LOCK));
  if (!running) throw new StoreInUse(dataFolder, "another restore is running; wait for it to finish");
  using _ = { [Symbol.dispose]: () => running.release() };
  finishRestore(dataFolder);
  // A running server is better named before gigabytes were read.
  refusePresentInUse(dataFolder);
  const folder = join(dataFolder, RESTORE_FOLDER);
  // What a killed restore has left.
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { mode: 0o700 });
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function writeRecordings(
  source: BackupSource,
  found: Extracted,
  store: CheckedStore | undefined,
  parts: RestoreParts,
): Promise<RestoredRecordings> {
  if (found.manifest.recordings !== "copied") return NO_RECORDINGS;
  const storage = parts.storage();
  if (found.files === 0 && store?.storeId === undefined) return NO_RECORDINGS;
  const written =
    found.files === 0
      ? NO_RECORDINGS
      : await restoreRecordings(source, parts.key, storage, {
          progress: (bytes, total) => parts.progress("writing recordings", bytes, total),
          signal: parts.signal,
        });
  if (store?.storeId !== undefined) await claimIfEmpty(storage, store.storeId);
  return written;
}

async function replace(folder: string, store: CheckedStore | undefined, parts: RestoreParts): Promise<void> {
  if (!store) return;
  await parts.prepared(folder, store.schema);
  // Before it is used: the next start may have to finish the restore.
  giveToOwner(parts.dataFolder, folder);
  // Until the new files have their names, no server can be started on the old ones.
  using _lock = lockPresent(parts.dataFolder);
  applyRestore(parts.dataFolder);
}

/** A store that was copied by hand: its latest changes are in the -wal file, and would be lost without notice. */
function refuseOpenStore(file: string, dataFolder: string): void {
  const present = statSync(join(dataFolder, STORE_ENTRY), { throwIfNoEntry: false });
  const given = statSync(file);
  if (present && present.dev === given.dev && present.ino === given.ino)
    throw new StoreError(`${file} is the store itself; there is nothing to restore`);
  if ((statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0) > 0)
    throw new StoreError(
      `${file}-wal is next to ${file}, so this is a store, not a backup: back it up with "parley backup"; nothing was changed`,
    );
}

/** Writes the recordings of a backup to the storage. Each replaces a file of its name at once, as a whole; others stay. */
import { asAppId } from "../../base/ids.ts";
import { Folder } from "../../recordings/storage/folder/folder.ts";
import { markNew } from "../../recordings/storage/ownership.ts";
import type { Place, Storage, WriterLease } from "../../recordings/storage/storage.ts";
import { type ReadEntry, readArchive } from "../archive/read.ts";
import { type FileEntry, manifestIn, parseEntryName } from "../backup/manifest.ts";
import type { BackupSource } from "./source.ts";

export interface RestoredRecordings {
  readonly written: number;
  /** Open uploads that cannot be continued in a bucket: their clients begin again. */
  readonly left: number;
}

/** No service is running: there is no other writer. */
const ALONE: WriterLease = { generation: 0, confirm: async () => undefined };

export async function restoreRecordings(
  source: BackupSource,
  key: Buffer | undefined,
  storage: Storage,
  watch: { readonly progress: (bytes: number, total: number) => void; readonly signal: AbortSignal },
): Promise<RestoredRecordings> {
  const archive = await readArchive(source.read(), { key });
  const { bytes: total } = manifestIn(archive);
  let [bytes, written, left] = [0, 0, 0];
  for await (const entry of archive.entries) {
    watch.signal.throwIfAborted();
    const file = parseEntryName(entry.name);
    if (file && (await restoreOne(storage, file, entry))) written++;
    else if (file) left++;
    bytes += entry.size;
    watch.progress(bytes, total);
  }
  return { written, left };
}

async function restoreOne(storage: Storage, file: FileEntry, entry: ReadEntry): Promise<boolean> {
  const app = asAppId(file.app);
  const isUpload = file.kind === "upload";
  if (isUpload && !(storage instanceof Folder)) return false;
  const locator = isUpload ? file.locator : await storage.begin(app, file.id);
  const place: Place = { app, id: file.id, locator };
  try {
    await storage.append(place, 0, entry.bytes, ALONE);
    if (!isUpload) await storage.finish(place, entry.size);
  } catch (error) {
    // What is left of it would take space that may be short.
    await storage.discard(place).catch(() => undefined);
    throw error;
  }
  return true;
}

/** A new and empty storage is that of the restored store, which would take it for a volume that is not mounted. */
export async function claimIfEmpty(storage: Storage, storeId: string): Promise<void> {
  if ((await storage.readMark()) !== undefined) return;
  for await (const _ of storage.contents()) return;
  await markNew(storage, storeId);
}

/** Whether the disk has room for what a restore writes. */
import { statfsSync } from "node:fs";
import { humanBytes } from "../../base/human-bytes.ts";
import { StorageFull, StorageUnavailable } from "../../recordings/storage/storage.ts";
import { StoreError } from "../../store/contract/store.ts";

/** Throws a StoreError unless the disk of the folder has `minFreeBytes` left afterwards. */
export function requireRoom(folder: string, what: string, bytes: number, minFreeBytes: number): void {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  if (free >= bytes + minFreeBytes) return;
  throw new StoreError(
    `the disk of ${folder} has too little space: ${what} needs ${humanBytes(bytes)}, ${humanBytes(free)} are free, and ${humanBytes(minFreeBytes)} must stay free (PARLEY_MIN_FREE_DISK_BYTES). Nothing was changed. Free some space, or choose another data folder with --data`,
  );
}

/** What the storage of recordings reports, as operators need it; any other error as it is. */
export function explainedStorage(error: unknown): unknown {
  const stays =
    "The store is unchanged; recordings that were already written stay, and the next restore writes them again";
  if (error instanceof StorageFull)
    return new StoreError(
      `the storage of recordings is full (${error.message}; PARLEY_MIN_FREE_DISK_BYTES must stay free): free some space, then repeat the restore. ${stays}`,
      { cause: error },
    );
  if (error instanceof StorageUnavailable)
    return new StoreError(
      `the storage of recordings is unavailable (${error.message}): repeat the restore once it is back. ${stays}`,
      { cause: error },
    );
  return error;
}

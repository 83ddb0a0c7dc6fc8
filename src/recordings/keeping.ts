/** What goes wrong in keeping bytes and rows, as the client is told it: the cause stays in the log. */
import { Problem } from "../protocol/codes.ts";
import { isStoreFull } from "../store/rows.ts";
import type { Log } from "../telemetry/log.ts";
import { StorageFull, StorageUnavailable } from "./storage.ts";

export async function keeping<T>(log: Pick<Log, "error">, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // The store shares the disk with a folder of recordings.
    if (error instanceof StorageFull || isStoreFull(error)) throw new Problem("insufficient_storage");
    if (!(error instanceof StorageUnavailable)) throw error;
    log.error({ err: error }, "the storage of recordings does not do what it was asked");
    throw new Problem("internal_error");
  }
}

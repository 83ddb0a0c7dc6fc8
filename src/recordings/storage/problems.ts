/** Maps failures of the storage and the store to the answer that a client gets. Their causes go to the log only. */
import { Problem } from "../../protocol/codes.ts";
import { isStoreFull } from "../../store/engines/rows.ts";
import type { Log } from "../../telemetry/log.ts";
import { StorageFull, StorageUnavailable } from "./storage.ts";

export async function withStorageProblems<T>(log: Pick<Log, "error">, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // The embedded store is on the same disk as a folder of recordings.
    if (error instanceof StorageFull || isStoreFull(error)) throw new Problem("insufficient_storage");
    if (!(error instanceof StorageUnavailable)) throw error;
    log.error({ err: error }, "the storage of recordings does not do what it was asked");
    throw new Problem("internal_error");
  }
}

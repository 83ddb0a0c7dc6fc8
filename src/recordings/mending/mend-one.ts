/** Mends the file of one finished upload and makes a recording of it, which is listed from then on. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { newObjectId } from "../../access/keys/ids.ts";
import type { AppId } from "../../base/ids.ts";
import type { Lease } from "../../store/contract/leases.ts";
import type { RecordingFormat, RecordingStore, UploadRow } from "../../store/contract/recordings.ts";
import type { Log } from "../../telemetry/log.ts";
import type { RecordingMetrics } from "../budgets/metrics.ts";
import { extensionOf, formatOf, SIGNATURE_BYTES } from "../files/signature.ts";
import type { Ownership } from "../storage/ownership.ts";
import { type Place, type Storage, StorageFull } from "../storage/storage.ts";
import { notOpen } from "../uploads/locks.ts";
import { download, type MendingFolder, piecesOf } from "./folder.ts";
import { MEND_LIMITS, MEND_TRIES_MAX } from "./limits.ts";
import type { Mended, Mender } from "./mender.ts";
import type { RecentMendings } from "./recent-mendings.ts";

export interface MendOneParts {
  readonly store: Pick<RecordingStore, "noteMending" | "complete">;
  readonly storage: Storage;
  readonly mender: Mender;
  readonly folder: MendingFolder;
  readonly ownership: Pick<Ownership, "requirePresent">;
  /** Removes the files that are not used any more. */
  readonly removeUnused: () => Promise<unknown>;
  readonly metrics: RecordingMetrics;
  readonly recent: RecentMendings;
  readonly log: Pick<Log, "warn" | "error">;
  readonly nowMs: () => number;
  /** No other process uses the folder. */
  readonly isAlone: boolean;
}

/** The file under `file` is whole. */
type Result =
  | Exclude<Mended, { outcome: "mended" }>
  | (Extract<Mended, { outcome: "mended" }> & { readonly file: string });

export class MendOne {
  private hasCleared = false;

  constructor(private readonly parts: MendOneParts) {}

  stop(): Promise<void> {
    return this.parts.mender.stop();
  }

  /** Only while this process mends nothing. */
  async removeLeftovers(): Promise<void> {
    await this.parts.folder.removeLeftovers(this.parts.isAlone && !this.hasCleared);
    this.hasCleared = true;
  }

  /** `unmended`: why it is not even tried. Throws if the storage or the store fails, if the upload is gone, or if mending was stopped. */
  async mendAndAdd(row: UploadRow, lease: Lease, unmended?: string): Promise<void> {
    const { storage, ownership, metrics, recent, log } = this.parts;
    await ownership.requirePresent();
    const format = formatOf(await storage.head({ ...row, locator: "" }, SIGNATURE_BYTES));
    const result = unmended === undefined ? await this.result(row, lease, format) : asItCame(unmended);
    await this.complete(row, lease, format, result);
    if (result.outcome === "mended") {
      metrics.mended.inc();
      recent.mended();
    } else {
      metrics.listedAsItCame.inc();
      // No mender could do anything with another format or with such a file, and of what was not tried nothing is known.
      if (format !== "other" && unmended === undefined && !result.isOfFile) recent.failed();
      log.warn({ recording: row.id }, `a recording could not be mended and is listed unchanged: ${result.why}`);
    }
    await this.parts
      .removeUnused()
      .catch((err) =>
        log.error({ err }, "files that are not used any more could not be removed; the sweep tries again"),
      );
  }

  private async result(row: UploadRow, lease: Lease, format: RecordingFormat): Promise<Result> {
    const { folder, storage } = this.parts;
    const size = row.total ?? 0;
    if (format === "other") return asItCame("its first bytes are not those of a WebM, MP4 or Ogg file");
    if (row.tries >= MEND_TRIES_MAX) return asItCame(`the service ended ${row.tries} times while it was mended`);
    const place = { ...row, locator: "" };
    const path = storage.path(place);
    const needed = MEND_LIMITS.outputBytes(size) + (path === undefined ? size : 0);
    if (!(await folder.hasSpace(needed))) return asItCame("the data folder has too little space for it");
    // A name of its own for each lease: an earlier holder may only be frozen, and its process may still write.
    return folder.during(`${row.id}.${lease.generation}`, async (temporary) => {
      const input = path ?? join(temporary, "recorded");
      if (path === undefined) await download(storage, place, size, input, () => lease.confirm());
      return this.mend(row, lease, { path: input, format, size }, join(temporary, "mended"));
    });
  }

  private async mend(
    { app, id }: UploadRow,
    lease: Lease,
    input: Parameters<Mender["mend"]>[0],
    output: string,
  ): Promise<Result> {
    const { store, mender, nowMs } = this.parts;
    const file = newObjectId(nowMs());
    if (!(await store.noteMending(id, lease.generation, file))) throw notOpen();
    const mended = await mender.mend(input, output);
    if (mended.outcome === "as_it_came") return mended;
    try {
      await this.keep(app, file, output, mended.size, lease);
    } catch (error) {
      if (error instanceof StorageFull) return asItCame("the storage has too little space for it");
      throw error;
    }
    return { ...mended, file };
  }

  /** Stores the file under its place. */
  private async keep(app: AppId, id: string, path: string, size: number, lease: Lease): Promise<void> {
    const { storage } = this.parts;
    await storage.checkSpace(size);
    const place: Place = { app, id, locator: await storage.begin(app, id) };
    // Without `keep`: that counts the bytes of the upload.
    const { generation } = lease;
    try {
      await storage.append(place, 0, piecesOf(path), { generation, confirm: () => lease.confirm() });
      await storage.finish(place, size);
    } catch (error) {
      // With its locator, which no row has. Without it the sweep would remove the same a day later.
      await storage.remove(place).catch(() => undefined);
      throw error;
    }
  }

  private async complete(row: UploadRow, lease: Lease, format: RecordingFormat, result: Result): Promise<void> {
    const { store, storage, metrics, nowMs } = this.parts;
    const isMended = result.outcome === "mended";
    const lastSecond = isMended ? row.startTime + Math.round(result.durationMs / 1000) : Math.floor(row.touched / 1000);
    const made = await store.complete(row.id, lease.generation, {
      endTime: Math.max(lastSecond, row.startTime),
      fileName: `${randomUUID()}.${extensionOf(format)}`,
      format,
      sizeInBytes: isMended ? result.size : (row.total ?? 0),
      completed: nowMs(),
      mended: isMended,
      ...(isMended && { file: result.file }),
    });
    if (!made) {
      // The upload was discarded, or another node has it: the place was marked for removal, perhaps before the file was there.
      if (isMended) await storage.remove({ app: row.app, id: result.file, locator: "" });
      throw notOpen();
    }
    metrics.completed.inc();
  }
}

const asItCame = (why: string): Extract<Mended, { outcome: "as_it_came" }> => ({ outcome: "as_it_came", why });

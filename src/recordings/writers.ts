/**
 * Who is at work on which upload: one at a time, over all nodes. Within this process a map says so without asking the store; between
 * processes a lease does (store/leases.ts).
 */
import { Problem } from "../protocol/codes.ts";
import { type Lease, LeaseLost, type Leases } from "../store/leases.ts";
import type { RecordingStore, UploadRow } from "../store/recordings.ts";
import type { Log } from "../telemetry/log.ts";
import type { Place, Storage } from "./storage.ts";

export interface WriterParts {
  readonly store: RecordingStore;
  readonly leases: Leases;
  readonly storage: Storage;
  readonly log: Pick<Log, "error">;
}

/** `row` is as it is under the lease. */
type Work<T> = (row: UploadRow, lease: Lease) => Promise<T>;

export const placeOf = ({ app, id, ticket }: UploadRow): Place => ({ app, id, ticket });

export class Writers {
  /** Bound: one entry per request under way. */
  private readonly busy = new Map<string, Promise<unknown>>();

  constructor(private readonly parts: WriterParts) {}

  get count(): number {
    return this.busy.size;
  }

  /** In this process. */
  isBusy(id: string): boolean {
    return this.busy.has(id);
  }

  /** Throws, and does nothing, while another is at work on it, or if it is not open. */
  async alone<T>(app: string, id: string, work: Work<T>): Promise<T> {
    if (this.busy.has(id)) throw new Problem("upload_busy");
    const working = this.leased(app, id, work);
    this.busy.set(
      id,
      working.catch(() => undefined),
    );
    try {
      return await working;
    } finally {
      this.busy.delete(id);
    }
  }

  private async leased<T>(app: string, id: string, work: Work<T>): Promise<T> {
    const lease = await this.parts.leases.take(id);
    if (!lease) {
      await this.open(app, id);
      throw new Problem("upload_busy");
    }
    let isOrderly = false;
    try {
      const row = await this.open(app, id);
      const mine = lease.isTakeover ? await this.takeOver(row, lease) : row;
      isOrderly = true;
      return await work(mine, lease);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      // It may be complete, or gone, by now.
      await this.open(app, id);
      throw new Problem("upload_busy", "Another writer has taken over this upload: ask for its offset.");
    } finally {
      await lease
        .release(isOrderly)
        .catch((err) => this.parts.log.error({ err }, "an upload could not be released; it is free again in a moment"));
    }
  }

  /** The writer before was silent for too long, and may wake up: its file is left to it, and its bytes go on in another. */
  private async takeOver(row: UploadRow, lease: Lease): Promise<UploadRow> {
    const { store, storage } = this.parts;
    const before = placeOf(row);
    const { ticket, clear } = await storage.takeOver(before, lease.generation, lease.kept);
    if (!(await store.moveUpload(row.id, lease.generation, ticket))) throw new LeaseLost();
    await clear();
    return { ...row, ticket };
  }

  /** The open upload, or what to say instead. */
  async open(app: string, id: string): Promise<UploadRow> {
    const { store } = this.parts;
    const row = await store.upload(app, id);
    if (row) return row;
    const done = await store.recording(app, id);
    if (!done) throw notOpen();
    throw new Problem("upload_complete", undefined, undefined, { fields: { offset: done.sizeInBytes } });
  }

  /** Resolves when those who are at work now are done. */
  async settled(): Promise<void> {
    await Promise.all(this.busy.values());
  }
}

export const notOpen = (): Problem => new Problem("recording_not_found", "There is no such upload, or it has ended.");

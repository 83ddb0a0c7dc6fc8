/**
 * One request at a time may change an upload, over all nodes. Within this process a map ensures that without a query; between processes
 * a lease in the store does (store/contract/leases.ts).
 */
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import { type Lease, LeaseLost, type Leases } from "../../store/contract/leases.ts";
import type { RecordingStore, UploadRow } from "../../store/contract/recordings.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Place, Storage } from "../storage/storage.ts";

interface UploadLockParts {
  readonly store: RecordingStore;
  readonly leases: Leases;
  readonly storage: Storage;
  readonly log: Pick<Log, "error">;
}

/** `row` was read while the lease was held. */
type Work<T> = (row: UploadRow, lease: Lease) => Promise<T>;

/** Bytes can come to an open upload. The file of a finished one is whole, and waits to be mended. */
type UploadState = "open" | "finished";

export const placeOf = ({ app, id, locator }: UploadRow): Place => ({ app, id, locator });

export class UploadLocks {
  /** Bound: one entry per request under way. The promise resolves when the request has ended. */
  private readonly busy = new Map<string, Promise<unknown>>();

  constructor(private readonly parts: UploadLockParts) {}

  get count(): number {
    return this.busy.size;
  }

  /** Whether a request of this process is changing the upload. */
  isBusy(id: string): boolean {
    return this.busy.has(id);
  }

  /**
   * Throws and does nothing while another request changes the upload, or if it is not in that state. `released` is called when the store knows what has
   * come, and before another request can begin.
   */
  async exclusively<T>(
    app: AppId,
    id: string,
    work: Work<T>,
    state: UploadState = "open",
    released: () => void = () => undefined,
  ): Promise<T> {
    if (this.busy.has(id)) return this.refuse(app, id, state);
    const running = this.leased(app, id, work, state).finally(released);
    this.busy.set(
      id,
      running.catch(() => undefined),
    );
    try {
      return await running;
    } finally {
      this.busy.delete(id);
    }
  }

  private async leased<T>(app: AppId, id: string, work: Work<T>, state: UploadState): Promise<T> {
    const lease = await this.parts.leases.take(id);
    if (!lease) return this.refuse(app, id, state);
    // Not clean until a takeover is done: if that fails, the next holder must not use the earlier writer's file either.
    let isClean = false;
    try {
      const read = lease.row;
      const row = read && read.app === app && isIn(read, state) ? read : await this.inState(app, id, state);
      const mine = lease.isTakeover && state === "open" ? await this.takeOver(row, lease) : row;
      isClean = true;
      return await work(mine, lease);
    } catch (error) {
      if (!(error instanceof LeaseLost)) throw error;
      // Throws a more exact problem if the upload is complete or gone by now.
      await this.inState(app, id, state);
      throw new Problem("upload_busy", "Another writer has taken over this upload. Ask for its offset.");
    } finally {
      await lease
        .release(isClean)
        .catch((err) => this.parts.log.error({ err }, "an upload could not be released; it is free again in a moment"));
    }
  }

  /** Throws: the request that is changing the upload may only be one that is refused itself, because the upload is complete or gone. */
  private async refuse(app: AppId, id: string, state: UploadState): Promise<never> {
    await this.inState(app, id, state);
    throw new Problem("upload_busy");
  }

  /** The previous writer's lease ended, but it may still write: it keeps its file, and this writer continues in a copy. */
  private async takeOver(row: UploadRow, lease: Lease): Promise<UploadRow> {
    const { store, storage } = this.parts;
    const before = placeOf(row);
    const { locator, clear } = await storage.takeOver(before, lease.generation, lease.kept);
    if (!(await store.moveUpload(row.id, lease.generation, locator))) throw new LeaseLost();
    await clear();
    return { ...row, locator };
  }

  /**
   * How many bytes the upload has for certain, without a lease. What a writer of another node writes, or wrote before it died, counts as far as
   * it is flushed: a takeover keeps no more, and a client may forget the bytes that are reported here.
   */
  async storedBytes(row: UploadRow): Promise<number> {
    const { storage, leases } = this.parts;
    for (let place = placeOf(row); ; ) {
      const bytes = await storage.storedBytes(place);
      // Asked afterwards: what a holder has released meanwhile is flushed.
      const stored = storage.losesUnflushed ? await leases.look?.(row.id) : undefined;
      if (!stored || stored.locator === place.locator) return Math.min(bytes, stored?.flushed ?? bytes);
      // Its bytes were moved by a takeover.
      place = { ...place, locator: stored.locator };
    }
  }

  /** The open upload; throws the problem to answer with if there is none. */
  open(app: AppId, id: string): Promise<UploadRow> {
    return this.inState(app, id, "open");
  }

  private async inState(app: AppId, id: string, state: UploadState): Promise<UploadRow> {
    const { store } = this.parts;
    const row = await store.upload(app, id);
    if (row && isIn(row, state)) return row;
    if (row && state === "open") throw complete(row.bytes);
    const done = await store.recording(app, id);
    if (!done) throw notOpen();
    throw complete(done.sizeInBytes);
  }

  /** Resolves when the requests that are under way now have ended. */
  async idle(): Promise<void> {
    await Promise.all(this.busy.values());
  }
}

const isIn = ({ finished }: UploadRow, state: UploadState): boolean => (finished === null) === (state === "open");

const complete = (offset: number): Problem =>
  new Problem("upload_complete", undefined, undefined, { fields: { offset } });

export const incomplete = (bytes: number, total: number | null): Problem =>
  new Problem(
    "upload_incomplete",
    total === null
      ? `${bytes} bytes are stored, but the size of the upload is unknown. Send all of them, or set \`total\`.`
      : `${bytes} of ${total} bytes are stored.`,
    undefined,
    { fields: { offset: bytes } },
  );

export const notOpen = (): Problem => new Problem("recording_not_found", "This upload does not exist, or has ended.");

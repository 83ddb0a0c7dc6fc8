/** Recordings: completed from an upload, listed, linked to, deleted. */
import { randomUUID } from "node:crypto";
import type { AppId } from "../base/ids.ts";
import { Problem } from "../protocol/codes.ts";
import { LEASE_MS, type Lease } from "../store/contract/leases.ts";
import type { RecordingFilter, RecordingRow, RecordingStore, Stored, UploadRow } from "../store/contract/recordings.ts";
import type { Log } from "../telemetry/log.ts";
import type { RecordingMetrics } from "./budgets/metrics.ts";
import { asError, type CompleteRequest, Completions, isBusy } from "./completions.ts";
import { dispositionOf, downloadName } from "./files/download-name.ts";
import type { Disposition, Links } from "./files/links.ts";
import type { Span } from "./files/range.ts";
import { contentTypeOf, extensionOf, formatOf, SIGNATURE_BYTES } from "./files/signature.ts";
import type { Removals } from "./removals.ts";
import type { Ownership } from "./storage/ownership.ts";
import { withStorageProblems } from "./storage/problems.ts";
import { isObjectId, type Place, type Storage } from "./storage/storage.ts";
import { incomplete, notOpen, placeOf, type UploadLocks } from "./uploads/locks.ts";
import type { Uploads } from "./uploads/uploads.ts";

interface RecordingParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  readonly uploads: Uploads;
  readonly links: Links;
  readonly locks: UploadLocks;
  readonly ownership: Pick<Ownership, "requirePresent" | "isMissing">;
  readonly removals: Pick<Removals, "areHeld">;
  readonly metrics: RecordingMetrics;
  readonly log: Pick<Log, "error">;
  readonly nowMs: () => number;
}

/** In this filter `room` is an id or a name. */
export interface ListRequest {
  readonly filter: RecordingFilter;
  readonly order: "asc" | "desc";
  readonly limit: number;
  readonly endId?: string | undefined;
}

export interface RecordingList {
  readonly data: RecordingRow[];
  readonly total: number;
  readonly limit: number;
  readonly currEndId: string;
}

export interface Served {
  readonly contentType: string;
  /** The value of Content-Disposition. */
  readonly disposition: string;
}

/** How much of a file is in memory at a time while it is sent from a storage that cannot serve it itself. */
const PIECE_BYTES = 2 * 1024 * 1024;
/** From a folder, where a piece costs no round trip. */
export const FOLDER_PIECE_BYTES = 256 * 1024;

/** Recordings per deleting transaction, so that other changes do not wait long. */
const DELETE_AT_ONCE = 200;

/** A node that died while completing holds the lease for LEASE_MS; then this node can complete the upload. */
const COMPLETE_WAIT_MS = LEASE_MS + 5000;
const COMPLETE_RETRY_MS = 50;
/** While a node finishes a file in a bucket, its bytes can be neither in parts nor in a whole object for a moment. */
const FINISHING_MS = 1000;

export class Recordings {
  private readonly completions = new Completions(COMPLETE_WAIT_MS);

  constructor(private readonly parts: RecordingParts) {}

  /** A repeated call returns the same recording, also while another call completes it here or on another node: an answer may get lost. */
  complete(app: AppId, id: string, wanted: CompleteRequest = {}): Promise<RecordingRow> {
    return this.completions.complete(app, id, wanted, () => this.completeWhenFree(app, id, wanted));
  }

  private async completeWhenFree(app: AppId, id: string, wanted: CompleteRequest): Promise<RecordingRow> {
    const until = performance.now() + COMPLETE_WAIT_MS;
    let wholeMs = performance.now();
    for (;;) {
      const made = await this.parts.store.recording(app, id);
      if (made) return made;
      const outcome = await this.tryToComplete(app, id, wanted);
      if (!(outcome instanceof Error)) return outcome;
      if (!isBusy(outcome) || performance.now() > until) throw outcome;
      if (await this.hasAllBytes(app, id, wanted.total)) wholeMs = performance.now();
      else if (performance.now() - wholeMs > FINISHING_MS) throw outcome;
      await Bun.sleep(COMPLETE_RETRY_MS);
    }
  }

  private async tryToComplete(app: AppId, id: string, wanted: CompleteRequest): Promise<RecordingRow | Error> {
    const { store, locks, log } = this.parts;
    const outcome = await withStorageProblems(log, async () => {
      // Before the lease is taken: the id may be that of another application.
      await locks.open(app, id);
      return locks.exclusively(app, id, (row, lease) => this.completeAlone(row, lease, wanted));
    }).catch(asError);
    if (!(outcome instanceof Error)) return outcome;
    // If another node has completed it, the failure of this attempt does not matter.
    return (await store.recording(app, id).catch(() => undefined)) ?? outcome;
  }

  /** All bytes are held: the request that holds the lease is about to end, or completes the upload. */
  private async hasAllBytes(app: AppId, id: string, total: number | undefined): Promise<boolean> {
    // Checked twice: the file may have been moved into place between the two reads of the first check.
    return (await this.findsAllBytes(app, id, total)) || this.findsAllBytes(app, id, total);
  }

  private async findsAllBytes(app: AppId, id: string, claimed: number | undefined): Promise<boolean> {
    const { store, storage } = this.parts;
    const row = await store.upload(app, id);
    if (!row) return (await store.recording(app, id)) !== undefined;
    const total = row.total ?? claimed;
    return total !== undefined && (await storage.storedBytes(placeOf(row))) === total;
  }

  private async completeAlone(
    row: UploadRow,
    lease: Lease,
    { endTime, total }: CompleteRequest,
  ): Promise<RecordingRow> {
    const { store, storage, metrics, nowMs } = this.parts;
    if (endTime !== undefined && endTime < row.startTime)
      throw invalid("endTime", `must not be before startTime (${row.startTime})`);
    if (row.total !== null && row.total !== 0 && total !== undefined && total !== row.total)
      throw invalid("total", `the upload was begun as one of ${row.total} bytes`);
    await this.parts.ownership.requirePresent();
    const place = placeOf(row);
    const stored = await storage.storedBytes(place);
    const wanted = total ?? row.total;
    if (wanted === null || stored !== wanted) throw incomplete(stored, wanted);
    // Fixed first, so that no byte comes after those of the file: what a bucket joins cannot be continued.
    if (row.total !== wanted && !(await store.touchUpload(row.id, lease.generation, wanted, nowMs()))) throw notOpen();
    await storage.finish(place, stored);
    const format = formatOf(await storage.head(place, SIGNATURE_BYTES));
    // The row is written last, so that every listed recording has its file.
    const made = await store.complete(row.id, lease.generation, {
      endTime: endTime ?? Math.max(Math.floor(nowMs() / 1000), row.startTime),
      fileName: `${randomUUID()}.${extensionOf(format)}`,
      format,
      sizeInBytes: stored,
      completed: nowMs(),
      ...(row.stay !== null && { mended: false }),
    });
    if (!made) throw notOpen();
    this.parts.uploads.ended(row.id);
    metrics.completed.inc();
    return made;
  }

  async get(app: AppId, id: string): Promise<RecordingRow> {
    const row = await this.parts.store.recording(app, id);
    if (!row) throw new Problem("recording_not_found");
    return row;
  }

  async list(app: AppId, { filter, order, limit, endId }: ListRequest): Promise<RecordingList> {
    const { store } = this.parts;
    const after = endId === undefined ? undefined : await this.cursor(app, endId);
    const found = await this.withRoomId(app, filter);
    const data = found ? await store.page(app, { filter: found, order, limit, after }) : [];
    const total = found ? await store.totalOf(app, found) : 0;
    return { data, total, limit, currEndId: data.at(-1)?.id ?? "" };
  }

  private async cursor(app: AppId, endId: string): Promise<number> {
    const seq = isObjectId(endId) ? await this.parts.store.seqOf(app, endId) : undefined;
    if (seq !== undefined) return seq;
    throw invalid("endId", "it is not the currEndId of a page of this application's recordings");
  }

  /** undefined: there is no such room, so nothing matches. */
  private async withRoomId(app: AppId, filter: RecordingFilter): Promise<RecordingFilter | undefined> {
    if (filter.room === undefined) return filter;
    const room = await this.parts.store.roomIdOf(app, filter.room);
    return room === undefined ? undefined : { ...filter, room };
  }

  /** Also cancels an open upload of that id. */
  async delete(app: AppId, id: string): Promise<void> {
    if ((await this.deleteRows(app, [id])) > 0 || (await this.parts.uploads.cancel(app, id))) return;
    // The upload may have been completed between the two statements.
    if ((await this.deleteRows(app, [id])) === 0) throw new Problem("recording_not_found");
  }

  /** Deletes what the filter matches now, and returns how many. Recordings that are completed meanwhile stay. */
  async deleteAll(app: AppId, filter: RecordingFilter): Promise<number> {
    const { store } = this.parts;
    const found = await this.withRoomId(app, filter);
    if (!found) return 0;
    const last = await store.lastSeq(app);
    let deleted = 0;
    for (let after = 0; ; ) {
      // Once something is deleted, it goes on to the end: the caller is to know how much it was.
      const isPatient = deleted > 0;
      const page = await store.page(app, { filter: found, order: "asc", limit: DELETE_AT_ONCE, after, isPatient });
      const due = page.filter(({ seq }) => seq <= last);
      deleted += await this.deleteRows(
        app,
        due.map(({ id }) => id),
      );
      if (due.length < DELETE_AT_ONCE) return deleted;
      after = due.at(-1)?.seq ?? last;
    }
  }

  /** Rows are deleted before bytes, so that no recording is listed without its file. */
  async deleteRows(app: AppId, ids: readonly string[], counter = this.parts.metrics.deleted): Promise<number> {
    const { store, nowMs } = this.parts;
    const deleted = await store.deleteRecordings(app, ids, nowMs());
    counter.inc(deleted.length);
    await this.removeBytes(deleted.map((id) => ({ app, id, locator: "" })));
    if (deleted.length > 0) await this.removeUnused();
    return deleted.length;
  }

  /** Removes bytes that no upload or recording uses any more. The next sweep retries those that cannot be removed now. */
  async removeUnused(): Promise<void> {
    const { store, storage, ownership, removals, log } = this.parts;
    if ((await ownership.isMissing()) || (await removals.areHeld())) return;
    for (let after = ""; ; ) {
      const places = await store.filesToRemove(DELETE_AT_ONCE, after);
      for (const { app, id } of places) {
        try {
          await storage.remove({ app, id, locator: "" });
          await store.fileRemoved(app, id);
        } catch (err) {
          log.error({ err }, "bytes that are not used any more could not be removed; the next sweep tries again");
        }
      }
      if (places.length < DELETE_AT_ONCE) return;
      after = places.at(-1)?.id ?? after;
    }
  }

  /** Removes the bytes of deleted recordings. The next sweep retries those that cannot be removed now. */
  async removeBytes(places: readonly Place[]): Promise<void> {
    const { store, storage, ownership, removals, log, nowMs } = this.parts;
    if (places.length === 0 || (await ownership.isMissing()) || (await removals.areHeld())) return;
    const gone: string[] = [];
    for (const place of places) {
      try {
        await storage.remove(place);
        gone.push(place.id);
      } catch (err) {
        log.error({ err }, "the bytes of a deleted recording could not be removed; the next sweep tries again");
      }
    }
    await store.markRemoved(gone, nowMs());
  }

  /** A link that is valid for `seconds`, to the bucket or to this service. */
  link(
    row: RecordingRow,
    disposition: Disposition,
    seconds: number,
    origin: string,
  ): { url: string; expiresAt: number } {
    const { storage, links, nowMs } = this.parts;
    const expires = Math.floor(nowMs() / 1000) + seconds;
    const served = servedAs(row, disposition);
    const own = (): string => {
      const proof = links.fileProof({ app: row.app, recording: row.id, disposition, expires });
      return `${origin}/api/v1/file/${row.id}/${disposition}?expires=${expires}&proof=${proof}`;
    };
    return { url: storage.link(placeOfFile(row), { ...served, seconds }) ?? own(), expiresAt: expires };
  }

  /**
   * The bytes of a part of a file, wherever they are, in pieces that are read when they are asked for. Throws recording_not_found if the
   * file has been removed meanwhile.
   */
  async *pieces(row: RecordingRow, { first, last }: Span): AsyncGenerator<Uint8Array, undefined> {
    const { storage, log } = this.parts;
    const bytes = storage.path(placeOfFile(row)) === undefined ? PIECE_BYTES : FOLDER_PIECE_BYTES;
    for (let at = first; at <= last; at += bytes) {
      const end = Math.min(last, at + bytes - 1);
      const piece = await withStorageProblems(log, () => storage.read(placeOfFile(row), at, end));
      if (!piece) throw new Problem("recording_not_found");
      if (piece.length !== end - at + 1) throw new Error("the file has fewer bytes than its recording");
      yield piece;
    }
  }

  /** How many recordings the application has, their bytes, and those of its uploads. */
  stored(app: AppId): Promise<Stored> {
    return this.parts.store.stored(app);
  }

  /** The names of the rooms that these recordings belong to, by their id. */
  roomNames(app: AppId, rows: readonly RecordingRow[]): Promise<ReadonlyMap<string, string>> {
    return this.parts.store.roomNames(app, [...new Set(rows.map(({ room }) => room))]);
  }

  /** Deletes those of the ids that are recordings of the application, and returns how many. */
  deleteSome(app: AppId, ids: readonly string[]): Promise<number> {
    return this.deleteRows(app, ids);
  }

  /** The bytes, if this process serves them. */
  async file(row: RecordingRow): Promise<Blob | undefined> {
    return this.parts.storage.file(placeOfFile(row));
  }
}

/** A file whose format is not recognised is never shown inline, whatever was asked for. */
export function servedAs(row: RecordingRow, wanted: Disposition): Served {
  const contentType = contentTypeOf(row.format, row.type);
  const how = wanted === "view" && contentType !== undefined ? "inline" : "attachment";
  return {
    contentType: contentType ?? "application/octet-stream",
    disposition: dispositionOf(how, downloadName(row)),
  };
}

/** The bytes of a recording are in a file of its own id, or in the file that was made of it by mending. */
const placeOfFile = ({ app, id, file }: Pick<RecordingRow, "app" | "id" | "file">): Place => ({
  app,
  id: file ?? id,
  locator: "",
});

const invalid = (field: string, message: string): Problem =>
  new Problem("invalid_request", `${field}: ${message}`, undefined, { details: [{ field, message }] });

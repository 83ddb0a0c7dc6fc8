/** Recordings: made of a whole upload, listed, linked to, deleted. */
import { randomUUID } from "node:crypto";
import { Problem } from "../protocol/codes.ts";
import { LEASE_MS, type Lease } from "../store/leases.ts";
import type { RecordingFilter, RecordingRow, RecordingStore, UploadRow } from "../store/recordings.ts";
import type { Log } from "../telemetry/log.ts";
import type { Figures } from "./figures.ts";
import { keeping } from "./keeping.ts";
import type { Disposition, Links } from "./links.ts";
import type { Ownership } from "./ownership.ts";
import { contentTypeOf, extensionOf, formatOf, SIGNATURE_BYTES } from "./signature.ts";
import { isObjectId, type Place, type Storage } from "./storage.ts";
import type { Uploads } from "./uploads.ts";
import { notOpen, placeOf, type Writers } from "./writers.ts";

export interface RecordingParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  readonly uploads: Uploads;
  readonly links: Links;
  readonly writers: Writers;
  readonly ownership: Pick<Ownership, "mustBeThere" | "isMissing">;
  readonly figures: Figures;
  readonly log: Pick<Log, "error">;
  readonly nowMs: () => number;
}

/** `room` is an id or a name here. */
export interface ListWanted {
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

/** Deleted in one go: a transaction of this many does not keep others waiting. */
const DELETE_AT_ONCE = 200;

/** A node that died while it completed holds its lease for so long; then another can. */
const COMPLETE_WAIT_MS = LEASE_MS + 5000;
const COMPLETE_LOOK_EVERY_MS = 50;

export class Recordings {
  /** Bound: one entry per upload that is being completed here. */
  private readonly completing = new Map<string, Promise<unknown>>();

  constructor(private readonly parts: RecordingParts) {}

  /** Asked again, also while it is being completed here or on another node, it answers the same: an answer may have been lost. */
  async complete(app: string, id: string, endTime: number | undefined): Promise<RecordingRow> {
    const until = performance.now() + COMPLETE_WAIT_MS;
    for (;;) {
      const made = await this.parts.store.recording(app, id);
      if (made) return made;
      const before = this.completing.get(id);
      if (before) {
        await before;
        continue;
      }
      const outcome = await this.tryToComplete(app, id, endTime);
      if (!(outcome instanceof Error)) return outcome;
      const isBusy = outcome instanceof Problem && outcome.code === "upload_busy";
      if (!isBusy || performance.now() > until || !(await this.isWhole(app, id))) throw outcome;
      await Bun.sleep(COMPLETE_LOOK_EVERY_MS);
    }
  }

  private async tryToComplete(app: string, id: string, endTime: number | undefined): Promise<RecordingRow | Error> {
    const { store, writers, log } = this.parts;
    const work = keeping(log, () =>
      writers.alone(app, id, (row, lease) => this.completeAlone(row, lease, endTime)),
    ).catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
    this.completing.set(id, work);
    const outcome = await work;
    this.completing.delete(id);
    if (!(outcome instanceof Error)) return outcome;
    // Another may have completed it: then how this try failed does not matter.
    return (await store.recording(app, id).catch(() => undefined)) ?? outcome;
  }

  /** All bytes are there: whoever is at work on it is about to end, or completes it. */
  private async isWhole(app: string, id: string): Promise<boolean> {
    // Twice: the bytes may have moved to their place between the looks that the first one consists of.
    return (await this.looksWhole(app, id)) || this.looksWhole(app, id);
  }

  private async looksWhole(app: string, id: string): Promise<boolean> {
    const { store, storage } = this.parts;
    const row = await store.upload(app, id);
    if (!row) return (await store.recording(app, id)) !== undefined;
    return row.total !== null && (await storage.held(placeOf(row))) >= row.total;
  }

  private async completeAlone(row: UploadRow, lease: Lease, endTime: number | undefined): Promise<RecordingRow> {
    const { store, storage, figures, nowMs } = this.parts;
    if (endTime !== undefined && endTime < row.startTime) {
      const message = `must not be before startTime (${row.startTime})`;
      throw new Problem("invalid_request", `endTime: ${message}`, undefined, {
        details: [{ field: "endTime", message }],
      });
    }
    await this.parts.ownership.mustBeThere();
    const place = placeOf(row);
    const held = await storage.held(place);
    if (row.total === null || held < row.total) throw incomplete(held, row.total);
    await storage.finish(place, held);
    const format = formatOf(await storage.head(place, SIGNATURE_BYTES));
    // The row comes last: what is listed is whole.
    const made = await store.complete(row.id, lease.generation, {
      endTime: endTime ?? Math.max(Math.floor(nowMs() / 1000), row.startTime),
      fileName: `${randomUUID()}.${extensionOf(format)}`,
      format,
      sizeInBytes: held,
      completed: nowMs(),
    });
    if (!made) throw notOpen();
    figures.completed.inc();
    return made;
  }

  async get(app: string, id: string): Promise<RecordingRow> {
    const row = await this.parts.store.recording(app, id);
    if (!row) throw new Problem("recording_not_found");
    return row;
  }

  async list(app: string, { filter, order, limit, endId }: ListWanted): Promise<RecordingList> {
    const { store } = this.parts;
    const behind = endId === undefined ? undefined : await this.cursor(app, endId);
    const found = await this.withRoomId(app, filter);
    const data = found ? await store.page(app, { filter: found, order, limit, behind }) : [];
    const total = found ? await store.totalOf(app, found) : 0;
    return { data, total, limit, currEndId: data.at(-1)?.id ?? "" };
  }

  private async cursor(app: string, endId: string): Promise<number> {
    const seq = isObjectId(endId) ? await this.parts.store.seqOf(app, endId) : undefined;
    if (seq !== undefined) return seq;
    const message = "it is not the currEndId of a page of this application's recordings";
    throw new Problem("invalid_request", `endId: ${message}`, undefined, { details: [{ field: "endId", message }] });
  }

  /** undefined: there is no such room, and so nothing of it. */
  private async withRoomId(app: string, filter: RecordingFilter): Promise<RecordingFilter | undefined> {
    if (filter.room === undefined) return filter;
    const room = await this.parts.store.roomIdOf(app, filter.room);
    return room === undefined ? undefined : { ...filter, room };
  }

  /** Of an upload that is still open, too: then that ends. */
  async delete(app: string, id: string): Promise<void> {
    if ((await this.deleteRows(app, [id])) > 0 || (await this.parts.uploads.cancel(app, id))) return;
    // It may have been completed between the two.
    if ((await this.deleteRows(app, [id])) === 0) throw new Problem("recording_not_found");
  }

  /** Everything the filter matches at this moment; how many. What is completed meanwhile stays. */
  async deleteAll(app: string, filter: RecordingFilter): Promise<number> {
    const { store } = this.parts;
    const found = await this.withRoomId(app, filter);
    if (!found) return 0;
    const last = await store.lastSeq(app);
    let deleted = 0;
    for (let behind = 0; ; ) {
      const page = await store.page(app, { filter: found, order: "asc", limit: DELETE_AT_ONCE, behind });
      const due = page.filter(({ seq }) => seq <= last);
      deleted += await this.deleteRows(
        app,
        due.map(({ id }) => id),
      );
      if (due.length < DELETE_AT_ONCE) return deleted;
      behind = due.at(-1)?.seq ?? last;
    }
  }

  /** First the rows: whatever happens then, nothing is listed whose bytes are gone. */
  async deleteRows(app: string, ids: readonly string[], counter = this.parts.figures.deleted): Promise<number> {
    const { store } = this.parts;
    const deleted = await store.deleteRecordings(app, ids);
    counter.inc(deleted.length);
    await this.removeBytes(deleted.map((id) => ({ app, id, ticket: "" })));
    return deleted.length;
  }

  /** Of what is deleted. What cannot be removed now, the next sweep tries again. */
  async removeBytes(places: readonly Place[]): Promise<void> {
    const { store, storage, ownership, log, nowMs } = this.parts;
    if (await ownership.isMissing()) return;
    const gone: string[] = [];
    for (const place of places) {
      try {
        await storage.remove(place);
        gone.push(place.id);
      } catch (err) {
        log.error({ err }, "the bytes of a deleted recording could not be removed; the next sweep tries again");
      }
    }
    await store.removed(gone, nowMs());
  }

  /** A link that is good for so long, from whoever serves the bytes. */
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
    return { url: storage.link({ ...row, ticket: "" }, { ...served, seconds }) ?? own(), expiresAt: expires };
  }

  /** The bytes, if it is us who serve them. */
  async file(row: RecordingRow): Promise<Blob | undefined> {
    return this.parts.storage.file({ ...row, ticket: "" });
  }
}

/** What the bytes do not say they are is not shown, whatever was asked for. */
export function servedAs({ format, type, fileName }: RecordingRow, wanted: Disposition): Served {
  const contentType = contentTypeOf(format, type);
  const how = wanted === "view" && contentType !== undefined ? "inline" : "attachment";
  return { contentType: contentType ?? "application/octet-stream", disposition: `${how}; filename="${fileName}"` };
}

const incomplete = (held: number, total: number | null): Problem =>
  new Problem(
    "upload_incomplete",
    total === null ? "No bytes have come yet, or not all of them." : `${held} of ${total} bytes are there.`,
    undefined,
    { fields: { offset: held } },
  );

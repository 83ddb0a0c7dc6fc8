/** Uploads: begin, append bytes behind those that are held, cancel. */
import { randomBytes } from "node:crypto";
import { newObjectId } from "../access/ids.ts";
import { Problem } from "../protocol/codes.ts";
import { type Lease, LeaseLost } from "../store/leases.ts";
import type { RecordingStore, RecordingType, UploadRow } from "../store/recordings.ts";
import type { Log } from "../telemetry/log.ts";
import { OPEN_UPLOADS_MAX, UPLOAD_SILENCE_MAX_MS } from "./limits.ts";
import type { RecordingMetrics } from "./metrics.ts";
import type { Ownership } from "./ownership.ts";
import type { ContentRange } from "./range.ts";
import { discardUpload, type Place, type Storage } from "./storage.ts";
import { withStorageProblems } from "./storage-problems.ts";
import { UploadBody } from "./upload-body.ts";
import { notOpen, placeOf, type UploadLocks } from "./upload-locks.ts";

export interface NewUpload {
  /** Id or name. */
  readonly room: string;
  readonly participantUsername: string;
  readonly type: RecordingType;
  /** Unix seconds. */
  readonly startTime?: number | undefined;
  readonly meetingSession?: string | undefined;
  readonly participantSession?: string | undefined;
}

export interface Sent {
  readonly range: ContentRange | undefined;
  /** Content-Length; undefined: there is none. */
  readonly length: number | undefined;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Called when the body is accepted and about to be read, which may take hours. */
  readonly onTaken?: () => void;
}

export interface UploadParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  readonly locks: UploadLocks;
  readonly ownership: Pick<Ownership, "requirePresent">;
  readonly metrics: RecordingMetrics;
  readonly log: Pick<Log, "error">;
  readonly nowMs: () => number;
  readonly maxBytes: number;
  /** The id of a room that is not archived. */
  readonly findRoom: (app: string, idOrName: string) => Promise<string | undefined>;
  readonly silenceMaxMs?: number;
}

/** How often a long write marks its upload as active, so that it is not ended as abandoned. */
const TOUCH_EVERY_MS = 600_000;

const newSessionId = (): string => randomBytes(12).toString("hex");

export class Uploads {
  constructor(private readonly parts: UploadParts) {}

  async begin(app: string, wanted: NewUpload): Promise<UploadRow> {
    const room = await this.parts.findRoom(app, wanted.room);
    if (room === undefined) throw new Problem("room_not_found");
    return withStorageProblems(this.parts.log, () => this.add(app, room, wanted));
  }

  private async add(app: string, room: string, wanted: NewUpload): Promise<UploadRow> {
    const { store, storage, metrics, nowMs } = this.parts;
    await this.parts.ownership.requirePresent();
    await storage.checkSpace(0);
    const now = nowMs();
    const id = newObjectId(now);
    const row: UploadRow = {
      id,
      app,
      room,
      participantSession: wanted.participantSession ?? newSessionId(),
      meetingSession: wanted.meetingSession ?? newSessionId(),
      participantUsername: wanted.participantUsername,
      type: wanted.type,
      startTime: wanted.startTime ?? Math.floor(now / 1000),
      ticket: await storage.begin(app, id),
      total: null,
      touched: now,
    };
    if (!(await store.addUpload(row, OPEN_UPLOADS_MAX))) {
      await storage.remove(placeOf(row));
      throw new Problem(
        "too_many_uploads",
        `An application has at most ${OPEN_UPLOADS_MAX} open uploads; complete or delete some first.`,
      );
    }
    metrics.begun.inc();
    return row;
  }

  /** Returns how many bytes are held afterwards; throws a Problem if the request is refused. */
  write(app: string, id: string, sent: Sent): Promise<number> {
    return withStorageProblems(this.parts.log, () => this.accept(app, id, sent));
  }

  private async accept(app: string, id: string, sent: Sent): Promise<number> {
    const row = await this.parts.locks.open(app, id);
    await this.parts.ownership.requirePresent();
    const { range } = sent;
    if (range?.kind === "query") {
      checkTotal(row, range.total);
      return this.parts.storage.held(placeOf(row));
    }
    const total = range?.total ?? sent.length ?? null;
    const count = range ? range.span.last - range.span.first + 1 : sent.length;
    if (total !== null && total > this.parts.maxBytes) throw this.tooLarge();
    checkTotal(row, total);
    if (sent.length !== undefined && sent.length !== count)
      throw invalidRange(`it announces ${count} bytes, but the body has ${sent.length}`);
    const wanted = { first: range?.span.first ?? 0, count, total };
    return this.parts.locks.exclusively(app, id, (mine, lease) => this.take(mine, lease, wanted, sent));
  }

  private async take(
    row: UploadRow,
    lease: Lease,
    { first, count, total }: { first: number; count: number | undefined; total: number | null },
    sent: Sent,
  ): Promise<number> {
    const { store, storage, nowMs } = this.parts;
    checkTotal(row, total);
    const place = placeOf(row);
    const offset = await storage.held(place);
    if (first !== offset)
      throw new Problem("offset_mismatch", `${offset} bytes are held: go on from there.`, undefined, {
        fields: { offset },
      });
    await storage.checkSpace(count ?? 0);
    if (!(await store.touchUpload(row.id, lease.generation, total, nowMs()))) return this.refuseGone(place, lease);
    sent.onTaken?.();
    const taken = await this.append(place, offset, count, sent.body, lease).catch(async (error: unknown) => {
      // The storage may have failed because the upload was deleted with its bytes: then the answer is that it is gone.
      if (error instanceof Problem || error instanceof LeaseLost || (await store.upload(row.app, row.id))) throw error;
      return this.refuseGone(place, lease);
    });
    // A second time, because the upload or its application may have been deleted meanwhile, and because a body without a length has
    // fixed the total only now.
    const isShort = count !== undefined && taken < count;
    const after = await store.touchUpload(
      row.id,
      lease.generation,
      isShort ? total : (total ?? offset + taken),
      nowMs(),
    );
    if (!after) return this.refuseGone(place, lease);
    if (isShort) throw invalidRange(`${count} bytes were announced, and ${taken} came`, offset + taken);
    return offset + taken;
  }

  /** Another writer has taken over, or the upload was deleted, perhaps with its application: then its bytes are removed. */
  private async refuseGone(place: Place, lease: Lease): Promise<never> {
    const { store, storage, locks } = this.parts;
    await lease.confirm(true);
    if (!(await store.upload(place.app, place.id))) {
      if (!(await store.recording(place.app, place.id))) await discardUpload(storage, place);
      await locks.open(place.app, place.id);
    }
    throw notOpen();
  }

  private async append(
    place: Place,
    offset: number,
    count: number | undefined,
    body: Sent["body"],
    lease: Lease,
  ): Promise<number> {
    const { storage, metrics, maxBytes, silenceMaxMs = UPLOAD_SILENCE_MAX_MS } = this.parts;
    const tooMany = (): Problem =>
      count === undefined
        ? this.tooLarge()
        : invalidRange(`${count} bytes were announced, and more came; what was announced is kept`, offset + count);
    const received = new UploadBody(body ?? new Blob([]).stream(), count ?? maxBytes - offset, tooMany, silenceMaxMs);
    try {
      await storage.append(place, offset, this.markingActive(place.id, lease, received.chunks()), lease);
    } catch (error) {
      // This upload cannot be completed any more: its bytes are removed now, not when it is abandoned.
      if (error instanceof Problem && error.code === "recording_too_large") await this.end(place, lease);
      throw error;
    } finally {
      metrics.bytes.inc(received.count);
    }
    return received.count;
  }

  private async *markingActive(
    id: string,
    lease: Lease,
    chunks: AsyncIterable<Uint8Array>,
  ): AsyncGenerator<Uint8Array> {
    const { store, nowMs } = this.parts;
    let touched = nowMs();
    for await (const chunk of chunks) {
      if (nowMs() - touched > TOUCH_EVERY_MS) {
        touched = nowMs();
        if (!(await store.touchUpload(id, lease.generation, null, touched))) throw notOpen();
      }
      yield chunk;
    }
  }

  /** false: there is no such upload, or it is complete. */
  async cancel(app: string, id: string): Promise<boolean> {
    const { store, locks } = this.parts;
    if (!(await store.upload(app, id))) return false;
    return locks
      .exclusively(app, id, (row, lease) => this.end(placeOf(row), lease))
      .catch((error: unknown) => {
        if (error instanceof Problem && error.code === "upload_complete") return false;
        throw error;
      });
  }

  /** Conditional on the lease: a writer that was overtaken must not end the upload of its successor. */
  private async end(place: Place, lease: Lease): Promise<boolean> {
    const { store, storage, metrics, log, nowMs } = this.parts;
    if (!(await store.endUpload(place.id, nowMs(), undefined, lease.generation))) {
      await lease.confirm(true);
      return false;
    }
    metrics.cancelled.inc();
    try {
      await storage.remove(place);
      await store.forgetUpload(place.id);
    } catch (err) {
      log.error({ err }, "the bytes of an upload that has ended could not be removed; the next sweep tries again");
    }
    return true;
  }

  private tooLarge(): Problem {
    return new Problem("recording_too_large", `A recording has at most ${this.parts.maxBytes} bytes.`);
  }
}

/** A total of 0 can still change: an empty body, sent as a probe or by mistake, must not make the upload useless. */
function checkTotal({ total }: UploadRow, claimed: number | null): void {
  if (total !== null && total !== 0 && claimed !== null && claimed !== total)
    throw invalidRange(`the upload was begun as one of ${total} bytes, not of ${claimed}`);
}

const invalidRange = (message: string, offset?: number): Problem =>
  new Problem("invalid_request", `Content-Range: ${message}.`, undefined, {
    details: [{ field: "Content-Range", message }],
    ...(offset !== undefined && { fields: { offset } }),
  });

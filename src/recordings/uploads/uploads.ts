/** Uploads: begin, write (writing.ts), cancel, and finish those that the page of a meeting sends. */
import { randomBytes } from "node:crypto";
import { newObjectId } from "../../access/keys/ids.ts";
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { Lease } from "../../store/contract/leases.ts";
import type { RecordingType, StayUploadRow, UploadRow } from "../../store/contract/recordings.ts";
import { Budgets } from "../budgets/budgets.ts";
import { OPEN_UPLOADS_MAX, STAY_UPLOADS_MAX } from "../budgets/limits.ts";
import { withStorageProblems } from "../storage/problems.ts";
import type { Place } from "../storage/storage.ts";
import { incomplete, placeOf } from "./locks.ts";
import { type Sent, UploadWriting, type WritingParts } from "./writing.ts";

export type { Sent } from "./writing.ts";

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

/** What the service says about an upload that the page of a meeting sends. */
export type NewStayUpload = Pick<
  StayUploadRow,
  | "app"
  | "room"
  | "meetingSession"
  | "participantSession"
  | "participantUsername"
  | "type"
  | "startTime"
  | "startedMs"
  | "stay"
  | "source"
  | "sender"
  | "byGuest"
>;

interface UploadParts extends WritingParts {
  /** The id of a room that is not archived. */
  readonly findRoom: (app: AppId, idOrName: string) => Promise<string | undefined>;
  /** Absent: STAY_BYTES_MAX. */
  readonly stayBytesMax?: number;
}

type Fresh = "id" | "locator" | "total" | "touched" | "bytes" | "finished" | "mendedAs" | "tries" | "isClosed";
type RowOf<Row> = Omit<Row, Fresh>;

/** How long a deletion waits for a request that changes an upload of a stay, before it ends the upload under its hands. */
const CANCEL_TRIES = 5;
const CANCEL_RETRY_MS = 200;

const newSessionId = (): string => randomBytes(12).toString("hex");

export class Uploads {
  private readonly budgets: Budgets;
  private readonly writing: UploadWriting;

  constructor(private readonly parts: UploadParts) {
    this.budgets = new Budgets(parts.store, parts.nowMs, parts.stayBytesMax);
    this.writing = new UploadWriting(parts, this.budgets, (place, lease) => this.discard(place, lease));
  }

  async begin(app: AppId, wanted: NewUpload): Promise<UploadRow> {
    const room = await this.parts.findRoom(app, wanted.room);
    if (room === undefined) throw new Problem("room_not_found");
    const fields = {
      app,
      room,
      participantSession: wanted.participantSession ?? newSessionId(),
      meetingSession: wanted.meetingSession ?? newSessionId(),
      participantUsername: wanted.participantUsername,
      type: wanted.type,
      startTime: wanted.startTime ?? Math.floor(this.parts.nowMs() / 1000),
      startedMs: null,
      stay: null,
      source: null,
      sender: null,
      byGuest: false,
    };
    const { store } = this.parts;
    return this.add(
      fields,
      (row) => store.addUpload(row, OPEN_UPLOADS_MAX),
      `An application can have at most ${OPEN_UPLOADS_MAX} open uploads. Complete or delete some first.`,
    );
  }

  /** Begins an upload for the page of a meeting. */
  beginOfStay(wanted: NewStayUpload): Promise<StayUploadRow> {
    const { store } = this.parts;
    return this.add(
      wanted,
      (row: StayUploadRow) => store.addStayUpload(row, STAY_UPLOADS_MAX),
      `A participant can have at most ${STAY_UPLOADS_MAX} open uploads. Finish one first.`,
    );
  }

  private add<Row extends UploadRow>(
    fields: RowOf<Row>,
    add: (row: Row) => Promise<boolean>,
    tooMany: string,
  ): Promise<Row> {
    const { storage, metrics, log, nowMs } = this.parts;
    return withStorageProblems(log, async () => {
      await this.parts.ownership.requirePresent();
      await storage.checkSpace(0);
      await this.budgets.requireRoom(fields);
      const now = nowMs();
      const id = newObjectId(now);
      const none = { total: null, touched: now, bytes: 0, finished: null, mendedAs: null, tries: 0, isClosed: false };
      const row = { ...fields, ...none, id, locator: await storage.begin(fields.app, id) } as unknown as Row;
      if (!(await add(row))) {
        await storage.remove(placeOf(row));
        throw new Problem("too_many_uploads", tooMany);
      }
      metrics.begun.inc();
      return row;
    });
  }

  /** Returns how many bytes are held afterwards; throws a Problem if the request is refused. */
  write(app: AppId, id: string, sent: Sent): Promise<number> {
    return this.writing.write(app, id, sent);
  }

  /**
   * false: there is no such upload, or it is complete. A body that comes to an upload of a stay is cut, on whichever node: the application cannot make a page
   * stop in another way. That of an upload begun with the secret key is the caller's own, and keeps it (upload_busy).
   */
  async cancel(app: AppId, id: string): Promise<boolean> {
    const row = await this.parts.store.upload(app, id);
    if (!row) return false;
    try {
      if (row.finished !== null) return await this.cancelIn(app, id, "finished");
      return await (row.stay === null ? this.cancelIn(app, id, "open") : this.cancelOfStay(app, id));
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== "upload_complete") throw error;
      // If it was finished meanwhile, it is not listed yet, and would be after this call.
      const finished = row.finished === null ? await this.parts.store.upload(app, id) : undefined;
      return finished ? this.cancelIn(app, id, "finished") : false;
    }
  }

  private async cancelOfStay(app: AppId, id: string): Promise<boolean> {
    const { store, metrics, nowMs } = this.parts;
    // A part of a page, or the completion, ends in a moment.
    for (let tries = 0; tries < CANCEL_TRIES; tries++) {
      if (tries > 0) await Bun.sleep(CANCEL_RETRY_MS);
      try {
        return await this.cancelIn(app, id, "open");
      } catch (error) {
        if (!(error instanceof Problem) || error.code !== "upload_busy") throw error;
      }
    }
    // The writer finds no row any more (writing.ts) and removes the bytes, or the next sweep does.
    const isDiscarded = await store.discardUpload(id, nowMs());
    if (isDiscarded) metrics.cancelled.inc();
    return isDiscarded;
  }

  private cancelIn(app: AppId, id: string, state: "open" | "finished"): Promise<boolean> {
    return this.parts.locks.exclusively(app, id, (mine, lease) => this.discard(placeOf(mine), lease), state);
  }

  /**
   * What has come of an upload becomes its file, which then waits to be mended and listed. `total`: how many bytes the caller has sent. Without a
   * byte the upload is discarded. Can be repeated, also after a crash at any point.
   */
  finish(app: AppId, id: string, total?: number): Promise<"finished" | "discarded"> {
    const { store, locks, log } = this.parts;
    return withStorageProblems(log, async () => {
      const row = await store.upload(app, id);
      if (row && row.finished !== null) return "finished";
      return locks.exclusively(app, id, (mine, lease) => this.finishAlone(mine, lease, total));
    });
  }

  private async finishAlone(
    row: UploadRow,
    lease: Lease,
    total: number | undefined,
  ): Promise<"finished" | "discarded"> {
    const { store, storage, locks, ownership, nowMs } = this.parts;
    await ownership.requirePresent();
    const place = placeOf(row);
    const stored = await storage.storedBytes(place);
    if (total !== undefined && total !== stored) throw incomplete(stored, total);
    if (stored === 0) {
      // What came may be on a volume that is not mounted any more.
      await ownership.requirePresent(true);
      if (!(await this.discard(place, lease))) await locks.open(row.app, row.id);
      return "discarded";
    }
    // First, so that no byte comes after those of the file: what a bucket joins cannot be continued.
    const fixed = await store.touchUpload(row.id, lease.generation, stored, this.writing.lastWritten(row));
    if (fixed) await storage.finish(place, stored);
    if (!fixed || !(await store.finish(row.id, lease.generation, stored, nowMs()))) {
      await lease.confirm(true);
      await locks.open(row.app, row.id);
    }
    this.ended(row.id);
    return "finished";
  }

  /** The store knows how many bytes it has, or it has none any more. */
  ended(id: string): void {
    this.budgets.held.forget(id);
  }

  /** The upload and its bytes. Conditional on the lease: a writer that was overtaken must not discard the upload of its successor. */
  private async discard(place: Place, lease: Lease): Promise<boolean> {
    const { store, storage, metrics, log, nowMs } = this.parts;
    if (!(await store.discardUpload(place.id, nowMs(), undefined, lease.generation))) {
      await lease.confirm(true);
      return false;
    }
    metrics.cancelled.inc();
    this.ended(place.id);
    try {
      await storage.remove(place);
      await store.forgetUpload(place.id);
    } catch (err) {
      log.error({ err }, "the bytes of an upload that has ended could not be removed; the next sweep tries again");
    }
    return true;
  }
}

/**
 * Appends the body of a request to an upload, behind the bytes that are held.
 *
 * What a part costs: a write and an fsync of the storage. Where one process uses the store, no statement: the row is in memory, and how many
 * bytes it has is noted at most every NOTE_EVERY_MS or NOTE_EVERY_BYTES. Where nodes share the store, two: one takes the lease and reads the row,
 * one notes the bytes and releases the lease.
 *
 *     step                  what is checked or done                             the request is refused with
 *     wantedBy()            what the request says of its size                   recording_too_large, invalid_request
 *     locks.exclusively()   one writer at a time, of an open upload             upload_busy, upload_complete, recording_not_found
 *     take()                the stay, the size, the offset, space, budgets      offset_mismatch and others; no byte is written
 *     noteBefore()          notes the total, if it is new                       recording_not_found
 *     append()              the body goes to the storage, chunk by chunk        upload_stalled, a budget; what came is kept
 *                           more bytes than a recording may have                recording_too_large; the upload ends, unless of a page
 *     noteAfter()           notes the bytes, at the latest with the release     recording_not_found
 *
 * A request that only asks for the offset takes no lease. An upload that was deleted meanwhile ends with refuseGone().
 */
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import { type Lease, LeaseLost } from "../../store/contract/leases.ts";
import type { RecordingStore, UploadRow } from "../../store/contract/recordings.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Budgets, Room } from "../budgets/budgets.ts";
import { NOTE_EVERY_MS } from "../budgets/held.ts";
import { STAY_PACE, STAY_PART_MAX_BYTES, UPLOAD_SILENCE_MAX_MS } from "../budgets/limits.ts";
import type { RecordingMetrics } from "../budgets/metrics.ts";
import type { ContentRange } from "../files/range.ts";
import type { Ownership } from "../storage/ownership.ts";
import { withStorageProblems } from "../storage/problems.ts";
import { discardBytes, type Place, type Storage } from "../storage/storage.ts";
import { type BodyLimit, type BodyWatch, type Pace, UploadBody } from "./body.ts";
import { notOpen, placeOf, type UploadLocks } from "./locks.ts";
import { checkMayWrite, closedBy, partTooLarge } from "./stay-rules.ts";

export interface Sent {
  readonly range: ContentRange | undefined;
  /** Content-Length; undefined: there is none. */
  readonly length: number | undefined;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Called when the body is accepted and about to be read, which may take hours. */
  readonly onTaken?: () => void;
  /** Called before each chunk of the body is kept: throws a Problem if its sender may not write any more. */
  readonly check?: (() => void) | undefined;
}

export interface WritingParts {
  readonly store: RecordingStore;
  readonly storage: Storage;
  readonly locks: UploadLocks;
  readonly ownership: Pick<Ownership, "requirePresent">;
  readonly metrics: RecordingMetrics;
  readonly log: Pick<Log, "error">;
  readonly nowMs: () => number;
  readonly maxBytes: number;
  readonly silenceMaxMs?: number;
  /** How slowly a body for an upload of a stay may come. Absent: STAY_PACE. */
  readonly stayPace?: Pace;
}

/** What a request wants to write. */
interface Wanted {
  readonly first: number;
  /** undefined: as many bytes as come. */
  readonly count: number | undefined;
  /** null: the request does not say. */
  readonly total: number | null;
  /** More bytes can come after these, and how many is not known yet: `bytes a-b/*`. */
  readonly isOpenEnded: boolean;
}

interface Expected extends Pick<Wanted, "count"> {
  /** How many bytes the budgets have granted so far. */
  readonly granted: number;
}

/** Removes an upload and its bytes; false: another writer has taken over. */
export type DiscardUpload = (place: Place, lease: Lease) => Promise<boolean>;

/** How often a long write marks its upload as active, so that it is not discarded as abandoned. */
const TOUCH_EVERY_MS = 600_000;

/** Where the release of a lease does not note the bytes of an upload, that is done this often, and every NOTE_EVERY_MS. */
const NOTE_EVERY_BYTES = 16 * 1024 * 1024;

export class UploadWriting {
  constructor(
    private readonly parts: WritingParts,
    private readonly budgets: Budgets,
    private readonly discard: DiscardUpload,
  ) {}

  /** Returns how many bytes are held afterwards; throws a Problem if the request is refused. */
  write(app: AppId, id: string, sent: Sent): Promise<number> {
    return withStorageProblems(this.parts.log, () => this.accept(app, id, sent));
  }

  private async accept(app: AppId, id: string, sent: Sent): Promise<number> {
    const { range } = sent;
    if (range?.kind === "query") return this.storedBytes(app, id, range.total);
    const wanted = this.wantedBy(sent, range);
    const released = (): void => this.budgets.ended(id);
    return this.parts.locks.exclusively(
      app,
      id,
      (mine, lease) => this.take(mine, lease, wanted, sent),
      "open",
      released,
    );
  }

  private async storedBytes(app: AppId, id: string, total: number | null): Promise<number> {
    const row = await this.parts.locks.open(app, id);
    checkMayWrite(row, this.parts.nowMs());
    checkTotal(row, total);
    await this.parts.ownership.requirePresent();
    const stored = await this.parts.locks.storedBytes(row);
    if (stored === 0) await this.parts.ownership.requirePresent(true);
    return stored;
  }

  private wantedBy({ length }: Sent, range: Extract<ContentRange, { kind: "bytes" }> | undefined): Wanted {
    const total = range ? range.total : (length ?? null);
    const count = range ? range.span.last - range.span.first + 1 : length;
    if (Math.max(total ?? 0, (range?.span.last ?? -1) + 1) > this.parts.maxBytes) throw this.tooLarge();
    if (length !== undefined && length !== count)
      throw invalidRange(`it announces ${count} bytes, but the body has ${length}`);
    return { first: range?.span.first ?? 0, count, total, isOpenEnded: range?.total === null };
  }

  private async take(row: UploadRow, lease: Lease, wanted: Wanted, sent: Sent): Promise<number> {
    const { storage } = this.parts;
    const { first, count, total, isOpenEnded } = wanted;
    checkMayWrite(row, this.parts.nowMs());
    if (row.stay !== null && (count ?? 0) > STAY_PART_MAX_BYTES) throw partTooLarge();
    await this.parts.ownership.requirePresent();
    checkTotal(row, total);
    const offset = await storage.storedBytes(placeOf(row));
    // The client knows of bytes that are not here: they may be on a volume that is not mounted any more.
    if (offset === 0 && first > 0) await this.parts.ownership.requirePresent(true);
    if (first !== offset)
      throw new Problem("offset_mismatch", `${offset} bytes are stored. Continue from there.`, undefined, {
        fields: { offset },
      });
    if (isOpenEnded) checkFits(row, offset, count ?? 0);
    await storage.checkSpace(count ?? 0);
    const granted = count === undefined ? 0 : await this.budgets.requireBody(row, offset, count, total);
    return this.takeBody(row, lease, offset, { ...wanted, granted }, sent);
  }

  private async takeBody(
    row: UploadRow,
    lease: Lease,
    offset: number,
    { count, total, isOpenEnded, granted }: Wanted & Expected,
    sent: Sent,
  ): Promise<number> {
    const { store, nowMs } = this.parts;
    const place = placeOf(row);
    if (!(await this.noteBefore(row, lease, offset, total))) return this.refuseGone(place, lease);
    sent.onTaken?.();
    const taken = await this.append(row, offset, { count, granted }, sent, lease).catch(async (error: unknown) => {
      // The storage may have failed because the upload was deleted with its bytes: then the answer is that it is gone.
      const isOther = error instanceof Problem && error.code !== "recording_not_found";
      if (isOther || error instanceof LeaseLost || (await store.upload(row.app, row.id))) throw error;
      return this.refuseGone(place, lease);
    });
    const isShort = count !== undefined && taken < count;
    // A body without a length has fixed the total only now.
    const isFixed = total !== null || isOpenEnded || isShort;
    const isOpen = isFixed || (await store.touchUpload(row.id, lease.generation, offset + taken, nowMs()));
    // The upload or its application may have been deleted meanwhile.
    if (!isOpen || !(await this.noteAfter(row, lease, offset, taken, !isFixed))) return this.refuseGone(place, lease);
    if (isShort) throw invalidRange(`${count} bytes were announced, but ${taken} arrived`, offset + taken);
    return offset + taken;
  }

  /** Stores the total that a request is the first to name; else notes now and then that the upload is active. false: it is not open. */
  private async noteBefore(row: UploadRow, lease: Lease, stored: number, total: number | null): Promise<boolean> {
    const { store, nowMs } = this.parts;
    const now = nowMs();
    if (total !== null && total !== row.total)
      return (await store.touchUpload(row.id, lease.generation, total, now)) !== undefined;
    const isDue = now - row.touched >= NOTE_EVERY_MS || stored - row.bytes >= NOTE_EVERY_BYTES;
    return lease.note || !isDue ? true : this.note(row, lease, stored);
  }

  /** false: the upload is not open any more. */
  private async noteAfter(
    row: UploadRow,
    lease: Lease,
    offset: number,
    taken: number,
    isWhole: boolean,
  ): Promise<boolean> {
    const { store } = this.parts;
    // The note of `append` is written with the release.
    if (lease.note) return lease.release(true);
    if (isWhole || taken >= NOTE_EVERY_BYTES) return this.note(row, lease, offset + taken);
    return (await store.upload(row.app, row.id)) !== undefined;
  }

  /** false: the upload is not open, or has another writer. */
  private async note(row: UploadRow, lease: Lease, bytes: number): Promise<boolean> {
    const isOpen = await this.parts.store.noteBytes(row.id, lease.generation, bytes, this.parts.nowMs());
    if (isOpen && !lease.note) this.budgets.held.noted(row, lease.generation, bytes);
    return isOpen;
  }

  /** When the last part came, Unix ms: later than the row says, where not every part is noted there. */
  lastWritten({ id, touched }: UploadRow): number {
    return Math.max(this.budgets.held.get(id)?.touched ?? 0, touched);
  }

  /** Another writer has taken over, or the upload was deleted, perhaps with its application: then its bytes are removed. */
  private async refuseGone(place: Place, lease: Lease): Promise<never> {
    const { store, storage, locks } = this.parts;
    this.budgets.held.forget(place.id);
    await lease.confirm(true);
    if (!(await store.upload(place.app, place.id))) {
      if (!(await store.recording(place.app, place.id))) await discardBytes(storage, place);
      await locks.open(place.app, place.id);
    }
    throw notOpen();
  }

  private async append(
    row: UploadRow,
    offset: number,
    expected: Expected,
    { body, check }: Sent,
    lease: Lease,
  ): Promise<number> {
    const { storage, metrics, nowMs, silenceMaxMs = UPLOAD_SILENCE_MAX_MS } = this.parts;
    const place = placeOf(row);
    const limit = this.limitOf(row, offset, expected, lease);
    const received = new UploadBody(body ?? new Blob([]).stream(), limit, silenceMaxMs, this.watchOf(row));
    const chunks = this.markingActive(place.id, lease, received.chunks(), check);
    try {
      await storage.append(place, offset, chunks, lease).finally(() => {
        metrics.bytes.inc(received.count);
        lease.note?.({ bytes: offset + received.count, touched: nowMs() });
        return lease.note ? undefined : this.budgets.held.took(row, lease.generation, offset + received.count);
      });
    } catch (error) {
      // This upload cannot be completed any more: its bytes are removed now, not when it is abandoned. Of a page's recording nothing that has
      // come is lost.
      const isUseless = error instanceof Problem && error.code === "recording_too_large" && row.stay === null;
      if (isUseless) await this.discard(place, lease);
      // They count in the budgets, although the request has failed.
      else if (!lease.note && received.count > 0)
        await this.note(row, lease, offset + received.count).catch(() => false);
      throw error;
    }
    return received.count;
  }

  /** How much of a body is taken. Each share that the budgets grant is noted, so that other nodes count them, and the budgets are asked again. */
  private limitOf(row: UploadRow, offset: number, { count, granted }: Expected, lease: Lease): BodyLimit {
    const { maxBytes } = this.parts;
    const isPart = row.stay !== null && maxBytes - offset > STAY_PART_MAX_BYTES;
    const most = count ?? (isPart ? STAY_PART_MAX_BYTES : Math.max(0, maxBytes - offset));
    let noted = row.bytes;
    let room: Room | undefined;
    const more = async (came: number, wanted: number): Promise<number> => {
      if (came >= most) return most;
      if (came > 0) {
        noted = offset + came;
        if (!(await this.note(row, lease, noted))) throw notOpen();
      }
      room = await this.budgets.next(row, noted, offset + Math.min(wanted, most));
      return Math.min(most, room.bytes - offset);
    };
    const tooMany = (): Problem => {
      if (room && room.bytes < offset + most) return room.refusal();
      if (count === undefined) return isPart ? partTooLarge(offset + most) : this.tooLarge();
      return invalidRange(
        `${count} bytes were announced, but more arrived; the announced bytes are kept`,
        offset + count,
      );
    };
    return { first: granted, more, tooMany };
  }

  /** While a body of a page comes in, its person may be removed, its time may end, or its upload may be deleted: then it is cut, on whichever node. */
  private watchOf({ app, id, stay }: UploadRow): BodyWatch | undefined {
    const { store, nowMs, stayPace: pace = STAY_PACE } = this.parts;
    if (stay === null) return undefined;
    const ask = (): Promise<Problem | undefined> =>
      store.upload(app, id).then(
        (row) => (row ? closedBy(row, nowMs()) : notOpen()),
        // The store does not answer at the moment.
        () => undefined,
      );
    return { ask, pace };
  }

  private async *markingActive(
    id: string,
    lease: Lease,
    chunks: AsyncIterable<Uint8Array>,
    check: Sent["check"],
  ): AsyncGenerator<Uint8Array> {
    const { store, nowMs } = this.parts;
    let touched = nowMs();
    for await (const chunk of chunks) {
      if (nowMs() - touched > TOUCH_EVERY_MS) {
        touched = nowMs();
        if (!(await store.touchUpload(id, lease.generation, null, touched))) throw notOpen();
      }
      check?.();
      yield chunk;
    }
  }

  private tooLarge(): Problem {
    return new Problem("recording_too_large", `A recording can have at most ${this.parts.maxBytes} bytes.`);
  }
}

/** A total of 0 can still change: an empty body, sent as a probe or by mistake, must not make the upload useless. */
function checkTotal({ total }: UploadRow, claimed: number | null): void {
  if (total !== null && total !== 0 && claimed !== null && claimed !== total)
    throw invalidRange(`the upload was begun as one of ${total} bytes, not of ${claimed}`);
}

/** For parts that do not name the total, although it is known: an earlier part has named it, or the upload is being completed. */
function checkFits({ total }: UploadRow, offset: number, count: number): void {
  if (total !== null && total !== 0 && offset + count > total)
    throw invalidRange(`the upload has ${total} bytes, of which ${offset} are stored`, offset);
}

const invalidRange = (message: string, offset?: number): Problem =>
  new Problem("invalid_request", `Content-Range: ${message}.`, undefined, {
    details: [{ field: "Content-Range", message }],
    ...(offset !== undefined && { fields: { offset } }),
  });

/**
 * How many bytes may be stored: by an application (`maxRecordingBytesTotal`: its recordings and open uploads), and by the page of a stay,
 * which also makes at most STAY_RECORDINGS_MAX recordings. The pages of all guests of an application together have half of what it may store,
 * in which each of their uploads and recordings counts as at least GUEST_RECORDING_MIN_BYTES: so their number has a bound too.
 *
 * The sums are read when an upload begins, and then once per GRANT_BYTES or GRANT_MS of each upload, not with each part. They are read earlier if the
 * uploads of the application that come to this process have taken SPENT_SHARE of the room meanwhile: many small uploads must not have one room each. What
 * this process has taken counts here before the store knows of it (held.ts), and bodies that come in count before they have come, until the store has
 * them in every sum that is read. So uploads that are sent to one process never exceed a budget together. Those that are sent to several nodes may: each further node by SPENT_SHARE of the room that was left
 * when it read the sums, at most GRANT_MS ago, and by the bodies that are under way to it.
 *
 * A body with a length counts as a whole from its beginning if the application's server sends it. One of a stay counts at most STAY_AHEAD_MAX_BYTES ahead of
 * what has come of it, and less where there is little room, until as much has come: a guest must not reserve the application's room with a number in a
 * header, or with bodies that never come.
 */
import { guestShareOf } from "../../access/tokens/guests.ts";
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { BytesUsed, RecordingStore, UploadRow } from "../../store/contract/recordings.ts";
import { GUEST_RECORDING_MIN_BYTES } from "../../store/contract/uploads.ts";
import { HeldBytes } from "./held.ts";
import { STAY_AHEAD_MAX_BYTES, STAY_BYTES_MAX, STAY_RECORDINGS_MAX, STAY_UPLOADS_PER_APP_MAX } from "./limits.ts";

const GRANT_BYTES = 16 * 1024 * 1024;
const GRANT_MS = 60_000;
/** Bound: beyond this many, the oldest grant is forgotten, and the sums are read again. */
const GRANTS_MAX = 2000;

/** All uploads of an application together take no more than this share of the room that was left before each of them has another look at the sums. */
const SPENT_SHARE = 1 / 16;

/** A body without a length is granted this share of the room at once, and no less than GRANT_MIN_BYTES: others may need the rest. */
const GRANT_SHARE = 1 / 8;
const GRANT_MIN_BYTES = 64 * 1024;
/** The same of a body of a stay, with a length or without: there may be two per participant, and each may come slowly. */
const STAY_GRANT_SHARE = 1 / 64;

/** An upload may have this many bytes until then, without another look at the sums. */
interface Grant {
  readonly bytes: number;
  /** How many bytes of one body count before they have come. */
  readonly ahead: number;
  readonly untilMs: number;
  /** It ends when this process has taken as many bytes for all uploads of the application. */
  readonly untilSpent: number;
}

/** How many bytes an upload may have, and what to answer beyond. */
export interface Room {
  readonly bytes: number;
  readonly refusal: () => Problem;
}

/** How far a body of a stay is ahead of what has come: by as much as came already, or else by a share of the room that is left. */
const aheadOfStay = (left: number, came: number): number =>
  Math.min(STAY_AHEAD_MAX_BYTES, Math.max(GRANT_MIN_BYTES, came, Math.floor(left * STAY_GRANT_SHARE)));

/** As how many bytes an upload of a guest counts in what guests have. */
const ofGuest = (bytes: number): number => Math.max(bytes, GUEST_RECORDING_MIN_BYTES);

type Spender = Pick<UploadRow, "id" | "app" | "stay" | "byGuest" | "bytes">;

/** An upload to which a body comes. */
interface ComingIn {
  readonly app: AppId;
  readonly stay: string | null;
  readonly byGuest: boolean;
  /** What the sums of the store have of it. */
  readonly noted: number;
  /** What it may have by the next look at the sums. */
  readonly bytes: number;
}

/** An upload whose body had come while sums were read: they may be from before. */
interface CameMeanwhile extends ComingIn {
  readonly at: number;
}

/** Sums that leave too little room are read again as often if they may count what has come meanwhile twice. */
const READS_MAX = 3;

export class Budgets {
  /** Bound: GRANTS_MAX, the oldest is forgotten. */
  private readonly grants = new Map<string, Grant>();
  /** Bound: one entry per request under way, which is one per open upload. */
  private readonly comingIn = new Map<string, ComingIn>();
  /** When the reads of sums that are under way have begun, as a count of all. Bound: two per request under way. */
  private readonly reading = new Set<number>();
  private reads = 0;
  /** Bound: requests that end while sums are read. */
  private came: CameMeanwhile[] = [];
  /** Bytes that this process has taken since it began. Bound: one number per application, and these are made by operators. */
  private readonly spent = new Map<AppId, number>();
  readonly held: HeldBytes;

  constructor(
    private readonly store: Pick<RecordingStore, "bytesUsed" | "noteBytes">,
    private readonly nowMs: () => number,
    private readonly maxOfStay = STAY_BYTES_MAX,
  ) {
    this.held = new HeldBytes(store, nowMs);
  }

  /** Throws if no upload can be added. */
  async requireRoom({ app, stay, byGuest }: Pick<Spender, "app" | "stay" | "byGuest">): Promise<void> {
    const one = { id: "", app, stay, byGuest, bytes: 0 };
    const needed = byGuest ? GUEST_RECORDING_MIN_BYTES : 1;
    const used = await this.withSums(one, needed, ({ bytes, refusal }, sums) => {
      if (bytes < needed) throw refusal();
      return sums;
    });
    if (stay === null) return;
    if (used.countOfStay >= STAY_RECORDINGS_MAX) throw tooManyOfStay();
    const isShareUsedUp = byGuest && used.uploadsOfGuests >= guestShareOf(STAY_UPLOADS_PER_APP_MAX);
    if (isShareUsedUp || used.uploadsOfStays >= STAY_UPLOADS_PER_APP_MAX) throw tooManyOfStays();
  }

  /**
   * A body of `count` bytes comes, until `ended` is called. Throws if the upload may not have that many; `total`: how many its sender says that it will
   * have in the end. Returns how many of them are taken before `next` is called.
   */
  async requireBody(row: UploadRow, offset: number, count: number, total: number | null): Promise<number> {
    const isOfStay = row.stay !== null;
    const end = offset + count;
    const bytes = isOfStay ? end : Math.max(end, total ?? 0);
    const comes = (grant: Grant): number => {
      const first = Math.min(count, grant.ahead);
      this.comes(row, row.bytes, isOfStay ? offset + first : end);
      return first;
    };
    const granted = this.grantOf(row, bytes, count);
    if (granted) return comes(granted);
    return this.withSums(row, bytes, (room) => {
      if (bytes > room.bytes) throw room.refusal();
      return comes(this.grant(row, offset, bytes, room));
    });
  }

  /**
   * Reads what the store has of the application and the stay, and calls `use` with the room that is left, without a pause: two bodies must not be given
   * the same room. An upload that needs more than there is room for must not fail for what is counted too high.
   */
  private async withSums<T>(one: Spender, needed: number, use: (room: Room, used: BytesUsed) => T): Promise<T> {
    for (let tries = 1; ; tries++) {
      const since = ++this.reads;
      this.reading.add(since);
      try {
        const used = await this.store.bytesUsed(one.app, one.stay);
        const room = this.roomOf(one, used, since);
        if (room.bytes >= needed || tries === READS_MAX) return use(room, used);
        const mayBeLess = this.came.some(({ at, app }) => at >= since && app === one.app);
        if (!(await this.held.noteIdle(one.app)) && !mayBeLess) return use(this.roomOf(one, used, since), used);
      } finally {
        this.reading.delete(since);
        const oldest = Math.min(...this.reading);
        this.came = this.came.filter(({ at }) => at >= oldest);
      }
    }
  }

  private grantOf({ id, app }: UploadRow, bytes: number, count: number): Grant | undefined {
    const grant = this.grants.get(id);
    const now = this.nowMs();
    if (!grant || bytes > grant.bytes || this.spentOf(app) + count > grant.untilSpent) return undefined;
    // One of a clock that was ahead must not last longer.
    return now < grant.untilMs && grant.untilMs - now <= GRANT_MS ? grant : undefined;
  }

  private spentOf(app: AppId): number {
    return this.spent.get(app) ?? 0;
  }

  private grant(row: UploadRow, offset: number, bytes: number, room: Room): Grant {
    const grant: Grant = {
      bytes: Math.min(room.bytes, bytes + GRANT_BYTES),
      ahead: row.stay === null ? GRANT_BYTES : aheadOfStay(room.bytes - row.bytes, 0),
      untilMs: this.nowMs() + GRANT_MS,
      untilSpent: this.spentOf(row.app) + (bytes - offset) + Math.floor((room.bytes - bytes) * SPENT_SHARE),
    };
    this.grants.delete(row.id);
    this.grants.set(row.id, grant);
    const [oldest] = this.grants.keys();
    if (this.grants.size > GRANTS_MAX && oldest !== undefined) this.grants.delete(oldest);
    return grant;
  }

  /**
   * A body goes on, or one without a length begins: how many bytes the upload may have until this is asked again. That is less than `wanted` only if there
   * is no room. `noted`: what the store has of it.
   */
  async next(row: UploadRow, noted: number, wanted: number): Promise<Room> {
    const own = { ...row, bytes: noted };
    return this.withSums(own, wanted, (room) => {
      const left = room.bytes - noted;
      const step = row.stay === null ? this.stepOf(row, left, wanted) : aheadOfStay(left, noted - row.bytes);
      const bytes = Math.min(room.bytes, Math.max(wanted, noted + step));
      this.comes(row, noted, bytes);
      return { ...room, bytes };
    });
  }

  private stepOf({ id }: UploadRow, left: number, wanted: number): number {
    const isPromised = (this.comingIn.get(id)?.bytes ?? 0) >= wanted;
    return isPromised ? GRANT_BYTES : Math.min(GRANT_BYTES, Math.max(GRANT_MIN_BYTES, Math.floor(left * GRANT_SHARE)));
  }

  /** No more bytes come with this request, and the store has those that came, unless they are held. */
  ended(id: string): void {
    const coming = this.comingIn.get(id);
    this.comingIn.delete(id);
    if (coming && this.reading.size > 0 && !this.held.get(id)) this.came.push({ ...coming, at: this.reads });
  }

  private comes(row: UploadRow, noted: number, bytes: number): void {
    const { id, app, stay, byGuest } = row;
    const inStore = this.held.notedOf({ id, bytes: noted });
    const before = this.comingIn.get(id)?.bytes ?? Math.max(inStore, this.held.get(id)?.bytes ?? 0);
    this.spent.set(app, this.spentOf(app) + Math.max(0, bytes - before));
    this.comingIn.set(id, { app, stay, byGuest, noted: inStore, bytes: Math.max(bytes, before) });
  }

  /** For an upload or one to come; what it has itself is part of its room. `since`: when the read of the sums began. */
  private roomOf({ id, app, stay, byGuest, bytes }: Spender, used: BytesUsed, since: number): Room {
    const own = this.held.notedOf({ id, bytes });
    let [ofApp, ofStay] = [used.maxOfApp - used.ofApp + own, this.maxOfStay - used.ofStay + own];
    const share = guestShareOf(used.maxOfApp);
    let ofGuests = share - used.ofGuests + (id === "" ? 0 : ofGuest(own));
    const count = (other: ComingIn): void => {
      if (other.app !== app) return;
      const unnoted = Math.max(0, other.bytes - other.noted);
      ofApp -= unnoted;
      if (other.stay === stay) ofStay -= unnoted;
      if (other.byGuest) ofGuests -= Math.max(0, ofGuest(other.bytes) - ofGuest(other.noted));
    };
    for (const [other, coming] of this.comingIn) if (other !== id) count(coming);
    for (const meanwhile of this.came) if (meanwhile.at >= since) count(meanwhile);
    for (const [other, held] of this.held.all()) if (other !== id && !this.comingIn.has(other)) count(held);
    if (stay !== null && ofStay < ofApp && (!byGuest || ofStay < ofGuests))
      return { bytes: ofStay, refusal: () => overStay(this.maxOfStay) };
    if (byGuest && ofGuests < ofApp) return { bytes: ofGuests, refusal: () => overGuests(share) };
    return { bytes: ofApp, refusal: () => overApplication(used.maxOfApp) };
  }
}

const overApplication = (max: number): Problem =>
  new Problem(
    "insufficient_storage",
    `This application's recordings and open uploads are limited to ${max} bytes (maxRecordingBytesTotal). Delete some, or ask an operator to raise the limit.`,
    undefined,
    { fields: { budget: "application" } },
  );

const overGuests = (max: number): Problem =>
  new Problem(
    "insufficient_storage",
    `Recordings and open uploads of people without an invitation are limited to ${max} bytes, half of the application's limit (maxRecordingBytesTotal), and each counts as at least ${GUEST_RECORDING_MIN_BYTES}. Delete some, or ask an operator to raise the limit.`,
    undefined,
    { fields: { budget: "guests" } },
  );

const overStay = (max: number): Problem =>
  new Problem(
    "insufficient_storage",
    `One participant's recordings are limited to ${max} bytes in a meeting. What arrived is kept; leave the meeting and join again to record more.`,
    undefined,
    { fields: { budget: "stay" } },
  );

/** Not as too many open uploads, which the page would try again: of these, none ends. */
const tooManyOfStay = (): Problem =>
  new Problem(
    "insufficient_storage",
    `One participant can make at most ${STAY_RECORDINGS_MAX} recordings in a meeting. Leave the meeting and join again to record more.`,
    undefined,
    { fields: { budget: "stay" } },
  );

const tooManyOfStays = (): Problem =>
  new Problem(
    "too_many_uploads",
    `An application's participants can have at most ${STAY_UPLOADS_PER_APP_MAX} uploads that are open or waiting to be listed. Try again later; uploads of people who have left are completed after 30 minutes.`,
  );

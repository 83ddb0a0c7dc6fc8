/**
 * How many bytes may be stored: by an application (`maxRecordingBytesTotal`: its recordings and open uploads), and by the page of a stay.
 *
 * The sums are read when an upload begins, and then once per GRANT_BYTES or GRANT_MS of each upload, not with each part. So uploads that
 * are sent at the same time may exceed a budget together, by at most GRANT_BYTES each; one alone never does.
 */
import { Problem } from "../protocol/codes.ts";
import type { RecordingStore, UploadRow } from "../store/recordings.ts";
import { STAY_BYTES_MAX } from "./limits.ts";

const GRANT_BYTES = 16 * 1024 * 1024;
const GRANT_MS = 60_000;
/** Bound: beyond this many, the oldest grant is forgotten, and the sums are read again. */
const GRANTS_MAX = 2000;

/** An upload may have this many bytes until then, without another look at the sums. */
interface Grant {
  readonly bytes: number;
  readonly untilMs: number;
}

/** How many bytes an upload may have, and what to answer beyond. */
export interface Room {
  readonly bytes: number;
  readonly refusal: () => Problem;
}

type Spender = Pick<UploadRow, "app" | "stay" | "bytes">;

export class Budgets {
  private readonly grants = new Map<string, Grant>();

  constructor(
    private readonly store: Pick<RecordingStore, "bytesUsed">,
    private readonly nowMs: () => number,
    private readonly maxOfStay = STAY_BYTES_MAX,
  ) {}

  /** Throws if nothing can be added at all. */
  async requireRoom(app: string, stay: string | null): Promise<void> {
    const { bytes, refusal } = await this.roomOf({ app, stay, bytes: 0 });
    if (bytes <= 0) throw refusal();
  }

  /** Throws if the upload may not have that many bytes. */
  async require(row: UploadRow, bytes: number): Promise<void> {
    const grant = this.grants.get(row.id);
    const now = this.nowMs();
    // One of a clock that was ahead must not last longer.
    if (grant && bytes <= grant.bytes && now < grant.untilMs && grant.untilMs - now <= GRANT_MS) return;
    const room = await this.roomOf(row);
    if (bytes > room.bytes) throw room.refusal();
    this.grants.delete(row.id);
    this.grants.set(row.id, { bytes: Math.min(room.bytes, bytes + GRANT_BYTES), untilMs: now + GRANT_MS });
    const [oldest] = this.grants.keys();
    if (this.grants.size > GRANTS_MAX && oldest !== undefined) this.grants.delete(oldest);
  }

  /** For an upload or one to come; what it has itself is part of its room. */
  async roomOf({ app, stay, bytes }: Spender): Promise<Room> {
    const used = await this.store.bytesUsed(app, stay);
    const ofApp = used.maxOfApp - used.ofApp + bytes;
    const ofStay = stay === null ? Number.POSITIVE_INFINITY : this.maxOfStay - used.ofStay + bytes;
    return ofStay < ofApp
      ? { bytes: ofStay, refusal: () => overStay(this.maxOfStay) }
      : { bytes: ofApp, refusal: () => overApplication(used.maxOfApp) };
  }
}

const overApplication = (max: number): Problem =>
  new Problem(
    "insufficient_storage",
    `The recordings and open uploads of this application may have ${max} bytes (maxRecordingBytesTotal): delete some, or let an operator raise the limit.`,
    undefined,
    { fields: { budget: "application" } },
  );

const overStay = (max: number): Problem =>
  new Problem(
    "insufficient_storage",
    `The recordings of one participant may have ${max} bytes in a meeting: what has come is kept; leave the meeting and join to record more.`,
    undefined,
    { fields: { budget: "stay" } },
  );

/**
 * The stays of this node: they begin with a connection and go on over lost ones. The newest connection of a stay wins, on whichever node it
 * is; the older ones are closed with 4021 `replaced`.
 */
import { newObjectId } from "../access/ids.ts";
import type { RoomSeat } from "../access/room-token.ts";
import { Problem } from "../protocol/codes.ts";
import { isObject } from "../protocol/json.ts";
import { valuesOf } from "../rooms/rooms.ts";
import type { Entered, Entering, MeetingRow, MeetingStore, StayEnd, StayRow } from "../store/meetings.ts";
import type { RoomRow, RoomStore } from "../store/rooms.ts";
import type { Floor, PutOut } from "./floor.ts";
import { OPENS_WITHIN_MS } from "./limits.ts";
import { nextMeetingId } from "./meeting-id.ts";
import type { Present } from "./present.ts";
import { accessOf, capacityOf } from "./rights.ts";
import type { StayWrites } from "./stay-writes.ts";

export interface StayParts {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly floor: Floor;
  readonly present: Present;
  readonly writes: StayWrites;
  readonly nodeId: string;
  readonly nowMs: () => number;
  /** PARLEY_MESH_MAX. */
  readonly meshMax: number;
  /** This node is about to have a stay: it must be known to be alive. */
  readonly beat: () => Promise<void>;
  /** The meeting begins: its chat may have to be empty. */
  readonly meetingBegan: (meeting: MeetingRow, room: RoomRow) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/** What other parts of meetings/ hear of. */
export interface StayListener {
  /** A connection of the stay is open on this node, and its room is in Present. */
  connected?(seat: RoomSeat): void;
  /** The stay has ended; called on the node that has ended it. */
  ended?(stay: StayRow): void;
}

/** Let in, but not open yet. */
interface Admitted {
  readonly row: RoomRow;
  readonly stay: StayRow;
  readonly enteredMs: number;
  readonly isBack: boolean;
  /** It must be closed as soon as it opens. */
  closing?: PutOut;
}

/** Asked of all nodes. */
const REPLACED = "meetings.replaced";

export class Stays {
  /** Bound: connections that are being opened, at most OPENS_WITHIN_MS. */
  private readonly admitted = new Map<RoomSeat, Admitted>();
  private readonly listeners: StayListener[] = [];

  constructor(private readonly parts: StayParts) {
    parts.floor.on(REPLACED, (payload) => this.replacedElsewhere(payload));
  }

  listen(listener: StayListener): void {
    this.listeners.push(listener);
  }

  /** Nobody is here: the node need not say that it is alive. */
  get isEmpty(): boolean {
    return this.parts.present.isEmpty && this.admitted.size === 0 && this.parts.writes.size === 0;
  }

  isHere({ room, id }: Pick<StayRow, "room" | "id">): boolean {
    return this.parts.present.room(room)?.stays.has(id) === true;
  }

  /** Before the upgrade. Rejects with a Problem. */
  async enter(seat: RoomSeat): Promise<void> {
    const { claims } = seat;
    const { rooms, store, nowMs } = this.parts;
    const now = nowMs();
    await this.parts.writes.settled(claims.id);
    const row = await rooms.roomById(claims.app, claims.room, now);
    if (!row) throw new Problem("room_not_found");
    if (claims.beginBy !== undefined && claims.beginBy * 1000 <= now && !(await store.stay(claims.id)))
      throw new Problem("token_expired", "The place was not taken in time: join again.");
    await this.parts.beat();
    const entered = await store.enter(await this.entering(seat, row), capacityOf(row, this.parts.meshMax), now);
    const { stay, meeting, outcome } = orRefusal(entered);
    if (outcome === "began" && meeting.began === stay.began) await this.parts.meetingBegan(meeting, row);
    seat.access = accessOf(row, claims);
    this.admitted.set(seat, { row, stay, enteredMs: now, isBack: outcome === "back" });
  }

  connected(seat: RoomSeat, connection: string): void {
    const { floor, present } = this.parts;
    const { app, id } = seat.claims;
    const admitted = this.admitted.get(seat);
    if (!admitted) return;
    this.admitted.delete(seat);
    const { row, stay, enteredMs, isBack, closing } = admitted;
    const earlier = present.stay(seat);
    if (closing) {
      floor.close(app, id, closing, earlier?.connection);
      return;
    }
    // Two handshakes of one stay may open in the other order.
    if (earlier && earlier.enteredMs > enteredMs) {
      floor.close(app, id, "replaced", earlier.connection);
      return;
    }
    present.add(row, { seat, connection, enteredMs, ejectAt: stay.ejectAt });
    if (earlier) floor.close(app, id, "replaced", connection);
    if (isBack) this.tellOthers(seat, enteredMs).catch(this.parts.failed);
    for (const listener of this.listeners) listener.connected?.(seat);
  }

  /** Connections that were replaced or put out are not present any more: they change nothing. */
  disconnected(seat: RoomSeat, connection: string, isGoodbye: boolean): void {
    const { present, writes, store, nodeId, nowMs } = this.parts;
    const { id, room } = seat.claims;
    const now = nowMs();
    // It was let in, but no connection opened.
    const isUnopened = this.admitted.delete(seat) && !present.stay(seat);
    if (!isUnopened && present.stay(seat)?.connection !== connection) return;
    present.remove(room, id);
    writes.put(id, isGoodbye ? () => this.end(id, "left", now).then(() => {}) : () => store.lost(id, nodeId, now));
  }

  /** A connection goes on with another token of its stay: its rights are those of the new one. */
  renewed(seat: RoomSeat, before: RoomSeat): void {
    const { present } = this.parts;
    const room = present.room(seat.claims.room);
    const stay = present.stay(before);
    if (!room || !stay || seat.claims.id !== before.claims.id) return;
    seat.access = accessOf(room.row, seat.claims);
    present.add(room.row, { ...stay, seat });
  }

  /** Ends a stay once, and says so to the others here. undefined: it had ended before. */
  async end(id: string, why: StayEnd, atMs: number): Promise<StayRow | undefined> {
    const stay = await this.parts.store.end(id, why, atMs);
    if (stay) for (const listener of this.listeners) listener.ended?.(stay);
    return stay;
  }

  /** On this node: the connections of a stay are closed, also those that are being opened. Returns how many there were. */
  closeHere(app: string, room: string, id: string, reason: PutOut): number {
    for (const [{ claims }, admitted] of this.admitted)
      if (claims.id === id && claims.app === app) admitted.closing = reason;
    this.parts.present.remove(room, id);
    return this.parts.floor.close(app, id, reason);
  }

  /** Connections that were let in and did not open: their stays have none. */
  releaseUnopened(): void {
    const { writes, store, nodeId, nowMs, present } = this.parts;
    const before = nowMs() - OPENS_WITHIN_MS;
    for (const [seat, { enteredMs }] of this.admitted) {
      if (enteredMs > before) continue;
      this.admitted.delete(seat);
      const { id } = seat.claims;
      if (!present.stay(seat)) writes.put(id, () => store.lost(id, nodeId, enteredMs));
    }
  }

  private async entering({ claims }: RoomSeat, row: RoomRow): Promise<Entering> {
    const { nodeId } = this.parts;
    const { ejectAtRoomExp, expireUnixSec } = valuesOf(row);
    return {
      id: claims.id,
      app: claims.app,
      room: claims.room,
      roomName: row.name,
      name: claims.name,
      externalUserId: claims.externalUserId ?? null,
      isAdmin: claims.isAdmin,
      isGuest: claims.isGuest,
      accessToken: claims.accessToken ?? null,
      node: nodeId,
      newMeeting: await this.newMeeting(claims),
      ejectAfterSec: claims.ejectAfterSec ?? null,
      ejectAtLatest: ejectAtRoomExp && expireUnixSec !== undefined ? expireUnixSec * 1000 : null,
    };
  }

  /** The id that the join has announced, unless that meeting has come and gone since. */
  private async newMeeting({ app, room, meeting, opensMeeting }: RoomSeat["claims"]): Promise<string> {
    const { store, nowMs } = this.parts;
    if (!opensMeeting || meeting === undefined) return newObjectId(nowMs());
    const known = await store.meeting(app, meeting);
    return known && known.ended !== null ? nextMeetingId(store, app, room, nowMs()) : meeting;
  }

  /** An older connection on another node is closed there; if a newer one is there, this one is closed here. */
  private async tellOthers({ claims: { app, room, id } }: RoomSeat, enteredMs: number): Promise<void> {
    const { floor, nodeId, present } = this.parts;
    const answers = await floor.ask(REPLACED, { app, room, id, enteredMs, node: nodeId });
    if (!answers.includes("newer") || present.room(room)?.stays.get(id)?.enteredMs !== enteredMs) return;
    present.remove(room, id);
    floor.close(app, id, "replaced");
  }

  private replacedElsewhere(payload: unknown): string {
    const { app, room, id, enteredMs, node } = payload as Record<string, string> & { readonly enteredMs: number };
    const { floor, nodeId, present } = this.parts;
    if (!isObject(payload) || !app || !room || !id || !node || node === nodeId) return "none";
    for (const [{ claims }, admitted] of this.admitted)
      if (claims.id === id && claims.app === app && admitted.enteredMs < enteredMs) admitted.closing = "replaced";
    const here = present.room(room)?.stays.get(id);
    if (!here) return "none";
    if (here.enteredMs > enteredMs || (here.enteredMs === enteredMs && nodeId > node)) return "newer";
    present.remove(room, id);
    floor.close(app, id, "replaced");
    return "closed";
  }
}

function orRefusal(entered: Entered): Exclude<Entered, { readonly outcome: "full" | "ended" | "removed" | "locked" }> {
  switch (entered.outcome) {
    case "began":
    case "back":
      return entered;
    case "full":
      throw new Problem("room_full");
    case "locked":
      throw new Problem("room_locked");
    case "removed":
      throw new Problem("removed");
    case "ended":
      throw new Problem("token_expired", "This stay has ended: join again.");
  }
}

/**
 * The stays of this node: they begin with a connection and go on over lost ones. The newest connection of a stay wins, on whichever node it
 * is; the older ones are closed with 4021 `replaced`.
 *
 *     enter() → coming → opening → present → lost, or left with a goodbye (in the store)
 *
 *     a connection is       coming              opening                           present
 *     while                 the store decides   it is upgraded                    it is open, and the newest here
 *     closed by an act      when it opens       when it opens                     at once
 *     replaced, here        -                   when it opens                     when the newer one opens
 *     replaced, elsewhere   when it opens, if   when it opens, if the other one   at once, if the other one is newer
 *                           the other is newer  is newer
 *     renamed               when accepted       at once                           at once, by the floor
 *     ended by its client   -                   written, unless one is present    written
 *     not opened in time    -                   as if it had been lost            -
 *
 * One that was closed is not present any more, so its end writes nothing: what becomes of the stay was decided with the close.
 */
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import { type AppId, asAppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import { isObject, type JsonObject } from "../../protocol/json.ts";
import type { MeetingStore, OverdueStay, StayEnd, StayRow } from "../../store/contract/meetings.ts";
import type { CloseReason, Floor } from "../contract/floor.ts";
import { ENTERED_AGAIN_WITHIN_MS, OPENS_WITHIN_MS } from "../contract/limits.ts";
import { accessOf } from "../rules/rights.ts";
import type { Admission, Entry } from "./entry.ts";
import type { Present, PresentStay } from "./present.ts";
import type { StayWrites } from "./writes.ts";

interface StayParts {
  readonly store: MeetingStore;
  readonly floor: Floor;
  readonly present: Present;
  readonly entry: Entry;
  readonly writes: StayWrites;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
  readonly failed: (error: unknown) => void;
}

/** What other parts of meetings/ hear of. */
export interface StayListener {
  /** A connection of the stay is open on this node, and its room is in Present. */
  connected?(seat: RoomSeat): void;
  /** The stay has ended; called on the node that has ended it. */
  ended?(stay: StayRow): void;
}

/** On its way in: it is closed as soon as it opens if it was put out meanwhile. */
interface Coming {
  readonly seat: RoomSeat;
  closing?: CloseReason;
  /** It was renamed meanwhile. */
  name?: string;
  /** Another node has a connection of the stay: the newest. */
  elsewhere?: Elsewhere;
}

/** A connection of the stay on another node. */
interface Elsewhere {
  /** Unix ms. */
  readonly enteredMs: number;
  readonly node: string;
}

/** Accepted, but not open yet. */
interface Opening extends Admission, Pick<Coming, "closing"> {
  /** Other nodes may have a connection of the stay. */
  isBack: boolean;
  /** Monotonic ms. */
  readonly openingSinceMs: number;
}

/** How a stay ends whose connection was on this node. */
type EndedHere = "left" | "ended" | "time";

/** Asked of all nodes: a stay has a newer connection; which of these stays have a connection there; end a stay in the store. */
const REPLACED = "meetings.replaced";
const CONNECTED = "meetings.connected";
const END = "meetings.end";

export class Stays {
  /** The store is being asked. Bound: handshakes under way. */
  private readonly coming = new Set<Coming>();
  /** Bound: connections that are being opened, at most OPENS_WITHIN_MS. */
  private readonly opening = new Map<RoomSeat, Opening>();
  /** Bound: registered at the start. */
  private readonly listeners: StayListener[] = [];

  constructor(private readonly parts: StayParts) {
    parts.floor.on(REPLACED, (payload) => this.replacedElsewhere(payload));
    parts.floor.on(CONNECTED, (payload) => this.enterAgain(payload));
    parts.floor.on(END, (payload) => this.endForOther(payload));
  }

  listen(listener: StayListener): void {
    this.listeners.push(listener);
  }

  /** No one is here: the node need not say that it is alive. */
  get isEmpty(): boolean {
    return this.parts.present.isEmpty && this.opening.size === 0 && this.parts.writes.size === 0;
  }

  /** Before the upgrade. Rejects with a Problem. */
  async enter(seat: RoomSeat): Promise<void> {
    await this.parts.writes.arrive(seat.claims.id, () => this.letIn(seat));
  }

  private async letIn(seat: RoomSeat): Promise<void> {
    // Its stay may begin, and be ended by an act, before the answer of the store is here.
    const coming: Coming = { seat };
    this.coming.add(coming);
    try {
      const admission = await this.parts.entry.enter(seat.claims);
      seat.access = admission.access;
      // Not the token's: two joins of one page may have been given different names, and the stay may have been renamed.
      seat.name = coming.name ?? admission.stay.name;
      const openingSinceMs = this.parts.monotonicMs();
      const opening: Opening = { ...admission, openingSinceMs, ...(coming.closing && { closing: coming.closing }) };
      this.opening.set(seat, opening);
      if (coming.elsewhere) this.meet(opening, coming.elsewhere);
    } finally {
      this.coming.delete(coming);
    }
  }

  connected(seat: RoomSeat, connection: string): void {
    const { floor, present } = this.parts;
    const { app, id } = seat.claims;
    const opening = this.opening.get(seat);
    if (!opening) return;
    this.opening.delete(seat);
    const { row, stay, enteredMs, isBack, closing } = opening;
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
    const { present } = this.parts;
    const { id, room } = seat.claims;
    const here = present.stay(seat);
    const isUnopened = this.opening.delete(seat) && !here;
    if (!isUnopened && here?.connection !== connection) return;
    present.remove(room, id);
    this.write(id, isGoodbye);
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

  /** Ends a stay once, and says so to the listeners here. undefined: it had ended before. `node` is that of `MeetingStore.end`. */
  async end(id: string, why: StayEnd, atMs: number, node?: string): Promise<StayRow | undefined> {
    const stay = await this.parts.store.end(id, why, atMs, node);
    if (stay) this.ended(stay);
    return stay;
  }

  /**
   * The same for a stay that was on this node, which may be the only one that cannot reach the store: then another one writes it. Otherwise
   * the stay would hold its place until it counts as lost, and the record would say so.
   */
  private async endHereOrElsewhere(id: string, why: EndedHere, atMs: number): Promise<void> {
    const { floor, nodeId, failed } = this.parts;
    try {
      await this.end(id, why, atMs, onlyOn(nodeId, why));
    } catch (error) {
      const answers = await floor.ask(END, { id, why, atMs, node: nodeId }).catch(failed);
      if (!answers?.includes(true)) throw error;
    }
  }

  /** It was put out, and its connections are closed. That is written as soon as any node can. */
  endLater(id: string, why: "ended" | "time", atMs: number): void {
    this.parts.writes.put(id, () => this.endHereOrElsewhere(id, why, atMs), true);
  }

  private async endForOther(payload: unknown): Promise<boolean> {
    const { id, why, atMs, node } = isObject(payload) ? payload : {};
    if (typeof id !== "string" || typeof atMs !== "number" || node === this.parts.nodeId) return false;
    if (why !== "left" && why !== "ended" && why !== "time") return false;
    try {
      // This node's clock bounds the other's: a stay must not end in the future.
      await this.end(id, why, Math.min(atMs, this.parts.nowMs()), onlyOn(node, why));
      return true;
    } catch {
      // It cannot reach the store either; who asks repeats it, and reports why it has to.
      return false;
    }
  }

  /** The store has ended it. */
  ended(stay: StayRow): void {
    for (const listener of this.listeners) listener.ended?.(stay);
  }

  /** On this node: the connections of a stay are closed, also those that are being opened. Returns how many there were. */
  closeHere(app: AppId, room: string, id: string, reason: CloseReason): number {
    for (const coming of this.coming)
      if (coming.seat.claims.id === id && coming.seat.claims.app === app) coming.closing = reason;
    for (const [{ claims }, opening] of this.opening)
      if (claims.id === id && claims.app === app) opening.closing = reason;
    this.parts.present.remove(room, id);
    return this.parts.floor.close(app, id, reason);
  }

  /** Whether a connection of the stay is open on this node. */
  isHere(room: string, id: string): boolean {
    return this.parts.present.room(room)?.stays.has(id) === true;
  }

  /** The same, or one is on its way in. */
  isExpected(room: string, id: string): boolean {
    const arriving = [...this.coming.values().map(({ seat }) => seat), ...this.opening.keys()];
    return this.isHere(room, id) || arriving.some(({ claims }) => claims.id === id);
  }

  /** On this node: the connections of a stay show this name, also those that are being opened. */
  renameHere(app: AppId, id: string, name: string): void {
    for (const coming of this.coming)
      if (coming.seat.claims.id === id && coming.seat.claims.app === app) coming.name = name;
    for (const seat of this.opening.keys()) if (seat.claims.id === id && seat.claims.app === app) seat.name = name;
    this.parts.floor.rename(app, id, name);
  }

  /** Connections that were accepted and did not open: their stays have none. */
  releaseUnopened(): void {
    const before = this.parts.monotonicMs() - OPENS_WITHIN_MS;
    for (const [seat, { openingSinceMs }] of this.opening)
      if (openingSinceMs <= before) this.disconnected(seat, "", false);
  }

  /**
   * The store takes these stays for lost. A node that has a connection of one of them says so and enters it again: its beats did not reach
   * the store for a while, or a second connection of the stay came and went elsewhere. One that cannot reach the store says so, and this node beats for it: its
   * people are inside, and their places must not be given to others.
   */
  async keepConnected(overdue: readonly OverdueStay[]): Promise<void> {
    const stays = overdue.map(({ stay }) => `${stay.room} ${stay.id}`);
    const answers = await this.parts.floor.ask(CONNECTED, { stays });
    for (const { node } of answers.filter(isObject))
      if (typeof node === "string" && overdue.some(({ stay }) => stay.node === node))
        await this.parts.store.beat(node, this.parts.nowMs());
  }

  /** How many were entered again; if it could not be all of them, which node has them. */
  private async enterAgain(payload: unknown): Promise<number | JsonObject> {
    const stays = isObject(payload) && Array.isArray(payload.stays) ? payload.stays : [];
    const here = stays.flatMap((one): PresentStay[] => {
      const [room = "", id = ""] = String(one).split(" ");
      const stay = this.parts.present.room(room)?.stays.get(id);
      return stay ? [stay] : [];
    });
    const { entry, nodeId, failed } = this.parts;
    const enterAll = async (): Promise<boolean> => {
      const entered = await Promise.allSettled(here.map(({ seat }) => entry.enter(seat.claims)));
      // A refusal is no fault: its stay has ended meanwhile.
      for (const one of entered) if (one.status === "rejected" && !(one.reason instanceof Problem)) failed(one.reason);
      return entered.every(({ status }) => status === "fulfilled");
    };
    // Who asks does not wait for long, and a store that cannot be reached may fall silent.
    const isDone = await Promise.race([enterAll(), Bun.sleep(ENTERED_AGAIN_WITHIN_MS).then(() => false)]);
    return isDone ? here.length : { node: nodeId };
  }

  private write(id: string, isGoodbye: boolean): void {
    const { writes, store, nodeId, nowMs } = this.parts;
    const now = nowMs();
    writes.put(id, async () => {
      if (isGoodbye) await this.endHereOrElsewhere(id, "left", now);
      else await store.lost(id, nodeId, now);
    });
  }

  /**
   * The store says that another node has the connection of a stay that has one here: nodes could not reach each other when the newer one was opened. The older
   * one is closed.
   */
  async settle({ seat, enteredMs }: PresentStay): Promise<void> {
    await this.tellOthers(seat, enteredMs);
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
    if (!isObject(payload)) return "none";
    const { app, room, id, node } = payload as Record<string, string | undefined>;
    const { floor, nodeId, present } = this.parts;
    if (!app || !room || !id || !node || node === nodeId) return "none";
    const other: Elsewhere = { enteredMs: Number(payload.enteredMs), node };
    for (const coming of this.coming) {
      const { claims } = coming.seat;
      if (claims.id === id && claims.app === app && isOlder(coming.elsewhere, other)) coming.elsewhere = other;
    }
    for (const [{ claims }, opening] of this.opening)
      if (claims.id === id && claims.app === app) this.meet(opening, other);
    const here = present.room(room)?.stays.get(id);
    if (!here) return "none";
    if (!isOlder({ enteredMs: here.enteredMs, node: nodeId }, other)) return "newer";
    present.remove(room, id);
    floor.close(asAppId(app), id, "replaced");
    return "closed";
  }

  /** If the other one is older, the opening one says so when it opens: it may not open at all. */
  private meet(opening: Opening, other: Elsewhere): void {
    if (isOlder({ enteredMs: opening.enteredMs, node: this.parts.nodeId }, other)) opening.closing ??= "replaced";
    else opening.isBack = true;
  }
}

/** A goodbye may be written late: it is that of one connection, and the stay may have another one on another node by then. */
const onlyOn = (node: unknown, why: EndedHere): string | undefined =>
  why === "left" && typeof node === "string" ? node : undefined;

/** The order of two connections of a stay on two nodes, the same on both. */
function isOlder(one: Elsewhere | undefined, other: Elsewhere): boolean {
  if (!one || one.enteredMs < other.enteredMs) return true;
  return one.enteredMs === other.enteredMs && one.node < other.node;
}

/**
 * The lobby: who waits to be let into a private room, and what became of them. The queue is in the store, so it is there whether or not an admin is, and
 * whichever node they are on. A place that no one has a connection of is forgotten; while there is one (waiting-connections.ts), its node says so from time to
 * time. All of this knows a visitor by its waitId; the ticket comes in with a join, and is kept nowhere (tickets.ts).
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { withBreaks } from "../../base/other-work.ts";
import { Problem } from "../../protocol/codes.ts";
import type { MeetingStore, WaitingRow } from "../../store/contract/meetings.ts";
import type { RoomRow } from "../../store/contract/rooms.ts";
import type { Floor } from "../contract/floor.ts";
import {
  DECLINED_MS,
  LOBBY_ADDRESS_MAX,
  LOBBY_GONE_MS,
  LOBBY_MAX,
  LOBBY_SEEN_EVERY_MS,
  LOBBY_SITE_MAX,
  ROWS_AT_ONCE,
  SWEEP_ROWS,
  WAIT_MAX_SEC,
} from "../contract/limits.ts";
import type { LobbyPlace, Visitor } from "../contract/ports.ts";
import { HostNotices } from "../notices/host-notices.ts";
import { type LobbyEnd, type Notices, type RoomRef, refOf } from "../notices/notices.ts";
import { QueueNotices } from "../notices/queue-notices.ts";
import type { IsLive } from "../stays/generations.ts";
import type { Stays } from "../stays/stays.ts";
import { generationOfTicket, newTicket, waitIdOf } from "./tickets.ts";
import { WaitingConnections, type WaitingHere } from "./waiting-connections.ts";

interface LobbyParts {
  readonly store: MeetingStore;
  readonly floor: Pick<Floor, "close" | "ask" | "on">;
  readonly stays: Pick<Stays, "listen">;
  readonly notices: Notices;
  readonly isLive: IsLive;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly steadyMs: () => number;
  readonly failed: (error: unknown) => void;
}

const WAIT_MAX_MS = WAIT_MAX_SEC * 1000;
/** In place of a time: its page has said goodbye, or its ticket opens nothing any more. It is not waited for. */
const GONE_FOR_GOOD = 0;

export class Lobby {
  private readonly connections: WaitingConnections;
  private readonly queues: QueueNotices;
  private readonly hosts: HostNotices;
  /**
   * Before it, no place is forgotten for having no connection: this node has just started, or the store was unreachable. In both cases
   * no node could note that a visitor is connected. Steady ms.
   */
  private patientUntilMs: number;

  constructor(private readonly parts: LobbyParts) {
    const { store, notices, stays, failed } = parts;
    this.patientUntilMs = parts.steadyMs() + LOBBY_GONE_MS;
    this.connections = new WaitingConnections(parts);
    this.queues = new QueueNotices(store, notices, failed);
    this.hosts = new HostNotices(store, notices, failed);
    stays.listen({
      connected: ({ claims }) => claims.isAdmin && this.hosts.changed(claims),
      ended: (stay) => stay.isAdmin && this.hosts.changed(stay),
    });
  }

  /** Puts a visitor into the lobby and returns the ticket. Rejects with a Problem if there is no place in it. */
  async ask(room: RoomRow, { name, address, site, generation }: Visitor): Promise<string> {
    const { store, nowMs } = this.parts;
    const now = nowMs();
    const ticket = newTicket(generation);
    const ref = refOf(room);
    const row: WaitingRow = {
      ...ref,
      waitId: waitIdOf(ticket),
      name,
      address,
      site: site ?? null,
      since: now,
      seen: now,
      state: "waiting",
      decided: null,
    };
    const limits = { max: LOBBY_MAX, perAddress: LOBBY_ADDRESS_MAX, perSite: LOBBY_SITE_MAX };
    if ((await store.wait(row, limits)) === "full")
      throw new Problem(
        "lobby_full",
        `At most ${LOBBY_MAX} people can wait for a room, ${LOBBY_ADDRESS_MAX} from one address and ${LOBBY_SITE_MAX} from one IPv6 site. Try again in a minute.`,
        DECLINED_MS / 1000,
      );
    this.queues.changed(ref);
    return ticket;
  }

  /** What became of a ticket of this room; undefined: it is none, or it is over. */
  async placeOf(room: RoomRow, ticket: string): Promise<LobbyPlace | undefined> {
    if (!this.parts.isLive({ app: room.app, gen: generationOfTicket(ticket) })) return undefined;
    const row = await this.find(refOf(room), waitIdOf(ticket));
    return row && !(await this.isOver(row)) ? row : undefined;
  }

  /** As `enterLobby`, but nothing begins. */
  async check(claims: RoomClaims): Promise<WaitingRow> {
    const row = await this.find(claims, claims.id);
    if (!row || (await this.isOver(row)))
      throw new Problem("token_expired", "You have lost your place in the lobby. Ask to join again.");
    if (row.state === "declined") throw declined(row, this.parts.nowMs());
    return row;
  }

  /** For a connection that waits: rejects with a Problem if the visitor does not wait any more. */
  async enterLobby(claims: RoomClaims): Promise<void> {
    const row = await this.check(claims);
    await this.parts.store.setSeen(row.waitId, this.connections.opens(claims, row));
  }

  connected(claims: RoomClaims, connection: string): void {
    this.connections.connected(claims, connection);
  }

  disconnected(claims: RoomClaims, connection: string, isGoodbye: boolean): void {
    if (!this.connections.disconnected(claims, connection)) return;
    void this.left(claims.id, isGoodbye, this.parts.nowMs()).catch(this.parts.failed);
  }

  /** An admin has subscribed to the queue of the room. */
  queueWanted({ app, room }: RoomRef): void {
    this.queues.changed({ app, room });
  }

  /** Those who wait may not know whether a host is inside. */
  hostsWanted(room: RoomRef): void {
    this.hosts.changed(room);
  }

  /** A waiting page listens now: it is shown whether a host is there. It may have been decided while it did not listen, so the answer is repeated. */
  answerWanted({ id, app, room }: Pick<RoomClaims, "id" | "app" | "room">): void {
    const repeat = async (): Promise<void> => {
      const row = await this.parts.store.waitingOne(id);
      if (row?.state === "waiting") this.hosts.wanted({ app, room }, id);
      else if (row) await this.repeatAnswer(row);
    };
    void repeat().catch(this.parts.failed);
  }

  /** Whether it was published. */
  private repeatAnswer(row: WaitingRow): Promise<boolean> {
    const { notices, nowMs } = this.parts;
    const { waitId, state } = row;
    return state === "admitted"
      ? notices.admitted(row, waitId)
      : notices.declined(row, waitId, { retryAfterSec: retryAfterSec(row, nowMs()) });
  }

  /** `reason`: without a host's decision. The visitor is notified, and its connection is closed if its page does not do it. */
  async decide(room: RoomRef, waitId: string, state: "admitted" | "declined", reason?: LobbyEnd): Promise<void> {
    const { store, notices, nowMs } = this.parts;
    const row = (await this.find(room, waitId)) && (await store.decide(waitId, state, nowMs()));
    if (!row) throw new Problem("ticket_not_found");
    // A page that is away just now gets its whole time to hear of it and to enter.
    if (state === "admitted") await store.setSeen(waitId, nowMs());
    const why = reason ? { reason } : { retryAfterSec: retryAfterSec(row, nowMs()) };
    const isTold = await (state === "admitted" ? notices.admitted(room, waitId) : notices.declined(room, waitId, why));
    // Not awaited: a node that does not answer must not hold up the next decision.
    void this.connections.tellAnswer(waitId, state, isTold);
    this.queues.changed(room);
  }

  /** The room has changed so that no one needs to wait any more, or cannot. */
  async decideAll(room: RoomRef, state: "admitted" | "declined", reason?: LobbyEnd): Promise<void> {
    const waiting = await this.parts.store.waiting(room.app, room.room);
    for await (const { waitId } of withBreaks(waiting, ROWS_AT_ONCE))
      await this.decide(room, waitId, state, reason).catch((error: unknown) => {
        if (!(error instanceof Problem)) throw error;
      });
  }

  /** Every few seconds: says which visitors have a connection here, and forgets what is over, on any node. */
  async sweep(): Promise<void> {
    try {
      await this.endWithSecret();
      this.connections.forgetUnopened();
      for await (const one of withBreaks(this.connections.all(), ROWS_AT_ONCE)) {
        if (!this.connections.has(one)) continue;
        const now = this.parts.steadyMs();
        if (now >= one.untilMs) await this.close(one);
        else if (now - one.seen >= LOBBY_SEEN_EVERY_MS) await this.noteSeen(one, now);
      }
      await this.forget();
    } catch (error) {
      this.patientUntilMs = this.parts.steadyMs() + LOBBY_GONE_MS;
      throw error;
    }
  }

  /** Visitors whose secret key has ended: their tickets open nothing any more, also if an admin lets them in now. */
  async endWithSecret(): Promise<void> {
    const { store, floor, isLive } = this.parts;
    const over = this.connections.all().filter(({ claims }) => !isLive(claims));
    // All are closed before the store is asked: it may be unreachable, and no one would close the connections later.
    for (const one of over) {
      this.connections.remove(one);
      floor.close(one.claims.app, one.claims.id, "ended");
    }
    for await (const { claims } of withBreaks(over, ROWS_AT_ONCE)) await store.setSeen(claims.id, GONE_FOR_GOOD);
    if (over.length > 0) await this.forget();
  }

  stop(): void {
    this.hosts.stop();
  }

  /** Its page may not know of the answer: while notices cannot be published, its place and its connection are kept for it. */
  private async isTold(one: WaitingHere): Promise<boolean> {
    const { store, nowMs } = this.parts;
    if (one.isTold) return true;
    const row = await store.waitingOne(one.claims.id);
    if (!row || row.state === "waiting" || (await this.repeatAnswer(row))) return this.connections.has(one);
    await store.setSeen(row.waitId, nowMs());
    return false;
  }

  /** Its time is over, or it has its answer and its page has not left by itself. */
  private async close(one: WaitingHere): Promise<void> {
    if (one.isAnswered && !(await this.isTold(one))) return;
    const { store, notices, floor, nowMs } = this.parts;
    const { id, app, room } = one.claims;
    this.connections.remove(one);
    try {
      if (!one.isAnswered) await notices.declined({ app, room }, id, { reason: "time" });
    } finally {
      floor.close(app, id, one.isAnswered ? "ended" : "time");
    }
    if (one.isAnswered) await store.setSeen(id, nowMs());
  }

  /** An answer that this node has not heard of is found here too; a place that is gone counts as one. */
  private async noteSeen(one: WaitingHere, steadyMs: number): Promise<void> {
    const { store, nowMs } = this.parts;
    const { id } = one.claims;
    const { state = "declined" } = (await store.waitingOne(id)) ?? {};
    if (state === "waiting") await store.setSeen(id, nowMs());
    else this.connections.answered(id, state, false);
    one.seen = steadyMs;
  }

  /** A page that was let in may close this connection before it joins: its place is kept for as long as that of a lost one. */
  private async left(waitId: string, isGoodbye: boolean, atMs: number): Promise<void> {
    const { store } = this.parts;
    const isGone = isGoodbye && (await store.waitingOne(waitId))?.state === "waiting";
    await store.setSeen(waitId, isGone ? GONE_FOR_GOOD : atMs);
    if (isGone) await this.forget();
  }

  private async forget(): Promise<void> {
    const { store, nowMs } = this.parts;
    const now = nowMs();
    const changed = await store.forgetWaiting(now - WAIT_MAX_MS, GONE_FOR_GOOD + 1, now - DECLINED_MS);
    for (const room of changed) this.queues.changed(room);
    if (!this.isPatient) await this.forgetUnseen(now - LOBBY_GONE_MS);
  }

  /** A visitor whose node cannot reach the store is connected all the same: this node notes that for it. */
  private async forgetUnseen(beforeMs: number): Promise<void> {
    const { store, nowMs } = this.parts;
    let unseen: readonly string[];
    do {
      unseen = await store.unseen(beforeMs, SWEEP_ROWS);
      if (unseen.length === 0) return;
      const connected = await this.connections.connectedOf(unseen);
      for await (const waitId of withBreaks(connected, ROWS_AT_ONCE)) await store.setSeen(waitId, nowMs());
      for (const room of await store.forgetUnseen(beforeMs, unseen)) this.queues.changed(room);
    } while (unseen.length === SWEEP_ROWS);
  }

  private async find({ app, room }: RoomRef, waitId: string): Promise<WaitingRow | undefined> {
    const row = await this.parts.store.waitingOne(waitId);
    return row?.app === app && row.room === room ? row : undefined;
  }

  /** Not forgotten yet, because the sweep comes every few seconds. */
  private async isOver({ waitId, since, seen, state, decided }: WaitingRow): Promise<boolean> {
    const now = this.parts.nowMs();
    if (state === "declined") return decided !== null && now - decided >= DECLINED_MS;
    if (now - since >= WAIT_MAX_MS) return true;
    if (seen === GONE_FOR_GOOD) return true;
    if (now - seen < LOBBY_GONE_MS || this.isPatient) return false;
    return (await this.connections.connectedOf([waitId])).length === 0;
  }

  private get isPatient(): boolean {
    return this.parts.steadyMs() < this.patientUntilMs;
  }
}

/** How long the holder of a declined ticket waits before it may ask again, rounded up: then asking again is certain to work. */
const retryAfterSec = ({ decided }: Pick<LobbyPlace, "decided">, nowMs: number): number =>
  Math.max(0, Math.ceil(((decided ?? nowMs) + DECLINED_MS - nowMs) / 1000));

/** The refusal says how long, so that it is not taken for a second decision of a host. */
export function declined(place: Pick<LobbyPlace, "decided">, nowMs: number): Problem {
  const seconds = retryAfterSec(place, nowMs);
  return new Problem("declined", `The request to join was declined. Wait ${seconds} s before you ask again.`, seconds, {
    fields: { retryAfterSec: seconds },
  });
}

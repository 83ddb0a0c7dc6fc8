/**
 * Participants of a room see each other: who reads its chat or writes there is a member of its channel `room`. Clients may subscribe in any order, so each
 * connection has a moment for that. A connection that lets it pass, or leaves the channel `room`, loses its other subscriptions. A holder of places that is seen
 * nowhere a few times has no such moment any more: otherwise it could connect again and again, and listen all the time. Each moment counts from its beginning
 * until the connection is shown, so that connections that are open at the same time are not free.
 */
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import type { Clock } from "../../base/clock.ts";
import { Throttle } from "../../base/throttle.ts";
import { roomChannel, roomChannelKind } from "../../protocol/room-channels.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { ConnectionObserver } from "../connections/connections.ts";
import type { Connection } from "../state/connection.ts";
import { SHOWN_AFTER_MS, UNSEEN_MS, UNSEEN_TIMES_BURST, UNSEEN_TIMES_PER_SECOND } from "./limits.ts";
import type { Narrowing } from "./narrowing.ts";

interface InSightParts {
  readonly narrowing: Pick<Narrowing, "endUnseen">;
  readonly boundary: Boundary;
  readonly clock: Clock;
}

/** The moment of a connection is over. */
const OVER = Number.NEGATIVE_INFINITY;

export class InSight implements ConnectionObserver {
  /** Connections that have read or written and are not shown: until when they may, monotonic ms. Bound: an entry goes with its connection. */
  private readonly until = new WeakMap<Connection, number>();
  private readonly times: Throttle;

  constructor(private readonly parts: InSightParts) {
    this.times = new Throttle(UNSEEN_TIMES_BURST, UNSEEN_TIMES_PER_SECOND, parts.clock.monotonicMs);
  }

  /** Whether it may subscribe to this channel, or read its history. An inbox says nothing to a person whom no one sees. */
  mayRead(connection: Connection, seat: RoomSeat, channel: string): boolean {
    if (!isForSeen(channel) || isSeen(connection, seat)) return true;
    return this.hasMoment(connection, seat);
  }

  /** Whether it may publish. Notes that it does: the moment begins. */
  mayWrite(connection: Connection, seat: RoomSeat): boolean {
    if (isSeen(connection, seat)) return true;
    if (!this.hasMoment(connection, seat)) return false;
    this.begin(connection, seat);
    return true;
  }

  /** It gets what is said on this channel from now on, or its history. */
  reads(connection: Connection, seat: RoomSeat, channel: string): void {
    if (isForSeen(channel) && !isSeen(connection, seat)) this.begin(connection, seat);
  }

  /** It has asked for the subscription to this channel. */
  subscribed(connection: Connection, seat: RoomSeat, channel: string): void {
    if (channel !== roomChannel(seat.claims.room)) return;
    // Not given back at once: a connection that is cut before presence is sent was seen by no one.
    if (this.isInTime(connection)) this.parts.clock.after(SHOWN_AFTER_MS, () => this.giveBack(connection, seat));
    this.until.delete(connection);
  }

  unsubscribed(connection: Connection, seat: RoomSeat, channel: string): void {
    if (channel === roomChannel(seat.claims.room)) this.end(connection, channel);
  }

  disconnected(connection: Connection): void {
    this.until.delete(connection);
  }

  private begin(connection: Connection, seat: RoomSeat): void {
    if (this.until.has(connection)) return;
    this.times.charge(holderOf(seat), 1);
    const { clock, boundary } = this.parts;
    const untilMs = clock.monotonicMs() + UNSEEN_MS;
    this.until.set(connection, untilMs);
    clock.after(UNSEEN_MS, () => {
      // It has subscribed since, or has ended.
      if (!connection.open || this.until.get(connection) !== untilMs) return;
      boundary.forConnection("timer", connection, () => this.missed(connection));
    });
  }

  private giveBack(connection: Connection, seat: RoomSeat): void {
    if (connection.open && isSeen(connection, seat)) this.times.charge(holderOf(seat), -1);
  }

  private missed(connection: Connection): void {
    const { seat } = connection;
    if (seat) this.end(connection, roomChannel(seat.claims.room));
  }

  private end(connection: Connection, room: string): void {
    this.until.set(connection, OVER);
    this.parts.narrowing.endUnseen(connection, room);
  }

  private hasMoment(connection: Connection, seat: RoomSeat): boolean {
    return this.until.has(connection) ? this.isInTime(connection) : this.times.wait(holderOf(seat)) === 0;
  }

  private isInTime(connection: Connection): boolean {
    return this.parts.clock.monotonicMs() < (this.until.get(connection) ?? OVER);
  }
}

/** What only those may read who are shown: the chat, reactions, and who waits in the lobby. */
function isForSeen(channel: string): boolean {
  const kind = roomChannelKind(channel);
  return kind === "chat" || kind === "reactions" || kind === "admin";
}

/** A visitor in the lobby is in no room yet. */
const isSeen = (connection: Connection, { claims }: RoomSeat): boolean =>
  claims.kind !== "stay" || connection.subscriptionTo(roomChannel(claims.room)) !== undefined;

const holderOf = ({ claims: { room, holder, id } }: RoomSeat): string => `${room} ${holder ?? id}`;

/** The connections over HTTP of this node: opening them, and taking the frames that their clients send with POSTs. */
import { type EventSession, type EventSessionNames, isSame } from "../../access/tokens/event-session.ts";
import type { Clock } from "../../base/clock.ts";
import type { SocketData } from "../frames/socket-handlers.ts";
import { Connection } from "../state/connection.ts";
import { EventSocket, type EventSocketParts } from "./event-socket.ts";
import { HEARTBEAT_MS, POSTS_AT_ONCE } from "./limits.ts";
import { type EventPost, framesOf, type PostResult } from "./posts.ts";

interface EventSessionsParts extends EventSocketParts {
  /** What the nodes call this one. */
  readonly node: string;
  readonly names: Pick<EventSessionNames, "make">;
  readonly clock: Pick<Clock, "after">;
}

/** What a request that becomes a connection says about itself. */
interface Opening {
  readonly origin: string | null;
  readonly data: SocketData;
  readonly ended: () => void;
}

const OK: PostResult = { kind: "taken" };
const GONE: PostResult = { kind: "gone" };

export class EventSessions {
  /** By number. Bound: one per connection over HTTP. */
  private readonly sockets = new Map<number, EventSocket>();
  private lastNumber = 0;
  private isTimerSet = false;

  constructor(private readonly parts: EventSessionsParts) {}

  get count(): number {
    return this.sockets.size;
  }

  /** Makes a socket, and opens it: its first event is in its body already. */
  open({ origin, data, ended }: Opening): EventSocket {
    const { node, names, handlers } = this.parts;
    const number = ++this.lastNumber;
    const forget = (): void => {
      this.sockets.delete(number);
      ended();
    };
    const socket = new EventSocket(this.parts, names.make(node, number), number, origin, data, { ended: forget });
    this.sockets.set(number, socket);
    if (!this.isTimerSet) this.setTimer();
    handlers.open(socket);
    return socket;
  }

  /** Whether the connection is open here. */
  has(session: EventSession): boolean {
    return this.find(session) !== undefined;
  }

  /** Whether a body of this connection may be read. The caller MUST call `endReading` then. */
  beginReading(session: EventSession): boolean {
    const socket = this.find(session);
    if (!socket || socket.reading >= POSTS_AT_ONCE) return false;
    socket.reading++;
    return true;
  }

  endReading(session: EventSession): void {
    const socket = this.find(session);
    if (socket) socket.reading--;
  }

  /** A POST of it was refused: that costs as much as a control frame of a WebSocket. */
  charge(session: EventSession): void {
    const socket = this.find(session);
    if (socket) this.parts.handlers.ping(socket);
  }

  /** All of a POST, or nothing. Synchronous: two of one connection cannot mix. Throws a Problem if its frames are not in order. */
  take(session: EventSession, { n, origin, isSameOrigin, body, isBye }: EventPost): PostResult {
    const socket = this.find(session);
    if (!socket) return GONE;
    const { handlers } = this.parts;
    if (!isFrom(socket.origin, origin, isSameOrigin)) {
      handlers.ping(socket);
      return { kind: "origin" };
    }
    if (n !== socket.taken + 1) {
      handlers.ping(socket);
      return n <= socket.taken ? OK : { kind: "gap", expected: socket.taken + 1 };
    }
    const frames = framesOf(body, isBye);
    socket.taken = n;
    for (const frame of frames) handlers.message(socket, frame);
    if (isBye) socket.leave();
    return OK;
  }

  private find({ number, text }: EventSession): EventSocket | undefined {
    const socket = this.sockets.get(number);
    return socket?.data instanceof Connection && isSame(text, socket.session) ? socket : undefined;
  }

  private setTimer(): void {
    if (this.sockets.size === 0) return;
    this.isTimerSet = true;
    this.parts.clock.after(HEARTBEAT_MS, () => {
      this.isTimerSet = false;
      this.setTimer();
      for (const socket of this.sockets.values()) socket.beat();
    });
  }
}

/**
 * A page that finds out the session of another one must not use it. Browsers name the origin in every POST, but in a GET only if it goes to another
 * origin: without one in the GET, the POST comes from the same origin or from a program that is no browser.
 */
const isFrom = (opened: string | null, origin: string | null, isSameOrigin: boolean): boolean =>
  origin === opened || (opened === null && isSameOrigin);

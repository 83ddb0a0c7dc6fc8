/**
 * The socket of a connection over HTTP: a response of Server-Sent Events that lasts as long as the connection. To the rest of realtime it is a socket
 * like any other: it calls the same handlers as a WebSocket.
 *
 * An event is noted first, and then passed to the response in pieces, each when the runtime has taken the one before. So what waits for a client that
 * does not read is counted here. Beyond `maxPendingBytes` the connection is cut, as a WebSocket is.
 */
import { Buffer } from "node:buffer";
import type { Faults } from "../../telemetry/faults.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { DataSocket, SocketData, SocketEvents } from "../frames/socket-handlers.ts";
import { Connection } from "../state/connection.ts";
import { closeEvent, eventOf, HEARTBEAT } from "./event-text.ts";
import type { EventReader, EventTopics } from "./event-topics.ts";
import type { EventWriter, Writable } from "./event-writer.ts";

/** What one piece has at most, unless a single event is longer. */
const PIECE_BYTES = 65_536;
/** Within one turn more may be noted than may wait: the runtime has not had the time to write it. */
const NOTED_MAX_FACTOR = 2;

const GOODBYE = 1000;
const NO_CLOSE_FRAME = 1006;

export interface EventSocketParts {
  readonly topics: EventTopics;
  readonly writer: EventWriter;
  readonly handlers: SocketEvents;
  readonly metrics: RealtimeMetrics;
  readonly faults: Pick<Faults, "caught" | "guarded">;
  readonly maxPendingBytes: number;
}

/** What the response of a socket is for it. */
interface Responding {
  /** Called once, when the socket has ended. */
  readonly ended: (socket: EventSocket) => void;
}

export class EventSocket implements DataSocket, EventReader, Writable {
  /** The number of the last POST whose frames were taken. */
  taken = 0;
  /** Bodies of POSTs that are being read. */
  reading = 0;
  /** What the runtime reads from. */
  readonly body: ReadableStream<Uint8Array>;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  /** Bound: NOTED_MAX_FACTOR times maxPendingBytes; then nothing more is noted, and the connection is cut. */
  private noted: Uint8Array[] = [];
  private notedBytes = 0;
  /** The runtime has taken the last piece. */
  private isTaken = true;
  private isScheduled = false;
  private isFull = false;
  private isOver = false;
  /** Someone has seen that something waits, and wants to know when it does not any more. */
  private wantsDrain = false;
  /** The number of the ping that is answered next; an earlier one is answered with it. */
  private unanswered: string | undefined;
  /** Bound: 4 per subscription, and one. */
  private readonly topics = new Set<string>();

  constructor(
    private readonly parts: EventSocketParts,
    readonly session: string,
    readonly number: number,
    /** The Origin of the GET. */
    readonly origin: string | null,
    public data: SocketData,
    private readonly responding: Responding,
  ) {
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.controller = controller;
        },
        pull: () => this.pulled(),
        cancel: () => this.gone(),
      },
      // Each piece is asked for when the one before has been taken.
      { highWaterMark: 1, size: (piece) => piece?.length ?? 0 },
    );
  }

  get isOpen(): boolean {
    return !this.isOver;
  }

  // What realtime calls

  send(text: string): number {
    if (this.isOver) return 0;
    const event = eventOf(text);
    this.push(event);
    return event.length;
  }

  publish(topic: string, text: string): number {
    return this.parts.topics.broadcast(topic, text, this);
  }

  /**
   * There are no pings over HTTP. The one behind an ack is answered at the end of the turn, so that the roster comes one tick later. The others ask
   * whether the client is there: its POSTs say so.
   */
  ping(payload: string): number {
    if (this.isOver) return 0;
    if (payload === "") return 1;
    if (this.unanswered === undefined) queueMicrotask(this.parts.faults.guarded("socket", () => this.answerPing()));
    this.unanswered = payload;
    return 1;
  }

  subscribe(topic: string): void {
    if (this.isOver) return;
    this.topics.add(topic);
    this.parts.topics.add(topic, this);
  }

  unsubscribe(topic: string): void {
    if (this.topics.delete(topic)) this.parts.topics.remove(topic, this);
  }

  /** What waits is written before the end, if the client reads it within the usual idle timeout. */
  close(code: number, reason: string): void {
    if (this.isOver) return;
    this.noted.push(closeEvent(code, reason));
    const rest = this.takeNoted(Number.POSITIVE_INFINITY);
    this.finish(code, reason, (controller) => {
      controller.enqueue(rest);
      controller.close();
    });
  }

  terminate(): void {
    this.finish(NO_CLOSE_FRAME, "", (controller) => controller.error(new Error("the connection was cut")));
  }

  getBufferedAmount(): number {
    const waiting = this.waitingBytes;
    if (waiting > 0) this.wantsDrain = true;
    return waiting;
  }

  /** All of one turn leaves in one write anyway. */
  cork(act: () => void): void {
    act();
  }

  // Its events

  push(event: Uint8Array): void {
    if (this.isOver || this.isFull) return;
    this.noted.push(event);
    this.notedBytes += event.length;
    this.isFull = this.notedBytes > NOTED_MAX_FACTOR * this.parts.maxPendingBytes;
    if (this.isScheduled || !(this.isTaken || this.isOverLimit)) return;
    this.isScheduled = true;
    this.parts.writer.schedule(this);
  }

  /** Not to a client that does not read: these would add up. */
  beat(): void {
    if (this.waitingBytes === 0) this.push(HEARTBEAT);
  }

  write(hasSettled: boolean): void {
    this.isScheduled = false;
    if (this.isOver) return;
    if (this.isTaken && !this.isFull) return this.pass();
    if (!this.isOverLimit) return;
    if (hasSettled) return this.cutSlow();
    this.isScheduled = true;
    this.parts.writer.scheduleLater(this);
  }

  /** The client says that it ends the connection. */
  leave(): void {
    this.close(GOODBYE, "");
  }

  /** The client has ended the response, or its network. */
  gone(): void {
    this.finish(NO_CLOSE_FRAME, "", (controller) => controller.error(new Error("the client is gone")));
  }

  private get waitingBytes(): number {
    return this.notedBytes + Math.max(0, 1 - (this.controller?.desiredSize ?? 1));
  }

  private get isOverLimit(): boolean {
    return this.isFull || this.waitingBytes > this.parts.maxPendingBytes;
  }

  /** Passes one piece to the response. */
  private pass(): void {
    if (this.noted.length === 0) return;
    this.isTaken = false;
    this.controller?.enqueue(this.takeNoted(PIECE_BYTES));
  }

  private takeNoted(maxBytes: number): Uint8Array {
    let bytes = 0;
    let count = 0;
    for (const event of this.noted) {
      if (count > 0 && bytes + event.length > maxBytes) break;
      bytes += event.length;
      count++;
    }
    const events = this.noted.splice(0, count);
    this.notedBytes -= bytes;
    const [first] = events;
    // An event that others get too is passed on as it is.
    return events.length === 1 && first ? first : Buffer.concat(events, bytes);
  }

  /** The runtime has taken a piece, and asks for the next. */
  private pulled(): void {
    this.isTaken = true;
    if (this.isOver) return;
    if (this.noted.length > 0) {
      if (this.isScheduled) return;
      this.isScheduled = true;
      this.parts.writer.schedule(this);
    } else if (this.wantsDrain) {
      this.wantsDrain = false;
      this.parts.handlers.drain(this);
    }
  }

  private answerPing(): void {
    const payload = this.unanswered;
    this.unanswered = undefined;
    if (payload !== undefined && !this.isOver) this.parts.handlers.pong(this, Buffer.from(payload));
  }

  private cutSlow(): void {
    if (this.data instanceof Connection && this.data.open) this.parts.metrics.slowCuts.inc();
    this.terminate();
  }

  private finish(
    code: number,
    reason: string,
    end: (controller: ReadableStreamDefaultController<Uint8Array>) => void,
  ): void {
    if (this.isOver) return;
    this.isOver = true;
    this.noted = [];
    this.notedBytes = 0;
    for (const topic of this.topics) this.parts.topics.remove(topic, this);
    this.topics.clear();
    try {
      if (this.controller) end(this.controller);
    } catch {
      // The client has ended the response already.
    }
    this.responding.ended(this);
    this.parts.handlers.close(this, code, reason);
  }
}

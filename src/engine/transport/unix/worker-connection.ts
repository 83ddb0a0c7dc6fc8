/**
 * One socket to another worker. Both sides say hello, announce their subscriptions, and send a ping: with its pong, each side knows
 * that the other has read its subscriptions, and the connection is ready.
 */
import type { Socket } from "bun";
import {
  BUS_VERSION,
  FRAME,
  FrameError,
  FrameReader,
  LENGTH_BYTES,
  MAGIC,
  putU16,
  putU32,
  u16At,
  u32At,
} from "./frames.ts";
import { Outbox } from "./outbox.ts";

/** Length, type and number. */
const HEAD_BYTES = LENGTH_BYTES + 1 + 4;
const LENGTHS_BYTES = 4;
/** Pings are numbered with 32 bits. */
const NUMBERS = 2 ** 32;
/** Bytes of UTF-8 that one character of a JavaScript string needs at most. */
export const BYTES_PER_CHAR_MAX = 3;
const INCARNATION_MAX_BYTES = 64;

/** A worker: the slot that it was started in, and a name that is new with each start. */
export interface Worker {
  readonly slot: number;
  readonly incarnation: string;
}

export interface WorkerConnectionEvents {
  /** The first frame has arrived. The connection is closed when this returns false. */
  greeted(connection: WorkerConnection, worker: Worker): boolean;
  ready(connection: WorkerConnection): void;
  subscribed(connection: WorkerConnection, subscription: number, subject: string): void;
  /** Subscribed, and waits for a report. */
  asked(connection: WorkerConnection, subscription: number, subject: string): void;
  unsubscribed(connection: WorkerConnection, subscription: number, subject: string): void;
  unsubscribedAll(connection: WorkerConnection): void;
  received(
    connection: WorkerConnection,
    subscription: number,
    payload: Uint8Array,
    subject: string | undefined,
    replyTo: string | undefined,
  ): void;
  /** The subscription that a request was sent to had ended meanwhile. */
  unheard(replyTo: string): void;
  /** The other side has read the subscriptions of a further turn, and has reported what it has. */
  confirmed(): void;
  /** It has something to write: `flush` is to be called at the end of the turn. */
  changed(connection: WorkerConnection): void;
  /** `reason`: this side has cut it, and why. */
  closed(connection: WorkerConnection, reason: string | undefined): void;
}

export class WorkerConnection {
  /** Set by its owner once the other worker is known. */
  index = -1;
  worker: Worker | undefined;
  isReady = false;
  isClosed = false;
  /** The last turn whose subscriptions the other side is known to have read. */
  readTurn = -1;
  /** Set by its owner: what was subscribed to in earlier turns was announced when the connection was made, and nothing was reported. */
  firstTurn = 0;
  private readonly outbox: Outbox;
  private readonly reader = new FrameReader((bytes, at, end) => this.frame(bytes, at, end));
  /** Waiting for a pong, by the number of the ping. Bound: flushes under way; they end with the connection. */
  private readonly pings = new Map<number, () => void>();
  private lastPing = 0;
  private isChanged = false;

  constructor(
    private readonly socket: Socket<WorkerConnection>,
    private readonly events: WorkerConnectionEvents,
    private queueMaxBytes: number,
    /** The slot whose socket this side has connected to; absent: the other side has connected. */
    readonly connectedTo?: number,
  ) {
    this.outbox = new Outbox(socket);
  }

  // What the socket says

  read(bytes: Uint8Array): void {
    try {
      this.reader.read(bytes);
    } catch (error) {
      if (!(error instanceof FrameError)) throw error;
      this.cut(error.message);
    }
  }

  drained(): void {
    this.outbox.drained();
  }

  /** The socket is closed. */
  ended(reason?: string): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.isReady = false;
    this.reader.stop();
    for (const done of this.pings.values()) done();
    this.pings.clear();
    this.events.closed(this, reason);
  }

  // What is sent

  hello({ slot, incarnation }: Worker): void {
    const { outbox } = this;
    const at = outbox.reserve(HEAD_BYTES + 4 + incarnation.length * BYTES_PER_CHAR_MAX);
    const { bytes } = outbox;
    let end = this.head(at, FRAME.hello, MAGIC);
    end = putU16(bytes, end, BUS_VERSION);
    end = putU16(bytes, end, slot);
    this.finish(at, end + bytes.write(incarnation, end));
  }

  /** Bytes of the subscriptions that are announced at the beginning do not count towards the bound: they are needed for a connection at all. */
  announce(subscriptions: Iterable<readonly [number, { readonly subject: string }]>): void {
    for (const [number, { subject }] of subscriptions) {
      this.queueMaxBytes += HEAD_BYTES + subject.length * BYTES_PER_CHAR_MAX;
      this.subscribe(number, subject);
    }
    this.sendPing(() => this.ready());
  }

  subscribe(subscription: number, subject: string): void {
    this.named(FRAME.subscribe, subscription, subject);
  }

  /** Subscribes, and the other side reports what it has. */
  open(subscription: number, subject: string): void {
    this.named(FRAME.open, subscription, subject);
  }

  unsubscribe(subscription: number, subject: string): void {
    this.named(FRAME.unsubscribe, subscription, subject);
  }

  unsubscribeAll(): void {
    this.numbered(FRAME.unsubscribeAll, 0);
  }

  /** A request has arrived for a subscription that has ended: its sender need not wait for a response. */
  unheard(replyTo: string): void {
    this.named(FRAME.unheard, 0, replyTo);
  }

  /** `subject`: only for a wildcard. A string has at most DIRECT_MAX_CHARS. */
  message(subscription: number, payload: string | Uint8Array, subject: string | undefined, replyTo?: string): void {
    const { outbox } = this;
    const names =
      subject === undefined && replyTo === undefined ? 0 : LENGTHS_BYTES + charsOf(subject) + charsOf(replyTo);
    const size = typeof payload === "string" ? payload.length * BYTES_PER_CHAR_MAX : payload.length;
    const at = outbox.reserve(HEAD_BYTES + names * BYTES_PER_CHAR_MAX + size);
    const { bytes } = outbox;
    let end = this.head(at, names === 0 ? FRAME.message : FRAME.addressed, subscription);
    if (names > 0) {
      const lengths = end;
      end += LENGTHS_BYTES;
      const subjectBytes = subject === undefined ? 0 : bytes.write(subject, end);
      end += subjectBytes;
      const replyBytes = replyTo === undefined ? 0 : bytes.write(replyTo, end);
      end += replyBytes;
      putU16(bytes, putU16(bytes, lengths, subjectBytes), replyBytes);
    }
    if (typeof payload === "string") end += bytes.write(payload, end);
    else {
      bytes.set(payload, end);
      end += payload.length;
    }
    this.finish(at, end);
  }

  /** Resolves when the other side has read everything sent before, or the connection is closed. */
  ping(): Promise<void> {
    return new Promise((resolve) => (this.isClosed ? resolve() : this.sendPing(resolve)));
  }

  /** Everything that this side subscribed to until the end of this turn has been sent. */
  confirm(turn: number): void {
    if (this.isClosed) return;
    this.sendPing(() => {
      if (this.isClosed) return;
      this.readTurn = turn;
      this.events.confirmed();
    });
  }

  flush(): void {
    this.isChanged = false;
    if (!this.isClosed) this.outbox.flush();
  }

  /** Sends what is queued as far as the kernel takes it, and closes. */
  close(): void {
    if (this.isClosed) return;
    this.flush();
    this.ended();
    this.socket.end();
  }

  /** Closes at once. */
  cut(reason?: string): void {
    if (this.isClosed) return;
    // Before the socket reports its end, which has no reason.
    this.ended(reason);
    this.socket.terminate();
  }

  private sendPing(done: () => void): void {
    this.lastPing = (this.lastPing + 1) % NUMBERS;
    const number = this.lastPing;
    this.pings.set(number, done);
    this.numbered(FRAME.ping, number);
  }

  private named(type: number, subscription: number, subject: string): void {
    const at = this.outbox.reserve(HEAD_BYTES + subject.length * BYTES_PER_CHAR_MAX);
    const end = this.head(at, type, subscription);
    this.finish(at, end + this.outbox.bytes.write(subject, end));
  }

  private numbered(type: number, number: number): void {
    const at = this.outbox.reserve(HEAD_BYTES);
    this.finish(at, this.head(at, type, number));
  }

  private head(at: number, type: number, number: number): number {
    const { bytes } = this.outbox;
    bytes[at + LENGTH_BYTES] = type;
    return putU32(bytes, at + LENGTH_BYTES + 1, number);
  }

  private finish(at: number, end: number): void {
    const { outbox } = this;
    putU32(outbox.bytes, at, end - at - LENGTH_BYTES);
    outbox.commit(end);
    if (outbox.queuedBytes > this.queueMaxBytes) this.overflowed();
    if (this.isChanged) return;
    this.isChanged = true;
    this.events.changed(this);
  }

  /** A turn may write more than the bound: only what the kernel does not take counts. */
  private overflowed(): void {
    this.outbox.flush();
    const { queuedBytes } = this.outbox;
    if (queuedBytes > this.queueMaxBytes)
      this.cut(`it does not read: ${queuedBytes} bytes are queued for it, at most ${this.queueMaxBytes} may be`);
  }

  // What is received

  private frame(bytes: Uint8Array, at: number, end: number): void {
    const type = bytes[at];
    if (!this.worker && type !== FRAME.hello) throw new FrameError("it does not begin with a hello");
    const number = u32At(bytes, at + 1);
    const body = at + 5;
    if (body > end) throw new FrameError(`it has sent an incomplete frame of type ${type}`);
    switch (type) {
      case FRAME.message:
        return this.events.received(this, number, viewOf(bytes, body, end), undefined, undefined);
      case FRAME.addressed:
        return this.addressed(number, bytes, body, end);
      case FRAME.subscribe:
        return this.events.subscribed(this, number, textOf(bytes, body, end));
      case FRAME.open:
        return this.events.asked(this, number, textOf(bytes, body, end));
      case FRAME.unsubscribe:
        return this.events.unsubscribed(this, number, textOf(bytes, body, end));
      case FRAME.unsubscribeAll:
        return this.events.unsubscribedAll(this);
      case FRAME.unheard:
        return this.events.unheard(textOf(bytes, body, end));
      case FRAME.ping:
        return this.numbered(FRAME.pong, number);
      case FRAME.pong:
        return this.pong(number);
      case FRAME.hello:
        return this.greet(number, bytes, body, end);
      default:
        throw new FrameError(`it has sent a frame of the unknown type ${type}`);
    }
  }

  private pong(number: number): void {
    const done = this.pings.get(number);
    this.pings.delete(number);
    done?.();
  }

  private addressed(subscription: number, bytes: Uint8Array, at: number, end: number): void {
    const subjectAt = at + LENGTHS_BYTES;
    const replyAt = subjectAt + u16At(bytes, at);
    const payloadAt = replyAt + u16At(bytes, at + 2);
    if (payloadAt > end) throw new FrameError("it has sent a message that is shorter than its subjects");
    const subject = replyAt > subjectAt ? textOf(bytes, subjectAt, replyAt) : undefined;
    const replyTo = payloadAt > replyAt ? textOf(bytes, replyAt, payloadAt) : undefined;
    this.events.received(this, subscription, viewOf(bytes, payloadAt, end), subject, replyTo);
  }

  private greet(magic: number, bytes: Uint8Array, at: number, end: number): void {
    if (magic !== MAGIC || this.worker || end - at < 4 || end - at > 4 + INCARNATION_MAX_BYTES)
      throw new FrameError("it does not begin with a hello");
    const version = u16At(bytes, at);
    if (version !== BUS_VERSION)
      throw new FrameError(
        `it uses version ${version} of the frames between workers, this worker uses ${BUS_VERSION}: restart all workers`,
      );
    this.worker = { slot: u16At(bytes, at + 2), incarnation: textOf(bytes, at + 4, end) };
    if (!this.events.greeted(this, this.worker)) this.close();
  }

  private ready(): void {
    if (this.isClosed) return;
    this.isReady = true;
    this.events.ready(this);
  }
}

const charsOf = (text: string | undefined): number => text?.length ?? 0;

const viewOf = (bytes: Uint8Array, at: number, end: number): Uint8Array => bytes.subarray(at, end);

/** Without a view, as there are many short ones. */
const textOf = (bytes: Uint8Array, at: number, end: number): string =>
  Buffer.prototype.toString.call(bytes, "utf8", at, end);

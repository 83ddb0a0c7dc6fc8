/**
 * A connection that recovers again and again: it ends its subscription, or itself, and resumes from a position that it has seen.
 * Every subscription is judged by the checker; a recovery that was refused although it was possible is a violation as well.
 */
import { parsePosition } from "../../../src/protocol/position.ts";
import type { Checker } from "../../../src/verify/checker.ts";
import type { Findings } from "../../../src/verify/findings.ts";
import {
  type AckFields,
  publishFrame,
  readFrame,
  type ServerFrame,
  subscribeFrame,
  unsubscribeFrame,
} from "../../../src/verify/frames.ts";
import { idOf } from "../../../src/verify/retries.ts";

export interface ReaderContext {
  readonly checker: Checker;
  readonly violations: Findings;
  readonly figures: Figures;
  /** The address of the next connect, with a token. */
  readonly addressFor: (reader: Reader) => string;
  /** The newest offset of a channel that is known. */
  readonly newest: Map<string, number>;
}

export class Figures {
  recoveries = 0;
  unrecovered = 0;
  /** Recoveries on a new connection; the others are on the same one, after an unsubscribe. */
  reconnected = 0;
  reconnects = 0;
  published = 0;
  readonly codes = new Map<string, number>();

  count(code: string | number): void {
    this.codes.set(`${code}`, (this.codes.get(`${code}`) ?? 0) + 1);
  }
}

/** One in this number of recoveries… */
const RECONNECT_EVERY = 40;
const FORGED_EVERY = 50;
const FAR_EVERY = 100;
const PUBLISH_EVERY = 10;
/** …does not wait for the end of its replay, but is ended by the next one. */
const IMPATIENT_EVERY = 10;
const NEAR_MESSAGES = 8;
const FAR_MESSAGES = 600;
/** Behind this number of messages, a recovery may be refused. */
const RECOVERABLE_MESSAGES = 900;
const RETRY_MS = 100;
/** Longer than the service waits for a slow node before it cuts a replay. */
const STUCK_MS = 45_000;

/** What a subscribe asked for, until its ack. */
interface Asked {
  readonly pos: string | undefined;
  readonly isForged: boolean;
  readonly isReconnect: boolean;
}

export class Reader {
  tries = 0;
  private socket: WebSocket | undefined;
  private connection: number | undefined;
  private wireId = "";
  private earlier: { readonly connection: number; readonly wireId: string } | undefined;
  /** The positions that the subscription has seen, the oldest first. */
  private seen: string[] = [];
  private asked: { readonly requestId: string; readonly what: Asked } | undefined;
  private readonly publishes = new Map<string, number>();
  private replayLeft = 0;
  private replaying = 0;
  private isSubscribed = false;
  private isStopped = false;
  private cycles = 0;
  private requests = 0;
  private timer: Timer | undefined;
  private progressMs = performance.now();

  constructor(
    readonly index: number,
    readonly peer: string,
    readonly channel: string,
    private readonly context: ReaderContext,
  ) {}

  /** Nothing is awaited: the subscription is live. */
  get isLive(): boolean {
    return this.isSubscribed && this.replayLeft === 0;
  }

  connect(): void {
    const socket = new WebSocket(this.context.addressFor(this));
    this.socket = socket;
    socket.onmessage = ({ data }) => {
      if (this.socket === socket) this.handle(readFrame(String(data)));
    };
    socket.onclose = ({ code }) => {
      if (this.socket === socket) this.ended(code);
    };
    socket.onerror = () => undefined;
  }

  /** Called once per second: a recovery that is neither answered nor complete for a long time is a violation. */
  tick(): void {
    if (this.isStopped || performance.now() - this.progressMs < STUCK_MS) return;
    const waitsFor = this.asked
      ? `the answer to a subscribe from ${this.asked.what.pos}`
      : this.isSubscribed
        ? `${this.replayLeft} of ${this.replaying} replayed messages`
        : `a connection, ${this.connection}`;
    this.context.violations.add(
      "unanswered",
      `${this.peer} in ${this.channel} (${this.wireId}) waited too long for ${waitsFor}`,
    );
    this.progressMs = performance.now();
    const { socket } = this;
    this.socket = undefined;
    socket?.terminate();
    this.ended(1006);
  }

  /** Recovers no more, and stays subscribed. */
  stop(): void {
    this.isStopped = true;
  }

  close(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    const { socket } = this;
    this.socket = undefined;
    socket?.terminate();
  }

  private handle(frame: ServerFrame): void {
    const { checker, figures } = this.context;
    if (frame.type === "welcome") return this.welcomed(frame.connection);
    if (this.connection === undefined) return;
    if (frame.type === "message") {
      checker.message(this.connection, frame.channel, frame.from, frame.mark, frame.stored);
      if (!frame.stored || !this.isSubscribed) return;
      this.saw(frame.stored.pos);
      if (frame.stored.isReplay && --this.replayLeft === 0) this.next();
    } else if (frame.type === "ack") this.acked(this.connection, frame.requestId, frame);
    else if (frame.type === "error") {
      const number = this.publishes.get(frame.requestId);
      figures.count(`${number === undefined ? "subscribe" : "publish"} ${frame.code}`);
      this.publishes.delete(frame.requestId);
      if (number !== undefined) checker.published(this.connection, this.channel, number, "unknown");
      else if (frame.requestId === this.asked?.requestId) {
        this.asked = undefined;
        this.timer = setTimeout(() => this.subscribe(), RETRY_MS);
      }
    }
  }

  private welcomed(wireId: string): void {
    this.connection = this.context.checker.opened(this.peer);
    this.wireId = wireId;
    this.subscribe(true);
  }

  private acked(connection: number, requestId: string, ack: AckFields): void {
    const { checker, figures } = this.context;
    const number = this.publishes.get(requestId);
    if (number !== undefined) {
      this.publishes.delete(requestId);
      const placed = ack.pos === undefined ? undefined : { pos: ack.pos, isDuplicate: ack.isDuplicate };
      checker.published(connection, this.channel, number, "acked", placed);
      figures.published++;
      if (placed && this.isSubscribed) this.saw(placed.pos);
      return;
    }
    if (requestId !== this.asked?.requestId) return;
    const { what } = this.asked;
    this.asked = undefined;
    const { pos, recovered, replay = 0 } = ack;
    this.isSubscribed = true;
    this.earlier = { connection, wireId: this.wireId };
    checker.subscribed(connection, this.channel, pos === undefined ? undefined : { pos, recovered, replay });
    if (what.pos !== undefined) this.judge(what, recovered === true);
    if (recovered !== true) this.seen = pos === undefined ? [] : [pos];
    this.replayLeft = this.replaying = replay;
    if (replay === 0) this.next();
    else if (this.cycles % IMPATIENT_EVERY === 0) this.next();
  }

  private judge({ pos = "", isForged, isReconnect }: Asked, isRecovered: boolean): void {
    const { figures, violations, newest } = this.context;
    figures.recoveries++;
    if (isReconnect) figures.reconnected++;
    if (!isRecovered) figures.unrecovered++;
    if (isForged && isRecovered) violations.add("hole", `${this.peer} recovered from a forged position, ${pos}`);
    const behind = (newest.get(this.channel) ?? 0) - (parsePosition(pos)?.offset ?? 0);
    if (!isForged && !isRecovered && behind < RECOVERABLE_MESSAGES)
      violations.add(
        "hole",
        `${this.peer} could not recover from ${pos}, ${behind} messages behind, in ${this.channel}`,
      );
  }

  private saw(pos: string): void {
    this.seen.push(pos);
    if (this.seen.length > 2 * FAR_MESSAGES) this.seen = this.seen.slice(-FAR_MESSAGES);
    const offset = parsePosition(pos)?.offset ?? 0;
    if (offset > (this.context.newest.get(this.channel) ?? 0)) this.context.newest.set(this.channel, offset);
  }

  /** Ends the subscription, or the connection, and begins the next recovery. */
  private next(): void {
    if (this.isStopped || this.connection === undefined) return;
    this.cycles++;
    this.progressMs = performance.now();
    if ((this.cycles + this.index) % PUBLISH_EVERY === 0) this.publish(this.connection);
    this.isSubscribed = false;
    if ((this.cycles + this.index) % RECONNECT_EVERY === 0) {
      this.context.figures.reconnects++;
      // Half of them end like a lost link, without a goodbye.
      const { socket } = this;
      if (this.cycles % 2 === 0) socket?.terminate();
      else socket?.close(1000);
      return this.ended(this.cycles % 2 === 0 ? 1006 : 1000);
    }
    this.context.checker.unsubscribed(this.connection, this.channel);
    this.socket?.send(unsubscribeFrame(this.channel, this.requestId()));
    this.subscribe();
  }

  private subscribe(isReconnect = false): void {
    const { connection, earlier } = this;
    if (connection === undefined) return;
    this.replayLeft = 0;
    const what: Asked = { ...this.choose(), isReconnect };
    const requestId = this.requestId();
    this.asked = { requestId, what };
    if (what.pos === undefined) {
      this.context.checker.subscribing(connection, this.channel);
      this.socket?.send(subscribeFrame(this.channel, requestId));
      return;
    }
    this.context.checker.subscribing(connection, this.channel, { pos: what.pos, without: earlier?.connection });
    const resume = { recover: what.pos, connection: earlier?.wireId };
    this.socket?.send(subscribeFrame(this.channel, requestId, resume));
  }

  /** Mostly one of the last positions, sometimes one far back, sometimes one that the service has not made. */
  private choose(): { readonly pos: string | undefined; readonly isForged: boolean } {
    const { seen, cycles } = this;
    const isFar = cycles % FAR_EVERY === 0;
    const back = Math.floor(Math.random() * (isFar ? FAR_MESSAGES : NEAR_MESSAGES));
    const at = Math.max(0, seen.length - 1 - back);
    const pos = seen[at];
    if (pos === undefined) return { pos, isForged: false };
    if (cycles % FORGED_EVERY === FORGED_EVERY - 1) return { pos: forged(pos, cycles), isForged: true };
    this.seen = seen.slice(0, at + 1);
    return { pos, isForged: false };
  }

  private publish(connection: number): void {
    const number = this.context.checker.publishing(connection, this.channel);
    const requestId = this.requestId();
    this.publishes.set(requestId, number);
    const mark = { connection, number };
    this.socket?.send(publishFrame(this.channel, mark, requestId, { id: idOf(mark) }));
  }

  private requestId(): string {
    return String(++this.requests);
  }

  private ended(code: number): void {
    const { checker, figures } = this.context;
    const wasWelcome = this.connection !== undefined;
    if (this.connection !== undefined) {
      checker.closed(this.connection);
      figures.count(`close ${code}`);
    }
    this.socket = this.connection = this.asked = undefined;
    this.isSubscribed = false;
    this.replayLeft = 0;
    this.publishes.clear();
    this.tries++;
    this.timer = setTimeout(() => this.connect(), wasWelcome && (code === 1000 || code === 1006) ? 1 : RETRY_MS);
  }
}

function forged(pos: string, turn: number): string {
  const [epoch = "", offset = "", check = ""] = pos.split(".");
  switch (Math.floor(turn / FORGED_EVERY) % 4) {
    case 0:
      return `${epoch}.${offset}.${check}x`;
    case 1:
      return `${epoch}.${Number(offset) + 1_000_000}.${check}`;
    case 2:
      return `z${epoch.slice(1)}0.${offset}.${check}`;
    default:
      return "not a position";
  }
}

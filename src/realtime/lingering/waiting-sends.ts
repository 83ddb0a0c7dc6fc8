/**
 * Direct messages to peers that are held (holds.ts): they wait on the node of their sender until the peer is back, in the order in
 * which they were sent. The oldest of each peer is tried again and again; the others wait behind it.
 */
import { type Envelope, HELD } from "../../engine/engine.ts";
import { HOLD_MS } from "../../protocol/limits.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import type { Clock } from "../clock.ts";
import type { Connection } from "../connection.ts";
import { WAITING_SENDS_MAX_BYTES, WAITING_SENDS_PER_PEER_MAX } from "../limits.ts";

const RETRY_MS = 150;
/** As long as a send can take after the first answer that its receiver is held: those sent before it may still come back as held. */
const SETTLE_MS = 500;

export interface WaitingSend {
  readonly app: string;
  readonly to: string;
  readonly envelope: Envelope;
  readonly sender: Connection | undefined;
  /** Grows with every send of this node. */
  readonly order: number;
}

interface Waiting extends WaitingSend {
  /** Monotonic ms. */
  readonly untilMs: number;
  readonly bytes: number;
  readonly resolve: (count: number) => void;
}

interface Queue {
  readonly waiting: Waiting[];
  /** The one that is being tried. */
  trying: Waiting | undefined;
  /** Since that has begun, its receiver was kicked. */
  hasFailed: boolean;
  /** Monotonic ms. */
  quietUntilMs: number;
}

export interface WaitingSendsParts {
  readonly clock: Clock;
  /** To how many connections it was delivered; UNAVAILABLE; or HELD. */
  readonly attempt: (send: WaitingSend) => number | Promise<number>;
}

export class WaitingSends {
  /** By application and peer. */
  private readonly queues = new Map<string, Queue>();
  private bytes = 0;
  private waitingCount = 0;
  private isTimerSet = false;

  constructor(private readonly parts: WaitingSendsParts) {}

  /** Messages that wait. */
  get count(): number {
    return this.waitingCount;
  }

  /** What is sent to this peer now must wait behind others. */
  mustWait(app: string, to: string): boolean {
    return this.queues.size > 0 && this.queues.has(keyOf(app, to));
  }

  /** A node has answered that the peer is held: what is sent from now on waits, also while that send is not decided yet. */
  readonly onHeld = (app: string, to: string): void => {
    this.queue(app, to).quietUntilMs = this.parts.clock.monotonicMs() + SETTLE_MS;
  };

  /** Resolves with the number of connections it was delivered to; 0 if the peer is not back in time, or too much waits already. */
  add(send: WaitingSend): Promise<number> {
    const { app, to, envelope, order } = send;
    const bytes = utf8Bytes(envelope.dataJson) + utf8Bytes(envelope.metadataJson ?? "");
    const { waiting } = this.queue(app, to);
    if (waiting.length >= WAITING_SENDS_PER_PEER_MAX || this.bytes + bytes > WAITING_SENDS_MAX_BYTES)
      return Promise.resolve(0);
    this.bytes += bytes;
    this.waitingCount++;
    const untilMs = this.parts.clock.monotonicMs() + HOLD_MS;
    return new Promise((resolve) => {
      const at = waiting.findLastIndex((one) => one.order < order) + 1;
      waiting.splice(at, 0, { ...send, bytes, untilMs, resolve });
    });
  }

  /** The peer has connected here. */
  returned(app: string, peerId: string): void {
    const key = this.queues.size === 0 ? undefined : keyOf(app, peerId);
    const queue = key && this.queues.get(key);
    if (queue) this.flushLater(key, queue);
  }

  /** Its welcome comes first. */
  private flushLater(key: string, queue: Queue): void {
    this.parts.clock.after(0, () => this.flush(key, queue));
  }

  /** The peer must not come back. */
  fail(app: string, peerId: string): void {
    const queue = this.queues.size === 0 ? undefined : this.queues.get(keyOf(app, peerId));
    if (!queue) return;
    const { trying } = queue;
    // What is being tried may have arrived: it is answered when that is known.
    queue.hasFailed = trying !== undefined;
    for (const one of queue.waiting.splice(0)) if (one !== trying) this.answer(one, 0);
    if (trying) queue.waiting.push(trying);
  }

  private queue(app: string, to: string): Queue {
    const key = keyOf(app, to);
    let queue = this.queues.get(key);
    if (!queue) {
      queue = { waiting: [], trying: undefined, hasFailed: false, quietUntilMs: 0 };
      this.queues.set(key, queue);
      this.setTimer();
    }
    return queue;
  }

  private setTimer(): void {
    if (this.isTimerSet || this.queues.size === 0) return;
    this.isTimerSet = true;
    this.parts.clock.after(RETRY_MS, () => {
      this.isTimerSet = false;
      try {
        for (const [key, queue] of [...this.queues]) this.flush(key, queue);
      } finally {
        // Even after an exception: without the next turn messages would wait without an end.
        this.setTimer();
      }
    });
  }

  /** Tries what waits, until one of them must wait on. */
  private flush(key: string, queue: Queue): void {
    const nowMs = this.parts.clock.monotonicMs();
    if (queue.trying) return;
    for (let [first] = queue.waiting; first; [first] = queue.waiting) {
      if (first.untilMs <= nowMs) {
        this.finish(queue, 0);
        continue;
      }
      if (queue.quietUntilMs > nowMs) return;
      queue.trying = first;
      const count = this.parts.attempt(first);
      if (count instanceof Promise) {
        const tried = first;
        void count.then((decided) => this.tried(key, queue, tried, decided));
        return;
      }
      queue.trying = undefined;
      if (count === HELD) return;
      this.finish(queue, count);
    }
    if (queue.quietUntilMs <= nowMs && this.queues.get(key) === queue) this.queues.delete(key);
  }

  private tried(key: string, queue: Queue, tried: Waiting, count: number): void {
    const { hasFailed } = queue;
    queue.trying = undefined;
    queue.hasFailed = false;
    queue.quietUntilMs = 0;
    // One that was sent before it may have come back as held.
    if (queue.waiting[0] !== tried || (count === HELD && !hasFailed)) return;
    this.finish(queue, count === HELD ? 0 : count);
    this.flush(key, queue);
  }

  private finish(queue: Queue, count: number): void {
    const first = queue.waiting.shift();
    if (first) this.answer(first, count);
  }

  private answer(one: Waiting, count: number): void {
    this.bytes -= one.bytes;
    this.waitingCount--;
    one.resolve(count);
  }
}

/** Unambiguous: an application's id contains no space. */
const keyOf = (app: string, peerId: string): string => `${app} ${peerId}`;

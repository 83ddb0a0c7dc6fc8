/**
 * Direct messages to peers that are held (holds.ts): they wait on the node of their sender until the peer is back, in the order in
 * which they were sent. The oldest of each peer is tried again and again; the others wait behind it. All attempts of a message have
 * one number, so that a node that was slow to answer does not deliver it a second time.
 */
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import {
  DEFERRED,
  type DirectAttempt,
  type Envelope,
  type OnDeferred,
  type SendResult,
  type Sent,
  UNAVAILABLE,
} from "../../engine/engine.ts";
import { HOLD_MS } from "../../protocol/limits.ts";
import { utf8Bytes } from "../../protocol/names.ts";
import type { Arrivals } from "../state/arrivals.ts";
import type { Connection } from "../state/connection.ts";
import { WAITING_SENDS_MAX_BYTES, WAITING_SENDS_PER_APP_MAX_BYTES, WAITING_SENDS_PER_PEER_MAX } from "./limits.ts";

const RETRY_MS = 150;
/** As long as a send can take after the first answer that its receiver is held: those sent before it may still come back as deferred. */
const SETTLE_MS = 500;
/** A node that has held the peer may be gone, and the others learn of its peers a moment later: within this time "no one" is not final. */
const HANDED_OVER_WITHIN_MS = 1000;

export interface WaitingSend {
  readonly spaceId: SpaceId;
  readonly to: string;
  readonly envelope: Envelope;
  readonly sender: Connection | undefined;
  /** Grows with every send of this node. */
  readonly order: number;
  readonly attempt: DirectAttempt;
  /** Those of its sender when it was sent. */
  readonly arrivals: Arrivals;
}

interface Waiting extends WaitingSend {
  /** Monotonic ms. */
  readonly untilMs: number;
  readonly bytes: number;
  readonly resolve: (result: SendResult) => void;
}

interface Queue {
  readonly waiting: Waiting[];
  /** The one that is being tried. */
  trying: Waiting | undefined;
  /** Since that has begun, its receiver was kicked. */
  hasFailed: boolean;
  /** Monotonic ms. */
  quietUntilMs: number;
  /** When a node has last answered that it expects the peer, monotonic ms. */
  deferredMs: number;
  /**
   * First attempts that have got that answer and are not decided: they belong before those that wait. Bound: messages that wait
   * for a receipt.
   */
  readonly undecided: Set<DirectAttempt>;
}

interface WaitingSendsParts {
  readonly clock: Clock;
  readonly attempt: (send: WaitingSend) => Sent;
  /** What an attempt has thrown. */
  readonly failed: (error: unknown) => void;
}

export class WaitingSends {
  /**
   * By application and peer. Bound: WAITING_SENDS_PER_PEER_MAX, WAITING_SENDS_PER_APP_MAX_BYTES and WAITING_SENDS_MAX_BYTES, for
   * 10 s; beyond that `rate_limited`.
   */
  private readonly queues = new Map<string, Queue>();
  /** By application. Bound: applications in `queues`. */
  private readonly bytesOf = new Map<string, number>();
  private bytes = 0;
  private waitingCount = 0;
  private isTimerSet = false;

  constructor(private readonly parts: WaitingSendsParts) {}

  /** Messages that wait. */
  get count(): number {
    return this.waitingCount;
  }

  /** What is sent to this peer now must wait behind others. */
  mustWait(spaceId: SpaceId, to: string): boolean {
    return this.queues.size > 0 && this.queues.has(keyOf(spaceId, to));
  }

  /** A node has answered that the peer is held: what is sent from now on waits, also while that send is not decided yet. */
  readonly onDeferred: OnDeferred = (attempt) => {
    const queue = this.queue(attempt.spaceId, attempt.to);
    queue.deferredMs = this.parts.clock.monotonicMs();
    queue.quietUntilMs = queue.deferredMs + SETTLE_MS;
    if (!attempt.isNext) queue.undecided.add(attempt);
  };

  /** The first attempt has ended; one that must wait is added in the same turn. */
  decided(attempt: DirectAttempt): void {
    if (this.queues.size > 0) this.queues.get(keyOf(attempt.spaceId, attempt.to))?.undecided.delete(attempt);
  }

  /**
   * Resolves with the number of connections it was delivered to; 0 if the peer is not back in time; UNAVAILABLE or OVERTAKEN if that
   * is not known. `undefined`: too much waits already.
   */
  add(send: WaitingSend): Promise<SendResult> | undefined {
    const { spaceId, to, envelope, order } = send;
    const bytes = utf8Bytes(envelope.dataJson) + utf8Bytes(envelope.metadataJson ?? "");
    const { waiting } = this.queue(spaceId, to);
    const ofApp = (this.bytesOf.get(spaceId) ?? 0) + bytes;
    if (waiting.length >= WAITING_SENDS_PER_PEER_MAX || ofApp > WAITING_SENDS_PER_APP_MAX_BYTES) return undefined;
    if (this.bytes + bytes > WAITING_SENDS_MAX_BYTES) return undefined;
    this.bytesOf.set(spaceId, ofApp);
    this.bytes += bytes;
    this.waitingCount++;
    const untilMs = this.parts.clock.monotonicMs() + HOLD_MS;
    return new Promise((resolve) => {
      const at = waiting.findLastIndex((one) => one.order < order) + 1;
      waiting.splice(at, 0, { ...send, bytes, untilMs, resolve });
    });
  }

  /** The peer has connected here. */
  returned(spaceId: SpaceId, peerId: string): void {
    const key = this.queues.size === 0 ? undefined : keyOf(spaceId, peerId);
    const queue = key && this.queues.get(key);
    if (queue) this.flushLater(key, queue);
  }

  /** Its welcome comes first. */
  private flushLater(key: string, queue: Queue): void {
    this.parts.clock.after(0, () => this.flush(key, queue));
  }

  /** The peer must not come back. */
  fail(spaceId: SpaceId, peerId: string): void {
    const queue = this.queues.size === 0 ? undefined : this.queues.get(keyOf(spaceId, peerId));
    if (!queue) return;
    const { trying } = queue;
    // What is being tried may have arrived: it is answered when that is known.
    queue.hasFailed = trying !== undefined;
    for (const one of [...queue.waiting]) if (one !== trying) this.take(queue, one)?.resolve(0);
  }

  private queue(spaceId: SpaceId, to: string): Queue {
    const key = keyOf(spaceId, to);
    let queue = this.queues.get(key);
    if (!queue) {
      const deferredMs = this.parts.clock.monotonicMs();
      queue = { waiting: [], trying: undefined, hasFailed: false, quietUntilMs: 0, deferredMs, undecided: new Set() };
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
    if (queue.trying || queue.undecided.size > 0) return;
    for (let [first] = queue.waiting; first; [first] = queue.waiting) {
      if (first.untilMs <= nowMs) {
        this.tryLast(queue);
        continue;
      }
      if (queue.quietUntilMs > nowMs) return;
      queue.trying = first;
      const result = this.attempt(first);
      if (result instanceof Promise) {
        const tried = first;
        void result.then((decided) => this.tried(key, queue, tried, decided));
        return;
      }
      if (!this.settle(queue, first, result)) return;
    }
    if (queue.quietUntilMs <= nowMs && this.queues.get(key) === queue) this.queues.delete(key);
  }

  private attempt(send: WaitingSend): Sent {
    const { attempt } = send;
    // A node that was slow has confirmed an earlier attempt.
    if (attempt.delivered > 0) return attempt.delivered;
    attempt.isNext = true;
    // After an exception it is tried again: otherwise everything behind it would wait for it without an end.
    try {
      const result = this.parts.attempt(send);
      return result instanceof Promise ? result.catch((error: unknown) => this.failed(error)) : result;
    } catch (error) {
      return this.failed(error);
    }
  }

  private failed(error: unknown): SendResult {
    this.parts.failed(error);
    return UNAVAILABLE;
  }

  /** Its time is over. Those behind it do not wait for its answer: they are sent after it, which is enough for their order. */
  private tryLast(queue: Queue): void {
    const last = this.take(queue);
    if (!last) return;
    last.attempt.isLast = true;
    const result = this.attempt(last);
    if (result instanceof Promise) void result.then((decided) => last.resolve(orNone(decided)));
    else last.resolve(orNone(result));
  }

  private tried(key: string, queue: Queue, tried: Waiting, result: SendResult): void {
    queue.quietUntilMs = 0;
    // One that was sent earlier may be before it by now.
    if (this.settle(queue, tried, result)) this.flush(key, queue);
  }

  /** An attempt has ended. Returns false if it must be repeated. */
  private settle(queue: Queue, tried: Waiting, result: SendResult): boolean {
    const { hasFailed } = queue;
    queue.trying = undefined;
    queue.hasFailed = false;
    if (!hasFailed && !this.isDecided(queue, result)) return false;
    this.take(queue, tried)?.resolve(hasFailed ? orNone(result) : result);
    return true;
  }

  /** Otherwise it is tried again. */
  private isDecided(queue: Queue, result: SendResult): boolean {
    const nowMs = this.parts.clock.monotonicMs();
    if (result === DEFERRED) queue.deferredMs = nowMs;
    if (result === DEFERRED || result === UNAVAILABLE) return false;
    return result !== 0 || nowMs - queue.deferredMs >= HANDED_OVER_WITHIN_MS;
  }

  private take({ waiting }: Queue, one: Waiting | undefined = waiting[0]): Waiting | undefined {
    const at = one ? waiting.indexOf(one) : -1;
    if (!one || at < 0) return undefined;
    waiting.splice(at, 1);
    const { spaceId, bytes } = one;
    const left = (this.bytesOf.get(spaceId) ?? 0) - bytes;
    if (left > 0) this.bytesOf.set(spaceId, left);
    else this.bytesOf.delete(spaceId);
    this.bytes -= bytes;
    this.waitingCount--;
    return one;
  }
}

/** No node has a connection of the peer, and there is no further attempt. */
const orNone = (result: SendResult): SendResult => (result === DEFERRED ? 0 : result);

/** Unambiguous: an application's id contains no space. */
const keyOf = (spaceId: SpaceId, peerId: string): string => `${spaceId} ${peerId}`;

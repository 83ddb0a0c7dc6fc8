/** Direct messages of this node that wait for a receipt. */
import { type DirectAttempt, HELD, OVERTAKEN, type SendResult, UNAVAILABLE } from "../../engine.ts";
import { RESPONSE_TIMEOUT_MS } from "../requests/pending-requests.ts";
import type { DeliveryCount } from "../wire/messages.ts";
import { UndecidedDirects } from "./undecided-messages.ts";

/**
 * A node that expects a peer back answers at once, but the peer may have returned on another node, whose receipt is still on its
 * way. A late answer says little either: a receipt may be behind it.
 */
export const HELD_WAIT_MS = 200;

/** Longer than any message waits for its receiver. */
const BETWEEN_ATTEMPTS_MS = 12_000;

export type Receipt = Pick<DeliveryCount, "count" | "isHeld" | "isLate">;

interface PendingDirectMessage {
  /** The text as sent. undefined: a count of 0 need not be certain, so it is not sent to every node. */
  readonly text: string | undefined;
  readonly resolve: (result: SendResult) => void;
  readonly untilMs: number;
  readonly attempt: DirectAttempt | undefined;
  /** That of its receiver, if it may be sent again. */
  readonly subject: string | undefined;
  /** When the first node answered that it expects the peer back, or that the message is late. */
  answeredMs: number | undefined;
  /** A node does not deliver it any more. */
  isLate: boolean;
  /** A node received it and had no connection of the peer any more. */
  hasNone: boolean;
  /** It was sent to every node in a request. */
  isForwarded: boolean;
}

export class PendingDirectMessages {
  /** In the order of their timeouts. Bound: the rate of frames for 1 s each; all fail when the transport is down. */
  private readonly pending = new Map<number, PendingDirectMessage>();
  /** The numbers of those that are decided soon without a receipt. Bound: some of `pending`, for 200 ms. */
  private readonly answered = new Set<number>();
  /**
   * Those whose last attempt has ended with HELD: a node that was slow may still confirm it. Oldest first. Bound: messages that
   * wait for a peer that is expected back, and those whose sender gave up; 12 s each.
   */
  private readonly betweenAttempts = new Map<number, { readonly attempt: DirectAttempt; readonly untilMs: number }>();
  private readonly undecided = new UndecidedDirects();

  constructor(
    private readonly nowMs: () => number,
    /** Whether a node has gone silent since then: it may be suspended, with messages of this node in its queue. */
    private readonly hasLostNodeSince: (ms: number) => boolean = () => false,
  ) {}

  add(number: number, text: string | undefined, attempt?: DirectAttempt, to?: string): Promise<SendResult> {
    // One that this node delivers too is not sent again.
    const subject = attempt && !attempt.isLast && text !== undefined ? to : undefined;
    if (subject !== undefined) this.undecided.add(subject, number);
    const untilMs = this.nowMs() + RESPONSE_TIMEOUT_MS;
    if (this.betweenAttempts.size > 0) this.betweenAttempts.delete(number);
    return new Promise((resolve) =>
      this.pending.set(number, {
        text,
        resolve,
        untilMs,
        attempt,
        subject,
        answeredMs: undefined,
        isLate: false,
        hasNone: false,
        isForwarded: false,
      }),
    );
  }

  /** Restarts the timeout, because the message is now sent to every node in a request. */
  extend(number: number): void {
    const one = this.pending.get(number);
    if (!one) return;
    // Moved to the end: entries are in the order of their timeouts.
    this.pending.delete(number);
    this.pending.set(number, { ...one, isForwarded: true, untilMs: this.nowMs() + RESPONSE_TIMEOUT_MS });
  }

  /** The oldest message to the peer with this subject that may be sent again, and is not decided. */
  oldestUndecided(subject: string): number | undefined {
    return this.undecided.oldest(subject);
  }

  text(number: number): string | undefined {
    return this.pending.get(number)?.text;
  }

  isPending(number: number): boolean {
    return this.pending.has(number);
  }

  /** A receipt for it still counts. */
  has(number: number): boolean {
    return this.pending.has(number) || (this.betweenAttempts.size > 0 && this.betweenAttempts.has(number));
  }

  /** The receipt of one node. With a count of 0 another node may still have delivered it. */
  delivered(number: number, { count, isHeld, isLate }: Receipt): void {
    const one = this.pending.get(number);
    if (!one) return this.deliveredLate(number, count);
    if (count > 0) return this.finish(number, one, count);
    one.hasNone = true;
    if (isLate) one.isLate = true;
    if (!isHeld && !isLate) return;
    if (one.answeredMs === undefined) {
      one.answeredMs = this.nowMs();
      this.answered.add(number);
    }
    // If this node delivers it too, the peer is connected here, and nothing need wait for its other connection.
    if (isHeld && one.text !== undefined) one.attempt?.onHeld(one.attempt);
  }

  /** The receipt of an earlier attempt. */
  private deliveredLate(number: number, count: number): void {
    const between = this.betweenAttempts.get(number);
    if (!between || count === 0) return;
    this.betweenAttempts.delete(number);
    between.attempt.delivered = count;
  }

  /** Every node was asked. `isUncertain`: a node that has not answered may have connections of the peer. */
  decide(number: number, { count, isHeld, isLate }: Receipt, isUncertain: boolean): void {
    const one = this.pending.get(number);
    if (!one) return;
    if (count > 0) return this.finish(number, one, count);
    if (isLate || one.isLate) return this.finish(number, one, OVERTAKEN);
    // What is tried again may be uncertain: it keeps its number, so that it cannot arrive twice.
    const isUnknown = isUncertain || (one.attempt !== undefined && this.mayHaveReachedGone(one.attempt));
    if (isHeld && !(isUnknown && one.attempt?.isLast)) {
      // Now, and not when its sender goes on: nothing may be sent in between.
      one.attempt?.onHeld(one.attempt);
      return this.finish(number, one, HELD);
    }
    this.finish(number, one, isUnknown ? UNAVAILABLE : 0);
  }

  /** An earlier attempt may have reached a node that is not asked any more. */
  private mayHaveReachedGone({ isLast, firstMs }: DirectAttempt): boolean {
    return isLast && this.hasLostNodeSince(firstMs);
  }

  /** `forward` sends one to every node in a request: some node had no connection of the peer, and no node has said that it had one. */
  sweep(forward: (number: number) => void): void {
    const now = this.nowMs();
    for (const number of this.answered) {
      const one = this.pending.get(number);
      if (one?.answeredMs === undefined || now - one.answeredMs < HELD_WAIT_MS) continue;
      // In the last attempt every node is asked: only their answers are certain.
      if (one.isLate || !one.attempt?.isLast) this.finish(number, one, one.isLate ? OVERTAKEN : HELD);
    }
    for (const [number, { untilMs }] of this.betweenAttempts) {
      if (untilMs > now) break;
      this.betweenAttempts.delete(number);
    }
    for (const [number, one] of this.pending) {
      if (one.untilMs > now) return;
      if (one.hasNone && !one.isForwarded) forward(number);
      else this.finish(number, one, UNAVAILABLE);
    }
  }

  /** No receipt can arrive any more. */
  failAll(): void {
    for (const [number, one] of [...this.pending]) this.finish(number, one, UNAVAILABLE);
  }

  private finish(number: number, { resolve, attempt, subject }: PendingDirectMessage, result: SendResult): void {
    this.pending.delete(number);
    if (subject !== undefined) this.undecided.remove(subject, number);
    this.answered.delete(number);
    if (attempt && !attempt.isLast && (result === HELD || (result === UNAVAILABLE && attempt.isNext)))
      this.betweenAttempts.set(number, { attempt, untilMs: this.nowMs() + BETWEEN_ATTEMPTS_MS });
    resolve(result);
  }
}

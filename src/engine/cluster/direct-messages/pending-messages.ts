/**
 * Direct messages of this node that wait for a receipt. `awaited` are the nodes that have delivered to the peer before.
 *
 *     what has come                                  what follows                                the result
 *     a count, and no node is awaited                at once                                     the count
 *     some receipt, but others are awaited           250 ms later each of them is asked          the count, or UNAVAILABLE if one is silent
 *     a node expects the peer back, no count         200 ms later, unless the last attempt       DEFERRED
 *     a node does not deliver it any more            200 ms later                                OVERTAKEN
 *     a node had no connection, nothing else         500 ms later every node is asked            decide(): any of these, or 0
 *     no subscriber, or the last attempt             every node is asked at once (*)             decide(): the same
 *     nothing                                        500 ms later every node is asked            decide(): the same, UNAVAILABLE instead of 0, DEFERRED where it is held
 *     nothing after that                             after the timeout                           UNAVAILABLE
 *
 * (*) With `isHere`, only those that are awaited.
 *
 * Silence need not mean that a node is slow: over several servers of NATS a message is lost without a word if the only node that
 * was subscribed has just ended its subscription, and another server does not know that yet. Or it waits for a suspended node that
 * no other node knows any more, so 0 is not certain after it.
 *
 * Receipts still count afterwards: of one that was delivered, they say which nodes have connections of the peer (`lately`); of one
 * that will be tried again, that it need not be (`betweenAttempts`).
 */
import { DEFERRED, type DirectAttempt, OVERTAKEN, type SendResult, UNAVAILABLE } from "../../engine.ts";
import { RESPONSE_TIMEOUT_MS } from "../requests/pending-requests.ts";
import type { DeliveryCount } from "../wire/messages.ts";
import { type NodeNames, ReachedNodes, without } from "./reached-nodes.ts";
import { UndecidedDirects } from "./undecided-messages.ts";

/**
 * A node that expects a peer back answers at once, but the peer may have returned on another node, whose receipt is still on its
 * way. A late answer says little either: a receipt may be behind it.
 */
export const DEFERRED_WAIT_MS = 200;

/** A node that has answered for the peer before is asked itself when it is silent for this long while others answer. */
export const ASK_AFTER_MS = 250;

/** When every node is asked, because none has said that it has connections of the peer. */
export const ASK_ALL_AFTER_MS = 500;

/** Bound: messages that were delivered, whose further receipts still count. They arrive within milliseconds. */
const LATELY_MAX = 1000;

/** Longer than any message waits for its receiver. */
const BETWEEN_ATTEMPTS_MS = 12_000;

export type Receipt = Pick<DeliveryCount, "count" | "isDeferred" | "isLate"> & Partial<Pick<DeliveryCount, "node">>;

interface PendingDirectMessage {
  /** As sent. */
  readonly text: string;
  /** This node delivers it too: where the servers know no other subscription for the peer, not every node is asked. */
  readonly isHere: boolean;
  readonly resolve: (result: SendResult) => void;
  readonly sentMs: number;
  readonly untilMs: number;
  readonly attempt: DirectAttempt | undefined;
  /** The subject of its receiver. */
  readonly to: string;
  /** The same, if it may be sent again. */
  readonly subject: string | undefined;
  /** Nodes that have connections of the peer, or had, and have not answered. */
  awaited: NodeNames;
  /** Connections that it was delivered to so far. */
  count: number;
  /** When the first node has answered while others are awaited. */
  partlyMs: number | undefined;
  /** Those that are awaited were asked one by one. */
  isAsked: boolean;
  /** When the first node answered that it expects the peer back, or that the message is late. */
  answeredMs: number | undefined;
  /** A node does not deliver it any more. */
  isLate: boolean;
  /** A node received it and had no connection of the peer any more. */
  hasNone: boolean;
  /** It had a subscriber that has not answered. */
  isUnanswered: boolean;
  /** It was sent to every node in a request. */
  isForwarded: boolean;
}

export class PendingDirectMessages {
  /** In the order of their timeouts. Bound: the rate of frames for 1 s each; all fail when the transport is down. */
  private readonly pending = new Map<number, PendingDirectMessage>();
  /** The numbers of those that are decided soon without a further receipt, unless they have a count. Bound: some of `pending`. */
  private readonly answeredSoon = new Set<number>();
  /**
   * Those that are tried again, because their latest attempt has ended with DEFERRED, or with UNAVAILABLE while `isNext`: a node that was
   * slow may still confirm it. Oldest first. Bound: messages that wait for a peer that is expected back, and those whose sender gave
   * up; 12 s each.
   */
  private readonly betweenAttempts = new Map<number, { readonly attempt: DirectAttempt; readonly untilMs: number }>();
  private readonly undecided = new UndecidedDirects();
  /** The numbers of those that some of the awaited nodes have answered, and were not asked for yet. Bound: some of `pending`, for 250 ms. */
  private readonly partly = new Set<number>();
  private readonly reached: ReachedNodes;
  /** The subjects of the receivers of those that were delivered lately: further nodes may confirm them. Oldest first. Bound: LATELY_MAX. */
  private readonly lately = new Map<number, string>();

  constructor(
    private readonly nowMs: () => number,
    /** Whether a node has gone silent since then: it may be suspended, with messages of this node in its queue. */
    private readonly hasLostNodeSince: (ms: number) => boolean = () => false,
    /** Whether a node of this name is there. */
    isThere: (name: string) => boolean = () => true,
  ) {
    this.reached = new ReachedNodes(isThere);
  }

  /** `to`: the subject of its receiver. */
  add(number: number, text: string, attempt?: DirectAttempt, to = "", isHere = false): Promise<SendResult> {
    // One that this node delivers too is not sent again.
    const subject = attempt && !attempt.isLast && !isHere ? to : undefined;
    if (subject !== undefined) this.undecided.add(subject, number);
    const sentMs = this.nowMs();
    if (this.betweenAttempts.size > 0) this.betweenAttempts.delete(number);
    return new Promise((resolve) =>
      this.pending.set(number, {
        text,
        isHere,
        resolve,
        sentMs,
        untilMs: sentMs + RESPONSE_TIMEOUT_MS,
        attempt,
        to,
        subject,
        awaited: this.reached.of(to),
        count: 0,
        partlyMs: undefined,
        isAsked: false,
        answeredMs: undefined,
        isLate: false,
        hasNone: false,
        isUnanswered: false,
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

  /** undefined: it is decided. */
  sent(number: number): Pick<PendingDirectMessage, "text" | "isHere" | "awaited"> | undefined {
    return this.pending.get(number);
  }

  /** Some nodes have confirmed messages to the peer with this subject: they are asked if they do not confirm the next one. */
  awaits(subject: string): boolean {
    return this.reached.of(subject).length > 0;
  }

  isPending(number: number): boolean {
    return this.pending.has(number);
  }

  /** A receipt for it still counts. */
  has(number: number): boolean {
    return this.pending.has(number) || (this.betweenAttempts.size > 0 && this.betweenAttempts.has(number));
  }

  /** The receipt of one node. With a count of 0 another node may still have delivered it. */
  delivered(number: number, receipt: Receipt): void {
    const { count, isDeferred, isLate } = receipt;
    const one = this.pending.get(number);
    if (!one) return this.deliveredLate(number, count);
    this.answeredBy(one, receipt);
    if (one.count > 0 && one.awaited.length === 0) return this.finish(number, one, one.count);
    if (one.awaited.length > 0 && one.partlyMs === undefined) {
      one.partlyMs = this.nowMs();
      this.partly.add(number);
    }
    if (count > 0) return;
    one.hasNone = true;
    if (isLate) one.isLate = true;
    if (!isDeferred && !isLate) return;
    if (one.answeredMs === undefined) {
      one.answeredMs = this.nowMs();
      this.answeredSoon.add(number);
    }
    // If this node delivers it too, the peer is connected here, and nothing need wait for its other connection.
    if (isDeferred && !one.isHere) one.attempt?.onDeferred(one.attempt);
  }

  private answeredBy(one: PendingDirectMessage, { node, count, isLate }: Receipt): void {
    one.count += count;
    if (node === undefined) return;
    if (count > 0) this.reached.add(one.to, node);
    // It has a connection of the peer, which may lack the message: it stays awaited.
    else if (isLate) return;
    else this.reached.remove(one.to, node);
    if (one.awaited.length > 0) one.awaited = without(one.awaited, node);
  }

  /** A node was asked by its own subject. `receipt` is undefined if it has not answered. */
  answered(number: number, receipt: Receipt | undefined): void {
    const one = this.pending.get(number);
    if (!one) return;
    if (!receipt) return this.finish(number, one, UNAVAILABLE);
    this.delivered(number, receipt);
    // Without this one, only connections of this node are left.
    if (one.isHere && one.awaited.length === 0 && this.pending.has(number)) this.finish(number, one, one.count);
  }

  /** The receipt of a further node, for one that is decided. */
  deliveredToo(number: number, { node, count }: DeliveryCount): void {
    const to = this.lately.get(number);
    if (to !== undefined && count > 0) this.reached.add(to, node);
  }

  /** The receipt of an earlier attempt. */
  private deliveredLate(number: number, count: number): void {
    const between = this.betweenAttempts.get(number);
    if (!between || count === 0) return;
    this.betweenAttempts.delete(number);
    between.attempt.delivered = count;
  }

  /** Every node was asked. `isUncertain`: a node that has not answered may have connections of the peer. */
  decide(number: number, receipts: readonly Receipt[], isUncertain: boolean): void {
    const one = this.pending.get(number);
    if (!one) return;
    for (const receipt of receipts) this.answeredBy(one, receipt);
    const isDeferred = receipts.some((receipt) => receipt.isDeferred);
    const isLate = receipts.some((receipt) => receipt.isLate);
    if (one.count > 0 && one.awaited.length === 0) return this.finish(number, one, one.count);
    if (one.count > 0 && !isLate && !one.isLate) return this.finish(number, one, UNAVAILABLE);
    if (isLate || one.isLate) return this.finish(number, one, OVERTAKEN);
    // What is tried again may be uncertain: it keeps its number, so that it cannot arrive twice.
    const isUnknown = isUncertain || this.mayHaveReachedGone(one);
    const isHeld = one.attempt?.isHeld === true && !one.attempt.isLast;
    if (isHeld || (isDeferred && !(isUnknown && one.attempt?.isLast))) {
      // Now, and not when its sender goes on: nothing may be sent in between.
      if (!one.isHere) one.attempt?.onDeferred(one.attempt);
      return this.finish(number, one, DEFERRED);
    }
    this.finish(number, one, isUnknown ? UNAVAILABLE : 0);
  }

  /** It, or an earlier attempt, may have reached a node that is not asked any more. */
  private mayHaveReachedGone({ attempt, sentMs, isUnanswered }: PendingDirectMessage): boolean {
    return (
      isUnanswered ||
      attempt?.isUnanswered === true ||
      this.hasLostNodeSince(attempt?.isLast ? attempt.firstMs : sentMs)
    );
  }

  /** `askAll` sends one to every node in a request, `ask` to the nodes that are awaited. */
  sweep(askAll: (number: number) => void, ask: (number: number) => void): void {
    const now = this.nowMs();
    for (const number of this.partly) {
      if (now - (this.pending.get(number)?.partlyMs ?? 0) < ASK_AFTER_MS) break;
      this.partly.delete(number);
      ask(number);
    }
    for (const number of this.answeredSoon) {
      const one = this.pending.get(number);
      if (one?.answeredMs === undefined || now - one.answeredMs < DEFERRED_WAIT_MS) continue;
      // In the last attempt every node is asked: only their answers are certain.
      if (one.isLate || (one.count === 0 && !one.attempt?.isLast))
        this.finish(number, one, one.isLate ? OVERTAKEN : DEFERRED);
    }
    for (const [number, { untilMs }] of this.betweenAttempts) {
      if (untilMs > now) break;
      this.betweenAttempts.delete(number);
    }
    this.sweepSilent(now, askAll);
  }

  private sweepSilent(nowMs: number, askAll: (number: number) => void): void {
    for (const [number, one] of this.pending) {
      if (one.untilMs - RESPONSE_TIMEOUT_MS + ASK_ALL_AFTER_MS > nowMs) return;
      if (mayAskAll(one)) {
        one.isUnanswered = !one.hasNone;
        if (one.attempt && one.isUnanswered) one.attempt.isUnanswered = true;
        askAll(number);
      } else if (one.untilMs <= nowMs) this.finish(number, one, UNAVAILABLE);
    }
  }

  /** Those that are awaited are asked one by one, within the same timeout. */
  asks(number: number): void {
    const one = this.pending.get(number);
    if (one) one.isAsked = true;
    this.partly.delete(number);
  }

  /** No receipt can arrive any more. */
  failAll(): void {
    for (const [number, one] of [...this.pending]) this.finish(number, one, UNAVAILABLE);
  }

  private finish(number: number, { resolve, attempt, to, subject }: PendingDirectMessage, result: SendResult): void {
    if (typeof result === "number" && result > 0) this.rememberLately(number, to);
    this.pending.delete(number);
    if (subject !== undefined) this.undecided.remove(subject, number);
    this.answeredSoon.delete(number);
    this.partly.delete(number);
    if (attempt && !attempt.isLast && (result === DEFERRED || (result === UNAVAILABLE && attempt.isNext)))
      this.betweenAttempts.set(number, { attempt, untilMs: this.nowMs() + BETWEEN_ATTEMPTS_MS });
    resolve(result);
  }

  private rememberLately(number: number, to: string): void {
    if (this.lately.size >= LATELY_MAX) for (const oldest of this.lately.keys().take(1)) this.lately.delete(oldest);
    this.lately.set(number, to);
  }
}

/** No node has said anything of the peer's connections, and none was asked. */
const mayAskAll = ({ isForwarded, isAsked, partlyMs, answeredMs }: PendingDirectMessage): boolean =>
  !isForwarded && !isAsked && partlyMs === undefined && answeredMs === undefined;

/**
 * Subscribes that wait: for the engine, for the store of history, or for the subscribe before them. When their subscription ends
 * first, they are answered then. Otherwise the ack of an unsubscribe would overtake that of the subscribe before it, and a client that
 * matches answers to requests in order would take itself for subscribed.
 */
import type { Code } from "../../protocol/codes.ts";
import type { Subscription } from "../state/subscription.ts";

/** `refused` says why a subscribe is refused; `undefined` if it is accepted. `fields`: more members of the ack (encode.ts). */
export type Answer = (refused: Code | undefined, fields?: string) => void;

export class Unanswered {
  /** Oldest first. Bound: subscriptions that are not acked, or are repeated; the rate of frames for as long as each waits. */
  private readonly waiting = new Map<Subscription, Answer[]>();

  /** Returns an answer in place of this one: it does nothing once `end` has answered. */
  add(subscription: Subscription, answer: Answer): Answer {
    const once: Answer = (refused, fields) => {
      if (this.remove(subscription, once)) answer(refused, fields);
    };
    const waiting = this.waiting.get(subscription) ?? [];
    waiting.push(once);
    this.waiting.set(subscription, waiting);
    return once;
  }

  /** Answers all that wait for this subscription, in the order in which they came. */
  end(subscription: Subscription, refused: Code | undefined): void {
    for (const answer of [...(this.waiting.get(subscription) ?? [])]) answer(refused);
  }

  private remove(subscription: Subscription, answer: Answer): boolean {
    const waiting = this.waiting.get(subscription) ?? [];
    const at = waiting.indexOf(answer);
    if (at < 0) return false;
    waiting.splice(at, 1);
    if (waiting.length === 0) this.waiting.delete(subscription);
    return true;
  }
}

/** Direct messages of this node that wait for a receipt. */
import { UNAVAILABLE } from "../engine.ts";
import { RESPONSE_TIMEOUT_MS } from "./pending-requests.ts";

interface PendingDirectMessage {
  /** The text as sent. undefined: a count of 0 need not be certain, so it is not sent to every node. */
  readonly text: string | undefined;
  readonly resolve: (count: number) => void;
  readonly untilMs: number;
  /** A node received it and had no connection of the peer any more. */
  hasNone: boolean;
}

export class PendingDirectMessages {
  /** In the order of their timeouts. */
  private readonly pending = new Map<number, PendingDirectMessage>();

  constructor(private readonly nowMs: () => number) {}

  /** Resolves with the number of connections, or UNAVAILABLE. */
  add(number: number, text: string | undefined): Promise<number> {
    return new Promise((resolve) =>
      this.pending.set(number, { text, resolve, untilMs: this.nowMs() + RESPONSE_TIMEOUT_MS, hasNone: false }),
    );
  }

  /** Restarts the timeout, because the message is now sent to every node in a request. */
  extend(number: number): void {
    const one = this.pending.get(number);
    if (!one) return;
    // Moved to the end: entries are in the order of their timeouts.
    this.pending.delete(number);
    this.pending.set(number, { ...one, untilMs: this.nowMs() + RESPONSE_TIMEOUT_MS });
  }

  text(number: number): string | undefined {
    return this.pending.get(number)?.text;
  }

  has(number: number): boolean {
    return this.pending.has(number);
  }

  /** The receipt of one node. With a count of 0 another node may still have delivered it. */
  delivered(number: number, count: number): void {
    const one = this.pending.get(number);
    if (!one) return;
    if (count > 0) this.finish(number, one, count);
    else one.hasNone = true;
  }

  /** Every node was asked. `isUncertain`: a node that has not answered may have connections of the peer. */
  decide(number: number, count: number, isUncertain: boolean): void {
    const one = this.pending.get(number);
    if (one) this.finish(number, one, count === 0 && isUncertain ? UNAVAILABLE : count);
  }

  sweep(): void {
    const now = this.nowMs();
    for (const [number, one] of this.pending) {
      if (one.untilMs > now) return;
      this.finish(number, one, one.hasNone ? 0 : UNAVAILABLE);
    }
  }

  /** No receipt can arrive any more. */
  failAll(): void {
    for (const [number, one] of [...this.pending]) this.finish(number, one, UNAVAILABLE);
  }

  private finish(number: number, { resolve }: PendingDirectMessage, count: number): void {
    this.pending.delete(number);
    resolve(count);
  }
}

/** Direct messages of this node that wait for a receipt. */
import { HELD, UNAVAILABLE } from "../engine.ts";
import { RESPONSE_TIMEOUT_MS } from "./pending-requests.ts";

/**
 * A node that expects a peer back answers at once, but the peer may have returned on another node, whose receipt is still on its way:
 * if the first answer counted, the message would be sent again and arrive twice.
 */
export const HELD_WAIT_MS = 200;

interface PendingDirectMessage {
  /** The text as sent. undefined: a count of 0 need not be certain, so it is not sent to every node. */
  readonly text: string | undefined;
  readonly resolve: (count: number) => void;
  readonly untilMs: number;
  readonly onHeld: (() => void) | undefined;
  /** When the first node answered that it expects the peer back. */
  heldMs: number | undefined;
  /** A node received it and had no connection of the peer any more. */
  hasNone: boolean;
  /** It was sent to every node in a request. */
  isForwarded: boolean;
}

export class PendingDirectMessages {
  /** In the order of their timeouts. */
  private readonly pending = new Map<number, PendingDirectMessage>();
  /** The numbers of those whose receiver is expected back. */
  private readonly held = new Set<number>();

  constructor(private readonly nowMs: () => number) {}

  /** Resolves with the number of connections, or UNAVAILABLE. */
  add(number: number, text: string | undefined, onHeld?: () => void): Promise<number> {
    const untilMs = this.nowMs() + RESPONSE_TIMEOUT_MS;
    return new Promise((resolve) =>
      this.pending.set(number, {
        text,
        resolve,
        untilMs,
        onHeld,
        heldMs: undefined,
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

  text(number: number): string | undefined {
    return this.pending.get(number)?.text;
  }

  has(number: number): boolean {
    return this.pending.has(number);
  }

  /** The receipt of one node. With a count of 0 another node may still have delivered it. */
  delivered(number: number, count: number, isHeld = false): void {
    const one = this.pending.get(number);
    if (!one) return;
    if (count > 0) return this.finish(number, one, count);
    one.hasNone = true;
    if (!isHeld || one.heldMs !== undefined) return;
    one.heldMs = this.nowMs();
    this.held.add(number);
    one.onHeld?.();
  }

  /** Every node was asked. `isUncertain`: a node that has not answered may have connections of the peer. */
  decide(number: number, count: number, isUncertain: boolean, isHeld = false): void {
    const one = this.pending.get(number);
    if (!one) return;
    if (count > 0) this.finish(number, one, count);
    else this.finish(number, one, isHeld ? HELD : isUncertain ? UNAVAILABLE : 0);
  }

  /** `forward` sends one to every node in a request: some node had no connection of the peer, and no node has said that it had one. */
  sweep(forward: (number: number) => void): void {
    const now = this.nowMs();
    for (const number of this.held) {
      const one = this.pending.get(number);
      if (one?.heldMs !== undefined && now - one.heldMs >= HELD_WAIT_MS) this.finish(number, one, HELD);
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

  private finish(number: number, { resolve }: PendingDirectMessage, count: number): void {
    this.pending.delete(number);
    this.held.delete(number);
    resolve(count);
  }
}

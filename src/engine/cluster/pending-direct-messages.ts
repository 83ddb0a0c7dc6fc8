/** Direct messages whose answers are still out. */
import { UNAVAILABLE } from "../engine.ts";
import { ANSWER_MS } from "./pending-requests.ts";

interface Pending {
  /** As it was sent, if it must be certain that nobody has the peer. */
  readonly text: string | undefined;
  readonly resolve: (reached: number) => void;
  readonly until: number;
  /** Somebody was asked and had no connection of that peer any more. */
  none: boolean;
}

export class Sends {
  /** In the order they were sent. */
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly nowMs: () => number) {}

  expect(number: number, text: string | undefined): Promise<number> {
    return new Promise((resolve) =>
      this.pending.set(number, { text, resolve, until: this.nowMs() + ANSWER_MS, none: false }),
    );
  }

  /** The nodes are asked one by one: what they answer counts. */
  prolong(number: number): void {
    const one = this.pending.get(number);
    if (!one) return;
    // Behind the others: they are in the order of their limits.
    this.pending.delete(number);
    this.pending.set(number, { ...one, until: this.nowMs() + ANSWER_MS });
  }

  text(number: number): string | undefined {
    return this.pending.get(number)?.text;
  }

  has(number: number): boolean {
    return this.pending.has(number);
  }

  /** One that was handed to somebody is answered; one that was not may have been, on another node. */
  handed(number: number, count: number): void {
    const one = this.pending.get(number);
    if (!one) return;
    if (count > 0) this.finish(number, one, count);
    else one.none = true;
  }

  /** What the nodes have said that were asked one by one; `isUnsure`: somebody may hold the peer who has not answered. */
  decided(number: number, count: number, isUnsure: boolean): void {
    const one = this.pending.get(number);
    if (one) this.finish(number, one, count === 0 && isUnsure ? UNAVAILABLE : count);
  }

  sweep(): void {
    const now = this.nowMs();
    for (const [number, one] of this.pending) {
      if (one.until > now) return;
      this.finish(number, one, one.none ? 0 : UNAVAILABLE);
    }
  }

  /** Nothing can be found out any more. */
  fail(): void {
    for (const [number, one] of [...this.pending]) this.finish(number, one, UNAVAILABLE);
  }

  private finish(number: number, { resolve }: Pending, reached: number): void {
    this.pending.delete(number);
    resolve(reached);
  }
}

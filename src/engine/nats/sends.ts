/** Direct messages whose answers are still out. */
import { UNAVAILABLE } from "../engine.ts";
import { ANSWER_MS } from "./questions.ts";

/** An inbox that does not answer within this may be gone, and the servers do not know it yet: the nodes are asked. */
const SLOW_MS = 150;

interface Pending {
  /** As it was sent. */
  readonly text: string;
  /** Somebody gets it anyway: that there is nobody else need not be certain. */
  readonly isHere: boolean;
  readonly sinceMs: number;
  isAskedRound: boolean;
  readonly resolve: (reached: number) => void;
  readonly until: number;
  /** Somebody was asked and had no connection of that peer any more. */
  none: boolean;
}

export class Sends {
  /** In the order they were sent. */
  private readonly pending = new Map<number, Pending>();

  constructor(private readonly nowMs: () => number) {}

  expect(number: number, text: string, isHere: boolean): Promise<number> {
    const sinceMs = this.nowMs();
    const until = sinceMs + ANSWER_MS;
    return new Promise((resolve) =>
      this.pending.set(number, { text, isHere, sinceMs, isAskedRound: false, resolve, until, none: false }),
    );
  }

  /** No inbox has it, as far as the servers know. The text to ask the nodes about; undefined: that is not needed. */
  nobody(number: number, isUnsure: boolean): string | undefined {
    const one = this.pending.get(number);
    if (!one) return undefined;
    if (!one.isHere) return this.askedRound(number, one);
    this.finish(number, one, isUnsure ? UNAVAILABLE : 0);
    return undefined;
  }

  /** Those whose inbox should have answered by now, and their texts. */
  slow(): [number: number, text: string][] {
    const before = this.nowMs() - SLOW_MS;
    const slow = [...this.pending].filter(([, one]) => !one.isAskedRound && one.sinceMs <= before);
    return slow.map(([number, one]) => [number, this.askedRound(number, one)]);
  }

  /** The nodes are asked one by one: what they answer counts. */
  private askedRound(number: number, one: Pending): string {
    // Behind the others: they are in the order of their limits.
    this.pending.delete(number);
    this.pending.set(number, { ...one, isAskedRound: true, until: this.nowMs() + ANSWER_MS });
    return one.text;
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

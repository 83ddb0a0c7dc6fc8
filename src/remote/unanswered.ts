/** What a worker has called and has no answer to. */
import { HistoryUnavailable } from "../history/contract/history.ts";
import { StoreUnreachable } from "../store/contract/store.ts";
import { UNANSWERED_MAX_BYTES, UNANSWERED_MAX_CALLS } from "./limits.ts";

/** append-frames.ts has 32 bits for it: what is not answered is among the last 50,000. */
const NR_MAX = 0xffffffff;

interface Pending {
  readonly isHistory: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Its share of the frame that it was sent in. */
  bytes: number;
}

export class Unanswered {
  private lastNr = 0;
  /** Bound: UNANSWERED_MAX_CALLS and UNANSWERED_MAX_BYTES, further ones are refused. */
  private readonly pending = new Map<number, Pending>();
  private bytes = 0;

  nextNr(): number {
    this.lastNr = this.lastNr === NR_MAX ? 1 : this.lastNr + 1;
    return this.lastNr;
  }

  /** Why there can be no more; undefined: there can. */
  get whyFull(): string | undefined {
    if (this.pending.size < UNANSWERED_MAX_CALLS && this.bytes < UNANSWERED_MAX_BYTES) return undefined;
    return `${this.pending.size} calls with ${Math.round(this.bytes)} bytes wait for the stores already`;
  }

  /** The answer to a call. */
  wait(nr: number, isHistory: boolean): Promise<unknown> {
    return new Promise<unknown>((resolve, reject) => {
      this.pending.set(nr, { isHistory, resolve, reject, bytes: 0 });
    });
  }

  sent(nr: number, bytes: number): void {
    const one = this.pending.get(nr);
    if (!one) return;
    one.bytes = bytes;
    this.bytes += bytes;
  }

  take(nr: number): Pending | undefined {
    const one = this.pending.get(nr);
    if (!one) return undefined;
    this.pending.delete(nr);
    this.bytes -= one.bytes;
    return one;
  }

  rejectAll(message: string): void {
    const all = [...this.pending.values()];
    this.pending.clear();
    this.bytes = 0;
    for (const { isHistory, reject } of all) reject(unreachable(isHistory, message));
  }
}

export const unreachable = (isHistory: boolean, message: string): Error =>
  isHistory ? new HistoryUnavailable(message) : new StoreUnreachable(message);

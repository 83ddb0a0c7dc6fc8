/** Calls of the store of history that fail if they are not answered in time: a store that hangs must not hold what waits for it. */
import type { Clock } from "../../base/clock.ts";
import { HistoryUnavailable } from "../../history/contract/history.ts";
import { STORE_MAX_MS } from "./limits.ts";

interface Open {
  readonly untilMs: number;
  readonly fail: (error: Error) => void;
  isOver: boolean;
}

export class StoreCalls {
  /** In the order of their deadlines, because all may take equally long. Bound: what each caller of this has under way. */
  private readonly open: Open[] = [];
  private isTimerSet = false;

  constructor(private readonly clock: Clock) {}

  run<T>(answer: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const one: Open = { untilMs: this.clock.monotonicMs() + STORE_MAX_MS, fail: reject, isOver: false };
      this.open.push(one);
      this.watch();
      answer.then(resolve, reject).finally(() => {
        one.isOver = true;
        while (this.open[0]?.isOver) this.open.shift();
      });
    });
  }

  /** One timer for all calls: most of them are answered long before. */
  private watch(): void {
    const [first] = this.open;
    if (this.isTimerSet || !first) return;
    this.isTimerSet = true;
    this.clock.after(Math.max(1, first.untilMs - this.clock.monotonicMs()), () => {
      this.isTimerSet = false;
      const nowMs = this.clock.monotonicMs();
      for (let one = this.open[0]; one && (one.isOver || one.untilMs <= nowMs); one = this.open[0]) {
        this.open.shift();
        one.fail(new HistoryUnavailable(`the store of history has not answered for ${STORE_MAX_MS} ms`));
      }
      this.watch();
    });
  }
}

/** For tests: a history whose calls can be paused, delayed or made to fail, as those of a distant or broken server. */
import type { AppId, SpaceId } from "../../base/ids.ts";
import {
  type Appended,
  type Batch,
  type ChangedHeads,
  type HistoryStore,
  type HistoryTotals,
  HistoryUnavailable,
  type HistoryUsage,
  type Page,
  type Range,
  type StreamState,
} from "../contract/history.ts";

type Retention = Parameters<HistoryStore["open"]>[2];
export type Call = "append" | "settle" | "open" | "read" | "heads" | "remove";

/**
 * What happens to a call:
 * - "answer": it reaches the store, and is answered.
 * - "fail": it does not reach the store, and rejects.
 * - "lose": it reaches the store, and rejects all the same.
 */
export type Fate = "answer" | "fail" | "lose";

interface PausedCall {
  readonly call: Call;
  release(fate: Fate): void;
}

export class UnreliableHistory implements HistoryStore {
  /** The fate of each call, which may depend on it; a promise delays it. */
  fate: (call: Call) => Fate | Promise<Fate> = () => "answer";
  /** Awaited when a call has reached the store, before it is answered. */
  beforeAnswer: (call: Call) => void | Promise<void> = () => undefined;
  /** How often each call was made. */
  readonly calls: Record<Call, number> = { append: 0, settle: 0, open: 0, read: 0, heads: 0, remove: 0 };
  private readonly paused: PausedCall[] = [];
  private readonly waiting: (() => void)[] = [];
  /** Checks of batches that were settled: one that is still paused is not stored any more. */
  private readonly settled = new Set<string>();
  private readonly rewound: (() => void)[] = [];

  constructor(
    readonly inner: HistoryStore,
    readonly isShared = inner.isShared,
  ) {
    inner.onRewound(() => this.rewind());
  }

  /** Pauses these calls until they are released, each with a fate of its own. */
  pause(...calls: readonly Call[]): void {
    this.fate = (call) =>
      calls.includes(call)
        ? new Promise((resolve) => {
            this.paused.push({ call, release: resolve });
            for (const wake of this.waiting.splice(0)) wake();
          })
        : "answer";
  }

  /** Resolves when that many calls are paused. */
  async pausedCalls(count = 1): Promise<readonly Call[]> {
    while (this.paused.length < count) await new Promise<void>((resolve) => this.waiting.push(resolve));
    return this.paused.map(({ call }) => call);
  }

  /** Releases the call that was paused first. */
  releaseFirst(fate: Fate = "answer"): void {
    this.paused.shift()?.release(fate);
  }

  /** Releases all paused calls, and pauses no more. */
  releaseAll(fate: Fate = "answer"): void {
    this.fate = () => "answer";
    for (const { release } of this.paused.splice(0)) release(fate);
  }

  /** As after a failover that lost messages. */
  rewind(): void {
    for (const listener of this.rewound) listener();
  }

  append = (batch: Batch): Promise<readonly Appended[]> =>
    this.call("append", () => {
      if (this.settled.has(batch.check)) throw new HistoryUnavailable("the batch was settled before");
      return this.inner.append(batch);
    });
  settle = (batch: Batch): Promise<readonly Appended[] | undefined> =>
    this.call("settle", () => {
      this.settled.add(batch.check);
      return this.inner.settle(batch);
    });
  open = (spaceId: SpaceId, channel: string, keep: Retention): Promise<StreamState> =>
    this.call("open", () => this.inner.open(spaceId, channel, keep));
  read = (spaceId: SpaceId, channel: string, range: Range): Promise<Page | undefined> =>
    this.call("read", () => this.inner.read(spaceId, channel, range));
  heads = (agoMs: number): Promise<ChangedHeads> => this.call("heads", () => this.inner.heads(agoMs));
  remove = (spaceId: SpaceId, channel: string): Promise<boolean> =>
    this.call("remove", () => this.inner.remove(spaceId, channel));
  applyRules = (spaceId: SpaceId, keep: (channel: string) => Retention | undefined): Promise<void> =>
    this.inner.applyRules(spaceId, keep);
  removeSpace = (spaceId: SpaceId): Promise<void> => this.inner.removeSpace(spaceId);
  usage = (spaceId: SpaceId): Promise<HistoryUsage> => this.inner.usage(spaceId);
  totals = (): Promise<HistoryTotals> => this.inner.totals();
  trim = (maxBytesOf: (app: AppId) => number): Promise<boolean> => this.inner.trim(maxBytesOf);

  onRewound(listener: () => void): void {
    this.rewound.push(listener);
  }

  close(): Promise<void> {
    this.releaseAll("fail");
    return this.inner.close();
  }

  private async call<T>(call: Call, work: () => Promise<T>): Promise<T> {
    this.calls[call]++;
    const fate = await this.fate(call);
    if (fate === "fail") throw new HistoryUnavailable(`${call} was made to fail`);
    const result = await work();
    await this.beforeAnswer(call);
    if (fate === "lose") throw new HistoryUnavailable(`the answer to ${call} was made to be lost`);
    return result;
  }
}

/** For tests: a history whose calls can be paused, delayed or made to fail, as those of a distant or broken server. */
import type { AppId, SpaceId } from "../../base/ids.ts";
import type { CreatedStreamStore } from "../contract/created-streams.ts";
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
/** Those of created streams follow the others; `settle write` is theirs of `settle`. */
export type Call =
  | "append"
  | "settle"
  | "open"
  | "read"
  | "heads"
  | "remove"
  | "create"
  | "write"
  | "settle write"
  | "describe"
  | "read created"
  | "use"
  | "delete"
  | "list"
  | "changes";

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
  readonly calls: Record<Call, number> = {
    append: 0,
    settle: 0,
    open: 0,
    read: 0,
    heads: 0,
    remove: 0,
    create: 0,
    write: 0,
    "settle write": 0,
    describe: 0,
    "read created": 0,
    use: 0,
    delete: 0,
    list: 0,
    changes: 0,
  };
  readonly created: CreatedStreamStore;
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
    this.created = this.createdOf(inner.created);
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

  private createdOf(inner: CreatedStreamStore): CreatedStreamStore {
    return {
      create: (creation) => this.call("create", () => inner.create(creation)),
      write: (batch) =>
        this.call("write", () => {
          if (this.settled.has(batch.check)) throw new HistoryUnavailable("the batch was settled before");
          return inner.write(batch);
        }),
      settle: (batch) =>
        this.call("settle write", () => {
          this.settled.add(batch.check);
          return inner.settle(batch);
        }),
      describe: (name) => this.call("describe", () => inner.describe(name)),
      read: (name, range) => this.call("read created", () => inner.read(name, range)),
      use: (name) => this.call("use", () => inner.use(name)),
      delete: (name) => this.call("delete", () => inner.delete(name)),
      list: (spaceId, page) => this.call("list", () => inner.list(spaceId, page)),
      producers: (name, limit) => this.call("list", () => inner.producers(name, limit)),
      changes: (agoMs) => this.call("changes", () => inner.changes(agoMs)),
      applyRules: (spaceId, isStream) => inner.applyRules(spaceId, isStream),
      expire: () => inner.expire(),
    };
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

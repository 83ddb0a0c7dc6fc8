/** A history whose calls are counted, and which knows whether it answers. */
import type { AppId, SpaceId } from "../base/ids.ts";
import type { Retention } from "../protocol/patterns/channel-rules.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type {
  Appended,
  Batch,
  ChangedHeads,
  HistoryStore,
  HistoryTotals,
  HistoryUsage,
  Page,
  Range,
  StreamState,
} from "./contract/history.ts";
import { MeteredCreated } from "./metered-created.ts";

/** A failure to store counts for this long, unless something is stored meanwhile: then the store may be well, and only unused. */
const FAILURE_COUNTS_MS = 60_000;

export interface MeteredOptions {
  /** Messages can no longer be stored, with the first error; or can be stored again. */
  readonly changed?: (canStore: boolean, error?: unknown) => void;
  readonly monotonicMs?: () => number;
}

export class MeteredHistory implements HistoryStore {
  readonly isShared: boolean;
  readonly created: MeteredCreated;
  private lastAnswered = true;
  /** Monotonic ms of the last failure to store messages, if nothing was stored since. A full disk can still be read. */
  private notStoredMs: number | undefined;
  private readonly monotonicMs: () => number;
  private readonly messages;
  private readonly duplicates;
  private readonly bytes;
  private readonly batches;
  private readonly failures;

  constructor(
    private readonly inner: HistoryStore,
    metrics: Metrics,
    private readonly options: MeteredOptions = {},
  ) {
    this.monotonicMs = options.monotonicMs ?? (() => performance.now());
    this.isShared = inner.isShared;
    this.messages = metrics.counter("parley_history_messages_total", "Messages that were stored in histories.");
    this.duplicates = metrics.counter(
      "parley_history_duplicates_total",
      "Messages that were not stored because their id had been used.",
    );
    this.bytes = metrics.counter("parley_history_bytes_total", "Bytes of the messages that were stored in histories.");
    this.batches = metrics.counter("parley_history_batches_total", "Transactions that stored messages.");
    this.failures = metrics.counter("parley_history_failures_total", "Calls that the store of histories failed.");
    metrics.gauge("parley_history_up", "Whether the store of histories answers, and stores messages.", () =>
      Number(this.isUp),
    );
    this.created = new MeteredCreated(inner.created, metrics, {
      watch: (call) => this.watch(call),
      watchStoring: (call) => this.watchStoring(call),
    });
  }

  /** Whether the last call was answered, and the last messages were stored. Trimming calls it every second, so this is never old. */
  get isUp(): boolean {
    const { notStoredMs } = this;
    return this.lastAnswered && (notStoredMs === undefined || this.monotonicMs() - notStoredMs >= FAILURE_COUNTS_MS);
  }

  append = async (batch: Batch): Promise<readonly Appended[]> => {
    const results = await this.watchStoring(this.inner.append(batch));
    this.count(batch, results);
    return results;
  };

  settle = async (batch: Batch): Promise<readonly Appended[] | undefined> => {
    const results = await this.watch(this.inner.settle(batch));
    if (results) this.count(batch, results);
    return results;
  };

  open = (spaceId: SpaceId, channel: string, keep: Retention): Promise<StreamState> =>
    this.watch(this.inner.open(spaceId, channel, keep));
  read = (spaceId: SpaceId, channel: string, range: Range): Promise<Page | undefined> =>
    this.watch(this.inner.read(spaceId, channel, range));
  heads = (agoMs: number): Promise<ChangedHeads> => this.watch(this.inner.heads(agoMs));
  remove = (spaceId: SpaceId, channel: string): Promise<boolean> => this.watch(this.inner.remove(spaceId, channel));
  applyRules = (spaceId: SpaceId, keep: (channel: string) => Retention | undefined): Promise<void> =>
    this.watch(this.inner.applyRules(spaceId, keep));
  removeSpace = (spaceId: SpaceId): Promise<void> => this.watch(this.inner.removeSpace(spaceId));
  usage = (spaceId: SpaceId): Promise<HistoryUsage> => this.watch(this.inner.usage(spaceId));
  totals = (): Promise<HistoryTotals> => this.watch(this.inner.totals());
  trim = (maxBytesOf: (app: AppId) => number): Promise<boolean> => this.watch(this.inner.trim(maxBytesOf));

  onRewound(listener: () => void): void {
    this.inner.onRewound(listener);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  private count(batch: Batch, results: readonly Appended[]): void {
    let [stored, bytes, at] = [0, 0, 0];
    for (const { isDuplicate } of results) {
      const message = batch.messages[at++];
      if (isDuplicate || !message) continue;
      stored++;
      bytes += message.bytes;
    }
    this.batches.inc();
    this.messages.inc(stored);
    this.bytes.inc(bytes);
    this.duplicates.inc(results.length - stored);
  }

  private stored(): void {
    if (this.notStoredMs === undefined) return;
    this.notStoredMs = undefined;
    this.options.changed?.(true);
  }

  private async watchStoring<T>(call: Promise<T>): Promise<T> {
    try {
      const result = await this.watch(call);
      this.stored();
      return result;
    } catch (error) {
      if (this.notStoredMs === undefined) this.options.changed?.(false, error);
      this.notStoredMs = this.monotonicMs();
      throw error;
    }
  }

  private async watch<T>(call: Promise<T>): Promise<T> {
    try {
      const result = await call;
      this.lastAnswered = true;
      return result;
    } catch (error) {
      this.lastAnswered = false;
      this.failures.inc();
      throw error;
    }
  }
}

/** Created streams whose calls are counted: a part of MeteredHistory. */
import type { SpaceId } from "../base/ids.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type {
  CreatedPage,
  CreatedStream,
  CreatedStreamStore,
  Creating,
  Creation,
  ListedProducer,
  ListedStream,
  StreamChange,
  StreamName,
  Write,
  WriteBatch,
  Written,
} from "./contract/created-streams.ts";
import type { Appended, NewMessage, Range } from "./contract/history.ts";

interface Watching {
  /** Counts whether a call is answered. */
  readonly watch: <T>(call: Promise<T>) => Promise<T>;
  /** The same for a call that stores messages. */
  readonly watchStoring: <T>(call: Promise<T>) => Promise<T>;
}

export class MeteredCreated implements CreatedStreamStore {
  private readonly writes;
  private readonly messages;
  private readonly bytes;
  private readonly batches;

  constructor(
    private readonly inner: CreatedStreamStore,
    metrics: Metrics,
    private readonly watching: Watching,
  ) {
    this.writes = metrics.counters(
      "parley_stream_writes_total",
      "Writes over HTTP to channels with streams or history: written, duplicate, or why they were refused.",
    );
    this.messages = metrics.counter("parley_stream_messages_total", "Messages that such writes have stored.");
    this.bytes = metrics.counter("parley_stream_bytes_total", "Bytes of the messages that such writes have stored.");
    this.batches = metrics.counter("parley_stream_batches_total", "Transactions of such writes.");
  }

  create = async (creation: Creation): Promise<Creating> => {
    const result = await this.watching.watchStoring(this.inner.create(creation));
    if ("appended" in result) this.countStored(creation.messages, result.appended);
    return result;
  };

  write = async (batch: WriteBatch): Promise<readonly Written[]> => {
    const results = await this.watching.watchStoring(this.inner.write(batch));
    this.count(batch.writes, results);
    return results;
  };

  settle = async (batch: WriteBatch): Promise<readonly Written[] | undefined> => {
    const results = await this.watching.watch(this.inner.settle(batch));
    if (results) this.count(batch.writes, results);
    return results;
  };

  describe = (name: StreamName): Promise<CreatedStream | "gone" | undefined> =>
    this.watching.watch(this.inner.describe(name));
  read = (name: StreamName, range: Range): Promise<CreatedPage | "gone" | undefined> =>
    this.watching.watch(this.inner.read(name, range));
  use = (name: StreamName): Promise<void> => this.watching.watch(this.inner.use(name));
  delete = (name: StreamName): Promise<"deleted" | "gone" | "not found"> =>
    this.watching.watch(this.inner.delete(name));
  list = (spaceId: SpaceId, page: Parameters<CreatedStreamStore["list"]>[1]): Promise<readonly ListedStream[]> =>
    this.watching.watch(this.inner.list(spaceId, page));
  producers = (name: StreamName, limit: number): Promise<readonly ListedProducer[]> =>
    this.watching.watch(this.inner.producers(name, limit));
  changes = (agoMs: number): Promise<readonly StreamChange[]> => this.watching.watch(this.inner.changes(agoMs));
  applyRules = (spaceId: SpaceId, isStream: (channel: string) => boolean): Promise<void> =>
    this.watching.watch(this.inner.applyRules(spaceId, isStream));
  expire = (): Promise<boolean> => this.watching.watch(this.inner.expire());

  private count(writes: readonly Write[], results: readonly Written[]): void {
    this.batches.inc();
    for (const [at, result] of results.entries()) {
      const { outcome } = result;
      // As a label: not_found.
      this.writes({ outcome: outcome.replaceAll(" ", "_") }).inc();
      const write = writes[at];
      if (write && "appended" in result) this.countStored(write.messages, result.appended);
    }
  }

  private countStored(messages: readonly NewMessage[], appended: readonly Appended[]): void {
    let [stored, bytes, at] = [0, 0, 0];
    for (const { isDuplicate } of appended) {
      const message = messages[at++];
      if (isDuplicate || !message) continue;
      stored++;
      bytes += message.bytes;
    }
    this.messages.inc(stored);
    this.bytes.inc(bytes);
  }
}

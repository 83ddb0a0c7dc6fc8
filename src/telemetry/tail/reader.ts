/** One reader of the tail: its filter, and the batch it gets next. */
import type { AppId } from "../../base/ids.ts";
import { Batch } from "./batch.ts";
import type { KindSet } from "./event.ts";
import { CACHED_CHANNELS_MAX } from "./limits.ts";

export interface TailFilter {
  readonly kinds: KindSet;
  /** An application's id. */
  readonly app: AppId | undefined;
  readonly keyId: string | undefined;
  readonly peer: ((peerId: string) => boolean) | undefined;
  readonly channel: ((name: string) => boolean) | undefined;
  /** The reader may see payloads, of applications that allow it. */
  readonly showsData: boolean;
}

/** Where a reader's batches go. */
export interface TailSink {
  /** Whether the previous batch has been taken. If not, the reader keeps its batch, and what does not fit into it is dropped. */
  readonly isReady: boolean;
  write(lines: readonly string[], dropped: number): void;
}

export class TailReader {
  private readonly batch = new Batch();
  /** Matching is a search in the name, and channels recur with every frame. Bound: CACHED_CHANNELS_MAX, then it begins anew. */
  private readonly verdicts = new Map<string, boolean>();
  /** The last one, because many messages in a row are often on one channel. */
  private lastChannel = "";
  private lastVerdict = false;

  constructor(
    readonly filter: TailFilter,
    private readonly sink: TailSink,
  ) {}

  /** Only admins may see payloads. This tells the role also of readers on other nodes, whatever version those have. */
  get isOfAdmin(): boolean {
    return this.filter.showsData;
  }

  /** Whether this reader gets the event. Called per frame: the cheapest comparisons come first, and nothing is built. */
  takes(
    kind: KindSet,
    app: AppId | undefined,
    channel: string | undefined,
    peerId: string | undefined,
    to: string | undefined,
    keyId: string | undefined,
  ): boolean {
    const { filter } = this;
    if ((filter.kinds & kind) === 0) return false;
    if (filter.app !== undefined && filter.app !== app) return false;
    if (filter.keyId !== undefined && filter.keyId !== keyId) return false;
    if (filter.channel && (channel === undefined || !this.matches(filter.channel, channel))) return false;
    if (filter.peer && !isPeer(filter.peer, peerId) && !isPeer(filter.peer, to)) return false;
    return this.batch.admits();
  }

  add(line: string): void {
    this.batch.add(line);
  }

  /** An event that another node has gathered for this reader, and has matched already. */
  addGathered(line: string): void {
    if (this.batch.admits()) this.batch.add(line);
  }

  addDropped(count: number): void {
    this.batch.addDropped(count);
  }

  flush(): void {
    if (this.batch.isEmpty || !this.sink.isReady) return;
    const { lines, dropped } = this.batch.take();
    this.sink.write(lines, dropped);
  }

  private matches(channelFilter: (name: string) => boolean, channel: string): boolean {
    // A channel name is never empty, so this does not hold at first.
    if (channel === this.lastChannel) return this.lastVerdict;
    let verdict = this.verdicts.get(channel);
    if (verdict === undefined) {
      if (this.verdicts.size >= CACHED_CHANNELS_MAX) this.verdicts.clear();
      verdict = channelFilter(channel);
      this.verdicts.set(channel, verdict);
    }
    this.lastChannel = channel;
    this.lastVerdict = verdict;
    return verdict;
  }
}

const isPeer = (filter: (peerId: string) => boolean, peerId: string | undefined): boolean =>
  peerId !== undefined && filter(peerId);

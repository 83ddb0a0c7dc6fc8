/**
 * Compares the streams of this node with a store that other nodes write to: once a second, when a node is gone, and when the
 * others can be reached again. A node that has stored messages may have died before it could announce them, and nothing else shows that.
 */
import type { Clock } from "../../base/clock.ts";
import type { HistoryStore, StreamHead } from "../../history/contract/history.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Stream } from "../state/stream.ts";
import { REOPEN_EVERY_MS, REOPENED_PER_SECOND_MAX, TAIL_WAIT_MS, TOPS_EVERY_MS, TOPS_OVERLAP_MS } from "./limits.ts";
import type { Streams } from "./streams.ts";

interface StreamHeadsParts {
  readonly history: HistoryStore;
  readonly clock: Clock;
  readonly streams: Streams;
  readonly spaces: Spaces;
  readonly boundary: Boundary;
}

export class StreamHeads {
  private isTimerSet = false;
  private isReading = false;
  private isWanted = false;
  /** Monotonic ms: what was appended before is known. Earlier than the last read while the store has open transactions. */
  private knownMs: number;

  constructor(private readonly parts: StreamHeadsParts) {
    this.knownMs = parts.clock.monotonicMs();
  }

  /** A stream has begun. Only while a channel with history is in use there is something to compare. */
  watch(): void {
    if (this.isTimerSet) return;
    this.isTimerSet = true;
    this.parts.clock.after(TOPS_EVERY_MS, () => {
      this.isTimerSet = false;
      if (this.parts.streams.count === 0) return;
      this.watch();
      this.reopen();
      this.read();
    });
  }

  /** Compares now. */
  read(): void {
    const { history, streams } = this.parts;
    if (!history.isShared || streams.count === 0) return;
    // One read at a time; what happened since it began needs another one.
    if (this.isReading) this.isWanted = true;
    else void this.compare();
  }

  private async compare(): Promise<void> {
    const { clock, history, streams, spaces, boundary } = this.parts;
    this.isReading = true;
    const startedMs = clock.monotonicMs();
    try {
      const { heads, openMs } = await streams.calls.run(history.heads(startedMs - this.knownMs + TOPS_OVERLAP_MS));
      this.knownMs = startedMs - openMs;
      for (const top of heads) {
        const channel = spaces.channel(top.app, top.channel);
        const stream = channel?.stream;
        if (channel && stream) boundary.forChannel("history", channel, () => this.compareWith(stream, top, startedMs));
      }
    } catch {
      // The store is unavailable: the next read covers this time too.
    } finally {
      this.isReading = false;
    }
    if (!this.isWanted) return;
    this.isWanted = false;
    this.read();
  }

  private compareWith(stream: Stream, { epoch, offset, check }: StreamHead, startedMs: number): void {
    if (!stream.isOpen) return;
    const { streams } = this.parts;
    if (epoch !== stream.epoch) return void streams.verify(stream);
    if (offset > stream.delivered) {
      stream.knownHead = Math.max(stream.knownHead, offset);
      return streams.catchUp(stream, TAIL_WAIT_MS);
    }
    const known = offset === stream.delivered ? stream.check : stream.ring.checkAt(offset);
    // A smaller end was read before this node has delivered more, unless nothing has been delivered since.
    const isBehind = offset < stream.delivered && stream.deliveredMs < startedMs;
    if (isBehind || (known !== undefined && known !== check)) void streams.verify(stream);
  }

  /** The store may have lost what was delivered from it. */
  rewound(): void {
    const { streams, boundary } = this.parts;
    for (const stream of [...streams.all])
      boundary.forChannel("history", stream.channel, () => {
        if (stream.isOpen) streams.resync(stream);
      });
  }

  /** The store forgets streams that nothing uses. Some per second: a node may have very many. */
  private reopen(): void {
    const { clock, streams } = this.parts;
    const nowMs = clock.monotonicMs();
    let left = REOPENED_PER_SECOND_MAX;
    for (const stream of streams.all) {
      if (!stream.isOpen || stream.isCreated || nowMs - stream.openedMs < REOPEN_EVERY_MS) continue;
      streams.use(stream);
      if (--left === 0) return;
    }
  }
}

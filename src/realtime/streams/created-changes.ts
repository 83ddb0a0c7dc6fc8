/**
 * Compares the created streams in use on this node with the store, once a second: nodes announce what they change, but an announcement may
 * be lost, and a stream that has expired is announced by no one.
 */
import type { Clock } from "../../base/clock.ts";
import { appOfSpace, spaceOf } from "../../base/ids.ts";
import type { CreatedStreamStore, StreamChange } from "../../history/contract/created-streams.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { Spaces } from "../state/spaces.ts";
import { TOPS_EVERY_MS, TOPS_OVERLAP_MS } from "./limits.ts";
import type { Streams } from "./streams.ts";

interface CreatedChangesParts {
  readonly created: Pick<CreatedStreamStore, "changes">;
  readonly clock: Clock;
  readonly streams: Streams;
  readonly spaces: Spaces;
  readonly boundary: Boundary;
}

export class CreatedChanges {
  private isTimerSet = false;
  /** Monotonic ms: what has changed before is known. */
  private knownMs: number;

  constructor(private readonly parts: CreatedChangesParts) {
    this.knownMs = parts.clock.monotonicMs();
  }

  /** A created stream has come into use. */
  watch(): void {
    if (this.isTimerSet) return;
    this.isTimerSet = true;
    // What has changed before was seen when the stream was opened.
    this.knownMs = this.parts.clock.monotonicMs();
    this.setTimer();
  }

  private setTimer(): void {
    this.parts.clock.after(TOPS_EVERY_MS, () => void this.compare());
  }

  private async compare(): Promise<void> {
    const { created, clock, streams } = this.parts;
    if (streams.createdCount === 0) {
      this.isTimerSet = false;
      return;
    }
    const startedMs = clock.monotonicMs();
    try {
      const changes = await streams.calls.run(created.changes(startedMs - this.knownMs + TOPS_OVERLAP_MS));
      this.knownMs = startedMs;
      for (const change of changes) this.compareWith(change);
    } catch {
      // The store is unavailable: the next read covers this time too.
    }
    this.setTimer();
  }

  private compareWith({ spaceId, channel: name, now }: StreamChange): void {
    const { spaces, streams, boundary } = this.parts;
    const channel = spaces.channel(spaceOf(appOfSpace(spaceId)), name);
    const stream = channel?.stream;
    if (!channel || !stream?.isCreated) return;
    // What was read may be older than what this node has heard since: a difference is looked at again.
    const isSame = stream.isAbsent ? !now : now?.epoch === stream.epoch;
    boundary.forChannel("history", channel, () => {
      if (isSame) streams.changed(stream, now);
      else void streams.lookAgain(stream);
    });
  }
}

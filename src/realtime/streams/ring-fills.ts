/** Fills rings from the store, once per ring for all who need it: after a restart, all clients of a channel come back at once. */
import { MESSAGE_MAX_BYTES, REPLAY_MAX_BYTES, REPLAY_MAX_MESSAGES } from "../../protocol/limits.ts";
import type { Stream } from "../state/stream.ts";
import type { Streams } from "./streams.ts";

/**
 * More than a replay may have, by two messages with their metadata: only a ring that had to leave some out is full, and one that is
 * not full would be filled again for every client that asks for the longest replay.
 */
const FILL_MAX_BYTES = REPLAY_MAX_BYTES + 4 * MESSAGE_MAX_BYTES;

export class RingFills {
  /** Bound: streams whose ring is being filled. */
  private readonly underWay = new Map<Stream, Promise<void>>();

  constructor(private readonly parts: { readonly streams: Pick<Streams, "read"> }) {}

  /** Resolves when the ring reaches as far back as it can. Rejects if the store is unavailable. */
  fill(stream: Stream): Promise<void> {
    const present = this.underWay.get(stream);
    if (present) return present;
    const { ring } = stream;
    if (ring.isFull || ring.reachesBackTo < stream.first) return Promise.resolve();
    const filling = this.read(stream).finally(() => this.underWay.delete(stream));
    this.underWay.set(stream, filling);
    return filling;
  }

  private async read(stream: Stream): Promise<void> {
    const { ring } = stream;
    const range = { before: ring.reachesBackTo + 1, limit: REPLAY_MAX_MESSAGES + 1, maxBytes: FILL_MAX_BYTES };
    const page = await this.parts.streams.read(stream, range);
    // It may have begun anew meanwhile, or may have been emptied.
    if (page?.state.epoch !== stream.epoch || stream.ring !== ring) return;
    const { messages, state } = page;
    stream.first = Math.max(stream.first, state.first);
    ring.fill(messages, messages.at(-1)?.offset === state.first ? state.firstCheck : undefined);
  }
}

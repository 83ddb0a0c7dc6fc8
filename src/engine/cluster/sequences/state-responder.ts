/**
 * Responses to `sequences` requests: the state of sequences and their members. Such a response can be a thousand times longer than its
 * request, and clients of another node can cause one with each subscribe. Long responses are therefore rate-limited, taken in rotation
 * by requesting node, and made part by part. Short ones are sent at once: a busy channel must not delay subscribers of others.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { EngineCallbacks } from "../../engine.ts";
import type { FailureBoundary } from "../nodes/failure-boundary.ts";
import { RESPONSE_TIMEOUT_MS, WHOLE_RESPONSE_TIMEOUT_MS } from "../requests/pending-requests.ts";
import type { Format } from "../wire/format.ts";
import type { SequenceState } from "../wire/messages.ts";
import { chunked, ITEM_MAX_BYTES, PARTS_MAX } from "../wire/payload.ts";
import type { OutgoingSequences } from "./outgoing-sequences.ts";

/** Serialising one MiB takes about 4 ms. */
export const RATE_BYTES_PER_SECOND = 16 * 1024 * 1024;
export const BURST_BYTES = 2 * 1024 * 1024;
/** Delay before more is sent once the rate is used up. */
const PAUSE_MS = 5;
/** Bound: channels in all queued requests. A further request is dropped; its node retries. */
export const QUEUED_CHANNELS_MAX = 100_000;
/** Estimated characters per member, besides its texts. */
const MEMBER_CHARS = 100;
/** Estimated characters per state, besides the name of its channel and its members. */
const STATE_CHARS = 150;
/** A state of at most this many estimated characters fits into one part however its texts are escaped: it is not measured. */
const SURELY_FITS_CHARS = ITEM_MAX_BYTES / 8;

type Channels = readonly (readonly [spaceId: SpaceId, channel: string])[];

interface QueuedRequest {
  readonly receivedMs: number;
  readonly channels: number;
  readonly parts: Iterator<string>;
  readonly respond: (text: string) => void;
  isStarted: boolean;
}

interface SequenceStateResponderParts {
  readonly local: Pick<EngineCallbacks, "id" | "localMembers">;
  readonly outgoing: Pick<OutgoingSequences, "state">;
  readonly format: Pick<Format, "responsePart" | "longState">;
  readonly boundary: Pick<FailureBoundary, "run" | "report">;
  readonly nowMs: () => number;
  readonly later: (run: () => void, ms: number) => void;
}

export class SequenceStateResponder {
  /**
   * By requesting node: its requests in order, by channel. The next node comes first. Bound: QUEUED_CHANNELS_MAX
   * channels and the requests' own timeout; one for a single channel replaces an earlier one.
   */
  private readonly queued = new Map<string, Map<string, QueuedRequest>>();
  private queuedChannels = 0;
  private allowanceBytes = BURST_BYTES;
  private lastRefillMs: number;
  private lastNumber = 0;
  private isScheduled = false;

  constructor(private readonly parts: SequenceStateResponderParts) {
    this.lastRefillMs = parts.nowMs();
  }

  /** `from`: the requesting node. */
  handle(from: string, channels: Channels, respond: (text: string) => void): void {
    const distinct =
      channels.length === 1 ? channels : [...new Map(channels.map((one) => [one.join(" "), one])).values()];
    const [only] = distinct;
    this.refill();
    if (only && distinct.length === 1) {
      const state = this.stateOf(only);
      const chars = estimatedChars(state);
      if (chars > ITEM_MAX_BYTES) return this.enqueue(from, only.join(" "), distinct, respond);
      if (chars <= SURELY_FITS_CHARS) return this.send(this.whole(state), respond);
      for (const text of this.encode([state])) this.send(text, respond);
      return;
    }
    const states = this.shortStatesOf(distinct);
    if (!states) return this.enqueue(from, `${++this.lastNumber}`, distinct, respond);
    for (const text of this.encode(states)) this.send(text, respond);
  }

  /** undefined: together they are not short, or one cannot be read, which is reported when its part is made. */
  private shortStatesOf(channels: Channels): SequenceState[] | undefined {
    const states: SequenceState[] = [];
    let chars = 0;
    try {
      for (const one of channels) {
        const state = this.stateOf(one);
        chars += STATE_CHARS + one[1].length + estimatedChars(state);
        if (chars > ITEM_MAX_BYTES) return undefined;
        states.push(state);
      }
    } catch {
      return undefined;
    }
    return states;
  }

  /** A node has subscribed to a channel: it gets what it would have asked for, if there is something. */
  report([spaceId, channel]: Channels[number], send: (text: string) => void): void {
    const { local, format, boundary } = this.parts;
    try {
      const state = this.stateOf([spaceId, channel]);
      if (state.epoch === 0 && state.members.length === 0) return;
      if (estimatedChars(state) <= SURELY_FITS_CHARS) return send(this.whole(state));
    } catch (error) {
      boundary.report(error, { in: "subscribed", channel });
    }
    // Long ones are sent at a limited rate, as responses are.
    send(format.longState(local.id));
  }

  private enqueue(from: string, key: string, channels: Channels, respond: (text: string) => void): void {
    const queue = this.queued.get(from) ?? new Map<string, QueuedRequest>();
    // A repeated request for the same channel takes the place of the earlier one, unless that one is being answered.
    // In front: behind the name it could be the name of another channel.
    const slot = queue.get(key)?.isStarted ? `next ${key}` : key;
    const isAdditional = !queue.has(slot);
    if (isAdditional && this.queuedChannels >= QUEUED_CHANNELS_MAX) return;
    if (isAdditional) this.queuedChannels += channels.length;
    const parts = this.encode(this.statesOf(channels));
    queue.set(slot, {
      receivedMs: this.parts.nowMs(),
      channels: channels.length,
      parts,
      respond,
      isStarted: false,
    });
    this.queued.set(from, queue);
    if (!this.isScheduled) this.work();
  }

  /** Sends what the rate allows now; the rest follows in later turns. */
  private work(): void {
    this.refill();
    while (this.allowanceBytes > 0) {
      const [next] = this.queued;
      if (!next) return;
      const [from, queue] = next;
      const [first] = queue;
      // Removed and added again below: the other nodes come first.
      this.queued.delete(from);
      if (!first) continue;
      if (this.isFinished(first[1])) {
        queue.delete(first[0]);
        this.queuedChannels -= first[1].channels;
      }
      if (queue.size > 0) this.queued.set(from, queue);
    }
    if (this.queued.size === 0) return;
    this.isScheduled = true;
    this.parts.later(() => {
      this.isScheduled = false;
      this.work();
    }, PAUSE_MS);
  }

  /** Sends one part. true: it was the last one, or the requesting node has reached its timeout. */
  private isFinished(one: QueuedRequest): boolean {
    const timeoutMs = one.isStarted ? WHOLE_RESPONSE_TIMEOUT_MS : RESPONSE_TIMEOUT_MS;
    if (this.parts.nowMs() - one.receivedMs >= timeoutMs) return true;
    one.isStarted = true;
    let isFinished = true;
    this.parts.boundary.run({ in: "streams" }, () => {
      const { value, done } = one.parts.next();
      if (done) return;
      this.send(value, one.respond);
      isFinished = false;
    });
    return isFinished;
  }

  private send(text: string, respond: (text: string) => void): void {
    this.allowanceBytes -= Buffer.byteLength(text);
    respond(text);
  }

  private refill(): void {
    const now = this.parts.nowMs();
    const earned = ((now - this.lastRefillMs) / 1000) * RATE_BYTES_PER_SECOND;
    this.allowanceBytes = Math.min(BURST_BYTES, this.allowanceBytes + earned);
    this.lastRefillMs = now;
  }

  private stateOf([spaceId, channel]: Channels[number]): SequenceState {
    const { outgoing, local } = this.parts;
    return {
      app: spaceId,
      channel,
      ...outgoing.state(spaceId, channel),
      members: local.localMembers(spaceId, channel),
    };
  }

  private whole(state: SequenceState): string {
    const { local, format } = this.parts;
    const { id } = local;
    return format.responsePart({ node: id, part: 0, parts: 1, response: { kind: "sequences", sequences: [state] } });
  }

  /** A sequence is read when its part is made: its sequence number and its members are of the same moment. */
  private *statesOf(channels: Channels): Generator<SequenceState> {
    for (const one of channels) yield this.stateOf(one);
  }

  /** The number of parts is known only with the last one: until then, each part announces one more. */
  private *encode(states: Iterable<SequenceState>): Generator<string> {
    const { local, format } = this.parts;
    const { id } = local;
    let part = 0;
    let ready: SequenceState[] | undefined;
    const text = (sequences: readonly SequenceState[], parts: number): string =>
      format.responsePart({ node: id, part, parts, response: { kind: "sequences", sequences } });
    for (const some of chunked(splitStates(states))) {
      if (ready) {
        if (part + 2 > PARTS_MAX) return;
        yield text(ready, part + 2);
        part++;
      }
      ready = some;
    }
    yield text(ready ?? [], part + 1);
  }
}

/** A sequence with very many members becomes several entries with the same sequence number. */
function* splitStates(states: Iterable<SequenceState>): Generator<SequenceState> {
  for (const state of states) for (const members of chunked(state.members)) yield { ...state, members };
}

function estimatedChars({ members }: SequenceState): number {
  let chars = 0;
  for (const { metadataJson, stateJson } of members)
    chars += MEMBER_CHARS + (metadataJson?.length ?? 0) + (stateJson?.length ?? 0);
  return chars;
}

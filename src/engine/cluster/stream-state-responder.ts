/**
 * Answers to `who`: where lanes stand, and their members. Such an answer can be a thousand times longer than its question, and clients
 * of another node can cause one with each subscribe. So long ones are given at a bounded rate, in turns of the asking nodes, and made
 * part by part. Short ones are given at once: a busy channel must not delay the subscribers of others.
 */
import type { NodeEnd } from "../engine.ts";
import { answered, type LaneState } from "./encode.ts";
import type { Boundary } from "./failure-boundary.ts";
import type { Lanes } from "./outgoing-streams.ts";
import { chunked, ITEM_MAX_BYTES, PARTS_MAX } from "./payload.ts";
import { ANSWER_MS, WHOLE_ANSWER_MS } from "./pending-requests.ts";

/** Serialising a MiB takes about 4 ms. */
export const RATE_BYTES_PER_SECOND = 16 * 1024 * 1024;
export const BURST_BYTES = 2 * 1024 * 1024;
const TURN_MS = 5;
/** Bound: channels in all questions that wait. A further question is not answered; its node asks again. */
export const WAITING_CHANNELS_MAX = 100_000;
/** About what a member needs besides its metadata. */
const MEMBER_CHARS = 100;

type Channels = readonly (readonly [app: string, channel: string])[];

interface Waiting {
  readonly askedMs: number;
  readonly channels: number;
  readonly parts: Iterator<string>;
  readonly respond: (text: string) => void;
  isBegun: boolean;
}

export interface WhoAnswersParts {
  readonly end: Pick<NodeEnd, "id" | "localMembers">;
  readonly lanes: Pick<Lanes, "state">;
  readonly boundary: Pick<Boundary, "run">;
  readonly nowMs: () => number;
  readonly later: (run: () => void, ms: number) => void;
}

export class WhoAnswers {
  /** By asking node: its questions in order, by their channel. The node whose turn is next comes first. */
  private readonly waiting = new Map<string, Map<string, Waiting>>();
  private waitingChannels = 0;
  private allowanceBytes = BURST_BYTES;
  private lastMs: number;
  private lastNumber = 0;
  private isDue = false;

  constructor(private readonly parts: WhoAnswersParts) {
    this.lastMs = parts.nowMs();
  }

  /** `by`: the node that asks. */
  give(by: string, channels: Channels, respond: (text: string) => void): void {
    const asked = [...new Map(channels.map((one) => [one.join(" "), one])).values()];
    const [only] = asked;
    this.refill();
    if (only && asked.length === 1) {
      const lane = this.laneOf(only);
      if (charsOf(lane) > ITEM_MAX_BYTES) return this.wait(by, only.join(" "), asked, respond);
      for (const text of this.partsOf([lane])) this.send(text, respond);
      return;
    }
    this.wait(by, `${++this.lastNumber}`, asked, respond);
  }

  private wait(by: string, key: string, channels: Channels, respond: (text: string) => void): void {
    const mine = this.waiting.get(by) ?? new Map<string, Waiting>();
    // Asked again about the same channel before its turn: the newer question takes the place of the earlier one.
    const slot = mine.get(key)?.isBegun ? `${key} next` : key;
    const isMore = !mine.has(slot);
    if (isMore && this.waitingChannels >= WAITING_CHANNELS_MAX) return;
    if (isMore) this.waitingChannels += channels.length;
    const parts = this.partsOf(this.lanesOf(channels));
    mine.set(slot, { askedMs: this.parts.nowMs(), channels: channels.length, parts, respond, isBegun: false });
    this.waiting.set(by, mine);
    if (!this.isDue) this.work();
  }

  /** As much as may be given now; the rest in later turns. */
  private work(): void {
    this.refill();
    while (this.allowanceBytes > 0) {
      const [next] = this.waiting;
      if (!next) return;
      const [by, mine] = next;
      const [first] = mine;
      // The others come first now.
      this.waiting.delete(by);
      if (!first) continue;
      if (this.isOver(first[1])) {
        mine.delete(first[0]);
        this.waitingChannels -= first[1].channels;
      }
      if (mine.size > 0) this.waiting.set(by, mine);
    }
    if (this.waiting.size === 0) return;
    this.isDue = true;
    this.parts.later(() => {
      this.isDue = false;
      this.work();
    }, TURN_MS);
  }

  /** Gives one part; true: it was the last one, or nobody waits for it any more. */
  private isOver(one: Waiting): boolean {
    if (this.parts.nowMs() - one.askedMs >= (one.isBegun ? WHOLE_ANSWER_MS : ANSWER_MS)) return true;
    one.isBegun = true;
    let isOver = true;
    this.parts.boundary.run({ in: "who" }, () => {
      const { value, done } = one.parts.next();
      if (done) return;
      this.send(value, one.respond);
      isOver = false;
    });
    return isOver;
  }

  private send(text: string, respond: (text: string) => void): void {
    this.allowanceBytes -= Buffer.byteLength(text);
    respond(text);
  }

  private refill(): void {
    const now = this.parts.nowMs();
    const more = ((now - this.lastMs) / 1000) * RATE_BYTES_PER_SECOND;
    this.allowanceBytes = Math.min(BURST_BYTES, this.allowanceBytes + more);
    this.lastMs = now;
  }

  private laneOf([app, channel]: Channels[number]): LaneState {
    const { lanes, end } = this.parts;
    return { app, channel, ...lanes.state(app, channel), members: end.localMembers(app, channel) };
  }

  /** Each lane is looked at when its turn comes; its place and its members are of the same moment. */
  private *lanesOf(channels: Channels): Generator<LaneState> {
    for (const one of channels) yield this.laneOf(one);
  }

  /** How many parts there are is known with the last one: until then, each announces one more. */
  private *partsOf(lanes: Iterable<LaneState>): Generator<string> {
    const { id } = this.parts.end;
    let part = 0;
    let ready: LaneState[] | undefined;
    const text = (some: readonly LaneState[], parts: number): string =>
      answered({ node: id, part, parts, answer: { what: "who", lanes: some } });
    for (const some of chunked(pieces(lanes))) {
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

/** A lane with very many members becomes several of the same place. */
function* pieces(lanes: Iterable<LaneState>): Generator<LaneState> {
  for (const lane of lanes) for (const members of chunked(lane.members)) yield { ...lane, members };
}

function charsOf({ members }: LaneState): number {
  return members.reduce((sum, { metadataJson }) => sum + MEMBER_CHARS + (metadataJson?.length ?? 0), 0);
}

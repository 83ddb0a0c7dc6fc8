/**
 * What this node hears on one channel. Each other node numbers what it gives; here the numbers are followed, node by node,
 * and a missing one is asked for again before anything behind it is let through. What cannot be had any more is told.
 *
 * An ear is closed until the node has said where its lane stands, and what comes before that waits: it may be in what the
 * node says. Members are, messages never: whoever listened when they came is owed them.
 */
import type { LaneItem, LaneState, Place } from "./encode.ts";

/** Bounds of what waits behind a gap, per node and channel. Beyond them the gap is given up and the channel resynchronised. */
const WAITING_MAX = 10_000;
export const WAITING_MAX_CHARS = 16 * 1024 * 1024;

interface Standing {
  readonly epoch: number;
  readonly next: number;
}

export interface EarEvents {
  /** The next item of that node's lane. */
  heard(node: string, item: LaneItem): void;
  /** Items from `place` on to number `to` are missing: ask for them. */
  missing(place: Place, to: number): void;
  /** The node must say again where its lane stands. */
  unsure(node: string): void;
}

interface Ear {
  epoch: number;
  /** The number that is expected next; undefined: it is closed. */
  next: number | undefined;
  waiting: LaneItem[];
  waitingChars: number;
  /** Up to which number everything is here, waits, or has been asked for again. */
  askedTo: number;
  /** Up to which number changes of members were in what the node has said. */
  toldTo: number;
  /**
   * Where it stood as the node itself has said or as followed from there, before an item of a later epoch came. Such an item may be
   * somebody else's: until the node has confirmed the epoch, what comes of the earlier one is not dropped, but asked about.
   */
  sure: Standing | undefined;
  /** While it is closed because of such a doubt: where it may go on. */
  resume: readonly Standing[];
}

export class Ears {
  private readonly ears = new Map<string, Ear>();

  constructor(private readonly events: EarEvents) {}

  item(item: LaneItem): void {
    const { place } = item;
    const ear = this.ear(place.node);
    if (ear.next === undefined) {
      this.wait(ear, item);
      return;
    }
    if (place.epoch < ear.epoch) {
      if (!ear.sure || place.epoch < ear.sure.epoch) return;
      if (place.epoch === ear.sure.epoch && place.n < ear.sure.next) return;
      // The later epoch may have been made up: the node must say which one is its own.
      this.doubt(ear);
      this.wait(ear, item);
      return this.events.unsure(place.node);
    }
    if (place.epoch > ear.epoch) {
      // A new lane begins with 1, also if it is not its beginning that we hear.
      ear.sure ??= { epoch: ear.epoch, next: ear.next };
      ear.epoch = place.epoch;
      ear.next = 1;
      ear.askedTo = ear.toldTo = 0;
    }
    this.inOrder(ear, item);
  }

  /** The node says where its lane stands to somebody who begins to listen: what it gave before that is owed to nobody. */
  begin(node: string, { epoch, n }: LaneState): void {
    const ear = this.ear(node);
    if (ear.next === undefined) this.open(ear, epoch, n + 1, n);
  }

  /** The node says where its lane stands, and who its members are there: `agree` takes them over, unless more is known. */
  state(node: string, { epoch, n, app, channel }: LaneState, agree: () => void): void {
    const ear = this.ear(node);
    if (ear.next === undefined) {
      agree();
      // It has come, or come back, and has spoken before it was asked.
      const waiting = ear.waiting.filter(({ place }) => place.epoch === epoch).map(({ place }) => place.n);
      const left = ear.resume.filter((one) => one.epoch === epoch).map(({ next }) => next);
      this.open(ear, epoch, Math.min(n + 1, ...left, ...waiting), n);
      return this.item({ kind: "tail", place: { node, app, channel, epoch, n } });
    }
    if (epoch < ear.epoch || (epoch === ear.epoch && n < ear.next - 1)) return;
    if (epoch === ear.epoch && n === ear.next - 1) return agree();
    // Something was missed: it is asked for, and brings the members along.
    this.item({ kind: "tail", place: { node, app, channel, epoch, n } });
  }

  /** Items that were asked for. */
  again(items: readonly LaneItem[]): void {
    for (const item of items) this.item(item);
  }

  /**
   * Items up to `to` could not be had, and the node says that its lane has not come so far: they were made up. What waits behind them
   * goes too; if some of it was the node's it is found missing, and asked for.
   */
  refuted(node: string, lane: LaneState, agree: () => void): void {
    const ear = this.ears.get(node);
    if (ear?.next === undefined) return;
    this.doubt(ear);
    const kept = ear.waiting.filter(({ place }) => place.epoch === lane.epoch && place.n <= lane.n);
    ear.waiting = kept;
    ear.waitingChars = kept.reduce((sum, item) => sum + charsOf(item), 0);
    this.state(node, lane, agree);
  }

  /** They cannot be had: whatever was in the gap is gone, and where the lane stands must be asked anew. */
  givenUp(node: string): void {
    const ear = this.ears.get(node);
    if (ear) {
      ear.next = undefined;
      ear.sure = undefined;
      ear.resume = [];
      ear.waiting = [];
      ear.waitingChars = 0;
    }
    this.events.unsure(node);
  }

  forget(node: string): void {
    this.ears.delete(node);
  }

  private ear(node: string): Ear {
    let ear = this.ears.get(node);
    if (!ear) {
      const closed = { epoch: 0, next: undefined, sure: undefined, resume: [] };
      ear = { ...closed, waiting: [], waitingChars: 0, askedTo: 0, toldTo: 0 };
      this.ears.set(node, ear);
    }
    return ear;
  }

  private open(ear: Ear, epoch: number, next: number, toldTo: number): void {
    ear.epoch = epoch;
    ear.next = next;
    ear.askedTo = next - 1;
    ear.toldTo = toldTo;
    ear.sure = undefined;
    // What is of a later epoch than the node's own was made up; if it was the node's after all it is found missing.
    if (ear.resume.length > 0) ear.waiting = ear.waiting.filter(({ place }) => place.epoch <= epoch);
    ear.resume = [];
    this.letThrough(ear);
  }

  /** Closes it until the node says where its lane stands. */
  private doubt(ear: Ear): void {
    if (ear.next === undefined) return;
    const here = { epoch: ear.epoch, next: ear.next };
    ear.resume = ear.sure ? [ear.sure, here] : [here];
    ear.next = undefined;
  }

  private inOrder(ear: Ear, item: LaneItem): void {
    const { place } = item;
    const next = ear.next ?? 1;
    const isTail = item.kind === "tail";
    if (place.n < next) return;
    if (!isTail && place.n === next) {
      ear.next = next + 1;
      if (item.kind === "message" || place.n > ear.toldTo) this.events.heard(place.node, item);
      if (ear.waiting.length > 0) this.letThrough(ear);
      return;
    }
    if (!isTail) this.wait(ear, item);
    const last = isTail ? place.n : place.n - 1;
    const from = Math.max(next, ear.askedTo + 1);
    ear.askedTo = Math.max(ear.askedTo, place.n);
    if (last >= from) this.events.missing({ ...place, n: from }, last);
  }

  private wait(ear: Ear, item: LaneItem): void {
    if (item.kind === "tail") return;
    ear.waiting.push(item);
    ear.waitingChars += charsOf(item);
    if (ear.waiting.length <= WAITING_MAX && ear.waitingChars <= WAITING_MAX_CHARS) return;
    this.givenUp(item.place.node);
  }

  /** What has waited, in the order of its numbers; the rest goes on waiting. */
  private letThrough(ear: Ear): void {
    const waiting = ear.waiting.sort((a, b) => a.place.epoch - b.place.epoch || a.place.n - b.place.n);
    ear.waiting = [];
    ear.waitingChars = 0;
    for (const item of waiting) this.item(item);
  }
}

/** The texts that an item holds; what is around them is small. */
function charsOf(item: LaneItem): number {
  if (item.kind === "message") return item.envelope.dataJson.length + (item.envelope.metadataJson?.length ?? 0);
  if (item.kind === "tail") return 0;
  return item.change.joined.reduce((sum, { metadataJson }) => sum + (metadataJson?.length ?? 0), 0);
}

/**
 * Decides from where a subscription begins that asks for earlier messages: against the ring where that reaches back far enough,
 * otherwise against the store. A position is recovered if every message behind it can be replayed, and not at all otherwise.
 */
import type { Clock } from "../../base/clock.ts";
import type { HistoryStore, Page, Range, StoredMessage } from "../../history/contract/history.ts";
import { REPLAY_MAX_BYTES, REPLAY_MAX_MESSAGES } from "../../protocol/limits.ts";
import type { Position } from "../../protocol/position.ts";
import { parsePlace } from "../../protocol/streams/offset.ts";
import type { Replay } from "../state/replay.ts";
import type { Stream } from "../state/stream.ts";
import { RingFills } from "./ring-fills.ts";
import type { Streams } from "./streams.ts";

export interface Beginning {
  readonly isRecovered: boolean;
  /** The messages behind this one follow. */
  readonly cursor: number;
  /** That of the message at the cursor, if it is known. */
  readonly check: string | undefined;
  /** The last message that is replayed. */
  readonly upTo: number;
  readonly upToCheck: string;
  /** How many of them the client gets. */
  readonly count: number;
  /** The messages, if they were read from the store. */
  readonly buffer?: readonly StoredMessage[];
}

interface RecoveryParts {
  readonly history: HistoryStore;
  readonly streams: Streams;
  readonly clock: Clock;
}

type Decided = (beginning: Beginning | "unavailable") => void;

export class Recovery {
  private readonly fills: RingFills;

  constructor(private readonly parts: RecoveryParts) {
    this.fills = new RingFills(parts);
  }

  /** `decided` is called once, now or later. */
  decide(replay: Replay, stream: Stream, decided: Decided): void {
    const atOnce = this.fromRing(replay, stream);
    if (atOnce) return decided(atOnce);
    this.fromStore(replay, stream).then(decided, () => decided("unavailable"));
  }

  // From the ring

  /** `undefined`: the store must be asked. */
  private fromRing(replay: Replay, stream: Stream): Beginning | undefined {
    const { start } = replay;
    if (start.kind !== "recover") return this.rewindFromRing(replay, stream);
    const position = parsePlace(start.position);
    const { epoch, delivered, ring } = stream;
    if (position?.epoch !== epoch) return notRecovered(stream);
    const { offset, check } = position;
    if (delivered - offset > REPLAY_MAX_MESSAGES) return notRecovered(stream);
    // What a full ring does not hold is more than a replay may have.
    if (offset < ring.reachesBackTo && ring.isFull) return notRecovered(stream);
    if (offset > delivered || offset < ring.reachesBackTo) return undefined;
    if (ring.checkAt(offset) !== check) return notRecovered(stream);
    ring.touch();
    if (offset < delivered && !this.isKept(stream, ring.at(offset + 1))) return undefined;
    let bytes = 0;
    let count = 0;
    for (let at = offset + 1; at <= delivered; at++) {
      const message = ring.at(at);
      if (!message) return undefined;
      bytes += message.bytes;
      if (isFor(replay, message)) count++;
    }
    if (bytes > REPLAY_MAX_BYTES) return notRecovered(stream);
    return { isRecovered: true, cursor: offset, check, upTo: delivered, upToCheck: stream.check, count };
  }

  private rewindFromRing(replay: Replay, stream: Stream): Beginning | undefined {
    const { ring, delivered } = stream;
    const { maxCount, sinceMs } = this.rewindOf(replay);
    let at = delivered;
    let bytes = 0;
    let count = 0;
    for (; at > ring.reachesBackTo && delivered - at < maxCount; at--) {
      const message = ring.at(at);
      if (!message || message.time < sinceMs || !this.isKept(stream, message)) break;
      bytes += message.bytes;
      if (bytes > REPLAY_MAX_BYTES) break;
      if (isFor(replay, message)) count++;
    }
    // Where the ring ends, there may be more in the store, unless it holds as much as a replay may have.
    const isEndOfRing = at === ring.reachesBackTo && delivered - at < maxCount;
    if (isEndOfRing && at >= stream.first && !ring.isFull) return undefined;
    ring.touch();
    const check = ring.checkAt(at);
    return { isRecovered: true, cursor: at, check, upTo: delivered, upToCheck: stream.check, count };
  }

  /** Whether the rule still keeps this message; the store decides exactly, and may be asked where this says no. */
  private isKept({ keep, delivered }: Stream, message: StoredMessage | undefined): boolean {
    if (!message || delivered - message.offset >= keep.messages) return false;
    return message.time > this.parts.clock.wallMs() - keep.seconds * 1000;
  }

  private rewindOf({ start }: Replay): { readonly maxCount: number; readonly sinceMs: number } {
    if (start.kind === "messages") return { maxCount: start.count, sinceMs: 0 };
    const seconds = start.kind === "seconds" ? start.seconds : 0;
    return { maxCount: REPLAY_MAX_MESSAGES, sinceMs: this.parts.clock.wallMs() - seconds * 1000 };
  }

  // From the store

  private async fromStore(replay: Replay, stream: Stream): Promise<Beginning> {
    const position = replay.start.kind === "recover" ? parsePlace(replay.start.position) : undefined;
    if (position && position.offset > stream.delivered && !(await this.reach(position, stream)))
      return notRecovered(stream);
    // After a restart many clients come back to the same channel: one read serves all of them.
    await this.long(replay, () => this.fills.fill(stream));
    const found = this.fromRing(replay, stream);
    if (found) return found;
    return position ? this.recoverFromStore(replay, stream, position) : this.rewindFromStore(replay, stream);
  }

  /**
   * The client comes from a node that was faster than this one. If its position is one of this stream, this node delivers up to
   * there first: a subscription that began now would get messages twice.
   */
  private async reach(position: Position, stream: Stream): Promise<boolean> {
    const page = await this.read(stream, { after: position.offset, limit: 0, maxBytes: 0 });
    if (page?.state.epoch !== stream.epoch || page.check !== position.check) return false;
    stream.knownHead = Math.max(stream.knownHead, position.offset);
    this.parts.streams.catchUp(stream, 0);
    await new Promise<void>((resolve) => stream.whenDelivered(position.epoch, position.offset, resolve));
    return stream.isOpen;
  }

  private async recoverFromStore(replay: Replay, stream: Stream, { offset, check }: Position): Promise<Beginning> {
    const { delivered: upTo, check: upToCheck, epoch } = stream;
    if (upTo - offset > REPLAY_MAX_MESSAGES || offset > upTo) return notRecovered(stream);
    const range = { after: offset, upTo, limit: REPLAY_MAX_MESSAGES, maxBytes: REPLAY_MAX_BYTES };
    const page = await this.long(replay, () => this.read(stream, range));
    if (page?.state.epoch !== epoch || page.check !== check) return notRecovered(stream);
    const { messages } = page;
    // Fewer: they are longer than a replay may be.
    if (messages.length !== upTo - offset || bytesOf(messages) > REPLAY_MAX_BYTES) return notRecovered(stream);
    const count = countFor(replay, messages);
    return { isRecovered: true, cursor: offset, check, upTo, upToCheck, count, buffer: messages };
  }

  private async rewindFromStore(replay: Replay, stream: Stream): Promise<Beginning> {
    const { delivered: upTo, check: upToCheck, epoch } = stream;
    const { maxCount, sinceMs } = this.rewindOf(replay);
    const range = { before: upTo + 1, sinceMs, limit: maxCount, maxBytes: REPLAY_MAX_BYTES };
    const page = await this.long(replay, () => this.read(stream, range));
    if (page?.state.epoch !== epoch) return notRecovered(stream);
    const buffer = [...page.messages].reverse();
    const [oldest] = buffer;
    const cursor = oldest ? oldest.offset - 1 : upTo;
    const check = oldest ? undefined : upToCheck;
    return { isRecovered: true, cursor, check, upTo, upToCheck, count: countFor(replay, buffer), buffer };
  }

  /** A read that may hold REPLAY_MAX_BYTES: in rotation with those of other connections. */
  private long<T>(replay: Replay, read: () => Promise<T>): Promise<T> {
    const { channel, connection } = replay.subscription;
    return this.parts.streams.reads.run(channel.space.owner, connection, async () => {
      if (replay.stage === "ended") throw new Error("the subscription has ended meanwhile");
      return read();
    });
  }

  private read(stream: Stream, range: Range): Promise<Page | undefined> {
    return this.parts.streams.read(stream, range);
  }
}

/** It begins with what is published from now on. */
function notRecovered({ delivered, check }: Stream): Beginning {
  return { isRecovered: false, cursor: delivered, check, upTo: delivered, upToCheck: check, count: 0 };
}

/** Whether the message is replayed to this client. */
function isFor(replay: Replay, { connection }: StoredMessage): boolean {
  return connection === undefined || !replay.leavesOut(connection);
}

const bytesOf = (messages: readonly StoredMessage[]): number =>
  messages.reduce((sum, message) => sum + message.bytes, 0);

const countFor = (replay: Replay, messages: readonly StoredMessage[]): number =>
  messages.reduce((count, message) => count + Number(isFor(replay, message)), 0);

/**
 * What this node receives on one channel: one stream per other node. Sequence numbers are followed node by node; when one is
 * missing, a replay is requested and later items are buffered until it arrives. Items that cannot be replayed are reported.
 *
 * A stream is unsynchronised until its node has reported its state; items received before that are buffered. The reported state
 * may already include their member changes, but never their messages: those are owed to subscribers that were there.
 */
import type { Position, StreamItem, StreamState } from "./messages.ts";

/** Bounds of what is buffered behind a gap, per node and channel. Above them the gap is given up and the channel resynchronised. */
export const BUFFERED_MAX = 10_000;
export const BUFFERED_MAX_CHARS = 16 * 1024 * 1024;

/** The next expected item. */
interface Cursor {
  readonly epoch: number;
  readonly next: number;
}

export interface IncomingEvents {
  /** The next item of that node's stream. */
  receive(node: string, item: StreamItem): void;
  /** Items from a position up to sequence number `to` are missing: request a replay. */
  missing(from: Position, to: number): void;
  /** Request the state of that node's stream. */
  unsynchronised(node: string): void;
}

interface IncomingStream {
  epoch: number;
  /** The next expected sequence number; undefined: the stream is unsynchronised. */
  next: number | undefined;
  buffered: StreamItem[];
  bufferedChars: number;
  /** Up to this sequence number every item was received, is buffered, or has been requested. */
  requestedTo: number;
  /** Up to this sequence number member changes are included in the state that the node has reported. */
  membersKnownTo: number;
  /**
   * The cursor before an item of a later epoch arrived, as confirmed by the node or followed from there. The item may be forged
   * by another client of the server: until the node confirms the epoch, items of the earlier epoch are not dropped.
   */
  confirmed: Cursor | undefined;
  /** While the stream is unsynchronised because of such a conflict: where it may continue. */
  resumeAt: readonly Cursor[];
}

export class IncomingStreams {
  /** By node. */
  private readonly streams = new Map<string, IncomingStream>();

  constructor(private readonly events: IncomingEvents) {}

  receive(item: StreamItem): void {
    const { position } = item;
    const stream = this.stream(position.node);
    if (stream.next === undefined) {
      this.buffer(stream, item);
      return;
    }
    if (position.epoch < stream.epoch) {
      const { confirmed } = stream;
      if (!confirmed || position.epoch < confirmed.epoch) return;
      if (position.epoch === confirmed.epoch && position.n < confirmed.next) return;
      // One of the two epochs may be forged: the node must say which one is its own.
      this.suspend(stream);
      this.buffer(stream, item);
      return this.events.unsynchronised(position.node);
    }
    if (position.epoch > stream.epoch) {
      // A new stream starts with 1, also when its first items were missed.
      stream.confirmed ??= { epoch: stream.epoch, next: stream.next };
      stream.epoch = position.epoch;
      stream.next = 1;
      stream.requestedTo = stream.membersKnownTo = 0;
    }
    this.advance(stream, item);
  }

  /** The node has reported its state to a new subscription: items up to that state are not owed. */
  start(node: string, { epoch, n }: StreamState): void {
    const stream = this.stream(node);
    if (stream.next === undefined) this.synchronise(stream, epoch, n + 1, n);
  }

  /** The node has reported its state. `takeMembers` takes over its members, unless later changes are already known. */
  resynchronise(node: string, { epoch, n, app, channel }: StreamState, takeMembers: () => void): void {
    const stream = this.stream(node);
    const tail: StreamItem = { kind: "tail", position: { node, app, channel, epoch, n } };
    if (stream.next === undefined) {
      takeMembers();
      // Items may have arrived before the state: continue with the first of them.
      const buffered = stream.buffered
        .filter(({ position }) => position.epoch === epoch)
        .map(({ position }) => position.n);
      const resumed = stream.resumeAt.filter((cursor) => cursor.epoch === epoch).map(({ next }) => next);
      this.synchronise(stream, epoch, Math.min(n + 1, ...resumed, ...buffered), n);
      return this.receive(tail);
    }
    if (epoch < stream.epoch || (epoch === stream.epoch && n < stream.next - 1)) return;
    if (epoch === stream.epoch && n === stream.next - 1) return takeMembers();
    // Items were missed: they are requested and include the member changes.
    this.receive(tail);
  }

  /** Items that were requested. */
  replayed(items: readonly StreamItem[]): void {
    for (const item of items) this.receive(item);
  }

  /**
   * Requested items do not exist: the node reports that its stream has not reached them, so they were forged. What is buffered
   * behind them is dropped too; items of the node among it are found missing and requested.
   */
  refute(node: string, state: StreamState, takeMembers: () => void): void {
    const stream = this.streams.get(node);
    if (stream?.next === undefined) return;
    this.suspend(stream);
    stream.buffered = stream.buffered.filter(({ position }) => position.epoch === state.epoch && position.n <= state.n);
    stream.bufferedChars = stream.buffered.reduce((sum, item) => sum + charsOf(item), 0);
    this.resynchronise(node, state, takeMembers);
  }

  /** Missing items cannot be replayed: everything in the gap is lost, and the stream must be synchronised from its present state. */
  giveUp(node: string): void {
    const stream = this.streams.get(node);
    if (stream) {
      stream.next = undefined;
      stream.confirmed = undefined;
      stream.resumeAt = [];
      stream.buffered = [];
      stream.bufferedChars = 0;
    }
    this.events.unsynchronised(node);
  }

  forget(node: string): void {
    this.streams.delete(node);
  }

  private stream(node: string): IncomingStream {
    let stream = this.streams.get(node);
    if (!stream) {
      const unsynchronised = { epoch: 0, next: undefined, confirmed: undefined, resumeAt: [] };
      stream = { ...unsynchronised, buffered: [], bufferedChars: 0, requestedTo: 0, membersKnownTo: 0 };
      this.streams.set(node, stream);
    }
    return stream;
  }

  private synchronise(stream: IncomingStream, epoch: number, next: number, membersKnownTo: number): void {
    stream.epoch = epoch;
    stream.next = next;
    stream.requestedTo = next - 1;
    stream.membersKnownTo = membersKnownTo;
    stream.confirmed = undefined;
    // Items of a later epoch than the node's own were forged; items that were the node's after all are found missing.
    if (stream.resumeAt.length > 0) stream.buffered = stream.buffered.filter(({ position }) => position.epoch <= epoch);
    stream.resumeAt = [];
    this.releaseBuffered(stream);
  }

  /** Buffers everything until the node has reported its state. */
  private suspend(stream: IncomingStream): void {
    if (stream.next === undefined) return;
    const cursor = { epoch: stream.epoch, next: stream.next };
    stream.resumeAt = stream.confirmed ? [stream.confirmed, cursor] : [cursor];
    stream.next = undefined;
  }

  private advance(stream: IncomingStream, item: StreamItem): void {
    const { position } = item;
    const next = stream.next ?? 1;
    const isTail = item.kind === "tail";
    if (position.n < next) return;
    if (!isTail && position.n === next) {
      stream.next = next + 1;
      if (item.kind === "message" || position.n > stream.membersKnownTo) this.events.receive(position.node, item);
      if (stream.buffered.length > 0) this.releaseBuffered(stream);
      return;
    }
    if (!isTail) this.buffer(stream, item);
    const last = isTail ? position.n : position.n - 1;
    const from = Math.max(next, stream.requestedTo + 1);
    stream.requestedTo = Math.max(stream.requestedTo, position.n);
    if (last >= from) this.events.missing({ ...position, n: from }, last);
  }

  private buffer(stream: IncomingStream, item: StreamItem): void {
    if (item.kind === "tail") return;
    stream.buffered.push(item);
    stream.bufferedChars += charsOf(item);
    if (stream.buffered.length <= BUFFERED_MAX && stream.bufferedChars <= BUFFERED_MAX_CHARS) return;
    this.giveUp(item.position.node);
  }

  /** Receives buffered items in the order of their sequence numbers; those behind a further gap stay buffered. */
  private releaseBuffered(stream: IncomingStream): void {
    const items = stream.buffered.sort((a, b) => a.position.epoch - b.position.epoch || a.position.n - b.position.n);
    stream.buffered = [];
    stream.bufferedChars = 0;
    for (const item of items) this.receive(item);
  }
}

/** Characters of data and metadata; the rest of an item is small. */
function charsOf(item: StreamItem): number {
  if (item.kind === "message") return item.envelope.dataJson.length + (item.envelope.metadataJson?.length ?? 0);
  if (item.kind === "tail") return 0;
  return item.change.joined.reduce((sum, { metadataJson }) => sum + (metadataJson?.length ?? 0), 0);
}

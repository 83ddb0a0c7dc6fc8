/** What this node receives on one channel: one stream per other node, each followed on its own (incoming-stream.ts). */
import type { StreamItem } from "../wire/messages.ts";
import { type Contact, type IncomingEvents, IncomingStream } from "./incoming-stream.ts";

export class IncomingStreams {
  /** By node. Bound: one per other node, also for two minutes after it was considered gone. */
  private readonly streams = new Map<string, IncomingStream>();

  constructor(
    private readonly events: IncomingEvents,
    private readonly nowMs: () => number,
  ) {}

  receive(item: StreamItem): void {
    this.of(item.position.node).receive(item);
  }

  /** Items that were requested. */
  replayed(items: readonly StreamItem[]): void {
    for (const item of items) this.receive(item);
  }

  /** The stream of a node. It is unsynchronised until the node has reported its state. */
  of(node: string): IncomingStream {
    let stream = this.streams.get(node);
    if (!stream) {
      stream = new IncomingStream(node, this.events, this.nowMs);
      this.streams.set(node, stream);
    }
    return stream;
  }

  /** Nothing was received from the node since then. */
  interrupt(node: string, since: Contact): void {
    this.streams.get(node)?.interrupt(since);
  }

  /** The node is considered gone: its place in the stream is kept in case it returns. */
  pause(node: string, since: Contact): void {
    this.streams.get(node)?.pause(since);
  }

  /** The node does not return. */
  forget(node: string): void {
    this.streams.delete(node);
  }
}

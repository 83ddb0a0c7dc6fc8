/**
 * Topics for connections over HTTP. The runtime's topics hold WebSockets only, so these have a table of their own, and what is published goes to
 * both. While no connection over HTTP is on any topic, that costs one comparison.
 */
import type { Broadcast, Socket } from "../state/socket.ts";
import { eventOf } from "./event-text.ts";

/** A socket that is written to with events. */
export interface EventReader {
  /** Present also tells this socket from a WebSocket. */
  readonly session: string;
  push(event: Uint8Array): void;
}

type AnyReader = Socket & EventReader;

export class EventTopics {
  /** A topic with one reader has no set of its own. Bound: the topics of connections over HTTP, 4 per subscription and one per connection. */
  private readonly topics = new Map<string, AnyReader | Set<AnyReader>>();

  constructor(private readonly webSockets: Broadcast) {}

  readonly broadcast: Broadcast = (topic, text, except) =>
    this.topics.size === 0 && except?.session === undefined
      ? this.webSockets(topic, text, except)
      : this.toBoth(topic, text, except);

  /** Encodes the text once, for all readers. Nothing is written here: each reader only notes the event (event-writer.ts). */
  private toBoth(topic: string, text: string, except: Socket | undefined): number {
    const written = this.webSockets(topic, text, except?.session === undefined ? except : undefined);
    const readers = this.topics.get(topic);
    if (readers === undefined || readers === except) return written;
    const event = eventOf(text);
    if (!(readers instanceof Set)) readers.push(event);
    else for (const reader of readers) if (reader !== except) reader.push(event);
    return written;
  }

  add(topic: string, reader: AnyReader): void {
    const readers = this.topics.get(topic);
    if (readers === undefined) this.topics.set(topic, reader);
    else if (readers instanceof Set) readers.add(reader);
    else if (readers !== reader) this.topics.set(topic, new Set([readers, reader]));
  }

  remove(topic: string, reader: AnyReader): void {
    const readers = this.topics.get(topic);
    if (readers === reader) this.topics.delete(topic);
    else if (readers instanceof Set && readers.delete(reader) && readers.size === 0) this.topics.delete(topic);
  }

  /** How many topics have a reader. */
  get size(): number {
    return this.topics.size;
  }
}

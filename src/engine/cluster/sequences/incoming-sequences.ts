/** What this node receives on one channel: one sequence per other node, each followed on its own (incoming-sequence.ts). */
import type { SequenceItem } from "../wire/messages.ts";
import { type Contact, type IncomingEvents, IncomingSequence } from "./incoming-sequence.ts";

export class IncomingSequences {
  /** By node. Bound: one per other node, also for two minutes after it was considered gone. */
  private readonly sequences = new Map<string, IncomingSequence>();

  constructor(
    private readonly events: IncomingEvents,
    private readonly nowMs: () => number,
  ) {}

  receive(item: SequenceItem): void {
    this.of(item.place.node).receive(item);
  }

  /** Items that were requested. */
  replayed(items: readonly SequenceItem[]): void {
    for (const item of items) this.receive(item);
  }

  /** The sequence of a node. It is unsynchronised until the node has reported its state. */
  of(node: string): IncomingSequence {
    let sequence = this.sequences.get(node);
    if (!sequence) {
      sequence = new IncomingSequence(node, this.events, this.nowMs);
      this.sequences.set(node, sequence);
    }
    return sequence;
  }

  /** Nothing was received from the node since then. */
  interrupt(node: string, since: Contact): void {
    this.sequences.get(node)?.interrupt(since);
  }

  /** The node is considered gone: its place in the sequence is kept in case it returns. */
  pause(node: string, since: Contact): void {
    this.sequences.get(node)?.pause(since);
  }

  /** The node is gone, and has not sent everything that it owes. */
  owes(node: string, hasLeft: boolean): boolean {
    return this.sequences.get(node)?.owes(hasLeft) === true;
  }

  /** The node does not return. */
  forget(node: string): void {
    this.sequences.delete(node);
  }
}

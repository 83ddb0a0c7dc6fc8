/** What a checker records of a run: destinations, connections and subscriptions. */
import type { Cursor, Resume } from "./cursor.ts";
import type { Order } from "./order.ts";
import { Members, type View } from "./roster.ts";
import { type MessageSequence, Track } from "./sequence.ts";

/** Where messages are addressed to: a channel, or the inbox of a peer. */
export interface Destination {
  /** For messages: "in chat/1". */
  readonly where: string;
  /** The oldest first. Sequences of ended connections are removed by prune.ts. */
  sequences: MessageSequence[];
  /** The number of sequences so far, including removed ones: the index of the next one. */
  sequenceCount: number;
  subscriptions: Subscription[];
  readonly members: Members;
  /** Set for a channel with history; undefined: no position was seen so far. */
  order: Order | undefined;
}

export interface Connection {
  readonly id: number;
  readonly peer: string;
  isOpen: boolean;
  /** By the checker's clock; undefined while it is open. */
  endedMs: number | undefined;
  /** By destination: what it has sent, and what it receives. */
  readonly sequences: Map<Destination, MessageSequence>;
  readonly subscriptions: Map<Destination, Subscription>;
}

/** One connection at one destination, from its subscribe to its end. */
export interface Subscription {
  readonly connection: Connection;
  readonly destination: Destination;
  readonly tracks: Map<MessageSequence, Track>;
  readonly view: View;
  /** `sequenceCount` of the destination at the ack; undefined: no ack yet. */
  sequencesAtAck: number | undefined;
  /** What its subscribe asked for. */
  readonly resume: Resume | undefined;
  /** Where it is in a channel with history; undefined without one, and before the ack. */
  cursor: Cursor | undefined;
  /** It is not the connection's first one here: messages of an earlier one may arrive before its ack. */
  readonly isFurther: boolean;
  isOpen: boolean;
  endedMs: number | undefined;
}

export function destinationAt(destinations: Map<string, Destination>, name: string, where: string): Destination {
  let destination = destinations.get(name);
  if (!destination) {
    destination = {
      where,
      sequences: [],
      sequenceCount: 0,
      subscriptions: [],
      members: new Members(),
      order: undefined,
    };
    destinations.set(name, destination);
  }
  return destination;
}

/** What this subscription has received from that sender. */
export function trackOf(subscription: Subscription, sequence: MessageSequence): Track {
  let track = subscription.tracks.get(sequence);
  if (!track) {
    track = new Track(sequence);
    subscription.tracks.set(sequence, track);
    // No track at the ack: either the sender had ended by then, and none of its messages is promised; or it started later, and all are.
    if (subscription.sequencesAtAck !== undefined)
      track.promise(sequence.index < subscription.sequencesAtAck ? sequence.sent + 1 : 1);
  }
  return track;
}

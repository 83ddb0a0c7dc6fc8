/**
 * Judges a run from what its connections did and saw (docs/protocol.md, sections 4 and 5). Pure: it is told everything, and in
 * the order in which one observer saw it; that order is what its "before" and "after" mean.
 *
 * - Nothing is lost: a message that was sent after a subscriber had the ack of its subscribe, and was acked itself, reaches
 *   that subscriber; to a connection that ends, the last ones may be missing, but none in between.
 * - Nothing comes twice, out of its sender's order, to its sender, or although it was refused.
 * - Everybody's roster is the truth when things have come to rest, and nobody left whose connection did not end.
 *
 * What it keeps grows with connections, pairs and faults, and not with messages. A long run calls `forget` now and then, and
 * then it grows with the connections that are open.
 */
import { Findings, type Kind, type Problem } from "./findings.ts";
import { forgetEnded } from "./forget.ts";
import { judgeAnswers, judgeDeliveries, judgePresence } from "./judge.ts";
import { type Connection, type Place, placeAt, type Stay, trackOf } from "./places.ts";
import { type PresenceChange, View } from "./roster.ts";
import { type Outcome, Stream, Track } from "./stream.ts";

/** Travels as the data of a message: who sent it, and which one of that connection's messages to that place it is. */
export interface Mark {
  readonly connection: number;
  readonly number: number;
}

export interface Judging {
  /** Parts of the service were cut from each other: members may have left for those on the other side. */
  readonly allowFlaps?: boolean;
}

export class Checker {
  private readonly connections: Connection[] = [];
  private readonly channels = new Map<string, Place>();
  private readonly inboxes = new Map<string, Place>();
  private readonly found = new Findings();
  /** Messages that reached somebody. */
  deliveries = 0;

  constructor(private readonly nowMs: () => number) {}

  /** The connection was welcomed. The answer names it from now on. */
  opened(peer: string): number {
    const id = this.connections.length + 1;
    const connection: Connection = {
      id,
      peer,
      isOpen: true,
      endedMs: undefined,
      streams: new Map(),
      stays: new Map(),
    };
    this.connections.push(connection);
    // Direct messages need no subscribe: whoever is welcome gets them.
    this.listen(this.begin(connection, this.inbox(peer)));
    return id;
  }

  /** Its end was seen, whoever wanted it. */
  closed(id: number): void {
    const connection = this.connection(id);
    if (!connection.isOpen) return;
    connection.isOpen = false;
    connection.endedMs = this.nowMs();
    for (const stay of connection.stays.values()) this.end(stay);
  }

  /** To be told before the frame is sent: messages may come before the ack does. */
  subscribing(id: number, channel: string): void {
    const connection = this.connection(id);
    const place = this.channel(channel);
    if (!connection.stays.get(place)?.isOpen) this.begin(connection, place);
  }

  subscribed(id: number, channel: string): void {
    const stay = this.connection(id).stays.get(this.channel(channel));
    if (!stay?.isOpen || stay.streamsAtAck !== undefined) return;
    this.listen(stay);
  }

  /** To be told when the frame is sent: from then on messages may be missing. */
  unsubscribed(id: number, channel: string): void {
    const stay = this.connection(id).stays.get(this.channel(channel));
    if (stay) this.end(stay);
  }

  /** The number to put into the message that is about to be sent. */
  publishing(id: number, channel: string): number {
    return this.stream(id, this.channel(channel)).next();
  }

  published(id: number, channel: string, number: number, outcome: Outcome): void {
    this.answered(id, this.channel(channel), number, outcome);
  }

  sending(id: number, peer: string): number {
    return this.stream(id, this.inbox(peer)).next();
  }

  sent(id: number, peer: string, number: number, outcome: Outcome): void {
    this.answered(id, this.inbox(peer), number, outcome);
  }

  /** An ack or an error that names no request, or one that has its answer. */
  unasked(id: number, requestId: string): void {
    this.found.add(
      "unanswered",
      `${this.connection(id).peer} got an answer to no question: ${JSON.stringify(requestId)}`,
    );
  }

  message(id: number, channel: string, from: string, mark: Mark): void {
    this.received(this.connection(id), this.channel(channel), from, mark);
  }

  direct(id: number, from: string, mark: Mark): void {
    const receiver = this.connection(id);
    this.received(receiver, this.inbox(receiver.peer), from, mark);
  }

  presence(id: number, channel: string, change: PresenceChange): void {
    const { peer, stays } = this.connection(id);
    const place = this.channel(channel);
    const wrong = stays.get(place)?.view.apply(change, this.nowMs()) ?? ["was told of a channel it is not in"];
    for (const sentence of wrong) this.found.add("flapped", `${peer} ${sentence}, ${place.where}`);
  }

  /** May be asked again: what is still on the way counts as lost until it has come. */
  verdict({ allowFlaps = false }: Judging = {}): readonly Problem[] {
    const findings = this.found.copy();
    for (const place of this.inboxes.values()) judgeDeliveries(place, findings, this.connections);
    for (const place of this.channels.values()) {
      judgeDeliveries(place, findings, this.connections);
      judgePresence(place, findings);
    }
    for (const connection of this.connections) if (connection.isOpen) judgeAnswers(connection, findings);
    return allowFlaps ? findings.problems.filter(({ kind }) => kind !== "flapped") : findings.problems;
  }

  /** Problems that no later event can take back. */
  get certain(): readonly Problem[] {
    return this.found.problems;
  }

  /**
   * Judges for good what ended at least so long ago, and drops it. A message that arrives later than that after its sender's
   * connection ended has been counted as lost by then.
   */
  forget(quietMs: number): void {
    const beforeMs = this.nowMs() - quietMs;
    for (const places of [this.channels, this.inboxes])
      for (const place of places.values()) forgetEnded(place, this.found, this.connections, beforeMs);
  }

  private received(receiver: Connection, place: Place, from: string, mark: Mark): void {
    this.deliveries++;
    // The way of nearly every delivery: no text is made on it.
    const wrong = (kind: Kind, how: string): void =>
      this.found.add(kind, `${receiver.peer} got number ${mark.number} of ${from} ${place.where}${how}`);
    const sender = this.connections[mark.connection - 1];
    const stream = sender?.streams.get(place);
    if (sender?.peer !== from || !stream || mark.number < 1 || mark.number > stream.sent)
      return wrong("strange", `, which ${from} did not send`);
    if (sender === receiver) return wrong("strange", ": its own");
    const stay = receiver.stays.get(place);
    if (!stay) return wrong("strange", ", which it did not subscribe to");
    // What was on the way when it ended may still come.
    if (!stay.isOpen) return;
    const track = trackOf(stay, stream);
    const newest = track.newest;
    const taken = track.take(mark.number);
    if (taken === "doubled") wrong("doubled", " twice");
    if (taken === "late") wrong("disordered", ` after number ${newest}`);
  }

  private answered(id: number, place: Place, number: number, outcome: Outcome): void {
    const { peer, streams } = this.connection(id);
    if (!streams.get(place)?.answered(number, outcome))
      this.found.add("unanswered", `${peer} got a further answer to its number ${number} ${place.where}`);
  }

  private begin(connection: Connection, place: Place): Stay {
    const view = new View(connection.peer, place.members);
    const stay: Stay = {
      connection,
      place,
      tracks: new Map(),
      view,
      streamsAtAck: undefined,
      isOpen: true,
      endedMs: undefined,
    };
    connection.stays.set(place, stay);
    place.stays.push(stay);
    return stay;
  }

  /** What is sent from now on must come. */
  private listen(stay: Stay): void {
    const { place, connection, tracks } = stay;
    stay.streamsAtAck = place.begun;
    place.members.came(connection.peer);
    for (const stream of place.streams) {
      const isLive = this.connection(stream.connection).isOpen;
      if (isLive && stream.connection !== connection.id && !tracks.has(stream)) tracks.set(stream, new Track(stream));
      tracks.get(stream)?.promise(stream.sent + 1);
    }
  }

  private end(stay: Stay): void {
    if (!stay.isOpen) return;
    stay.isOpen = false;
    stay.endedMs = this.nowMs();
    if (stay.streamsAtAck !== undefined) stay.place.members.went(stay.connection.peer, this.nowMs());
  }

  private stream(id: number, place: Place): Stream {
    const { streams } = this.connection(id);
    let stream = streams.get(place);
    if (!stream) {
      stream = new Stream(id, place.begun++);
      streams.set(place, stream);
      place.streams.push(stream);
    }
    return stream;
  }

  private connection(id: number): Connection {
    const connection = this.connections[id - 1];
    if (!connection) throw new Error(`connection ${id} was not opened`);
    return connection;
  }

  private channel(name: string): Place {
    return placeAt(this.channels, name, `in ${name}`);
  }

  private inbox(peer: string): Place {
    return placeAt(this.inboxes, peer, `sent to ${peer} directly`);
  }
}

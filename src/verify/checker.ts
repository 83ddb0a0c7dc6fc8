/**
 * Judges a run from what its connections did and received (docs/protocol.md, sections 4 and 5). It is pure: callers report every
 * event, in the order in which one observer saw them, and that order defines "before" and "after".
 *
 * - No message is lost: a message that was sent after a subscriber had the ack of its subscribe, and was acked itself, reaches that
 *   subscriber. If the connection ends, the last messages may be missing, but none in between.
 * - No message arrives twice, out of its sender's order, at its sender, or although it was refused.
 * - When all messages have arrived, every roster equals the actual members, and no member has left whose connection did not end.
 *
 * Memory grows with connections, pairs of sender and receiver, and problems, but not with messages. A long run calls `prune` from
 * time to time; then what is left of one that has ended is a small record, and one number per subscription in the ends of its peer
 * (roster.ts).
 */
import type { Beginning, Resume } from "./cursor.ts";
import { type Connection, type Destination, destinationAt, type Subscription, trackOf } from "./destinations.ts";
import { Findings, type Kind, type Problem } from "./findings.ts";
import type { PageEntry } from "./frames.ts";
import { History, type Placed, type Recoveries } from "./history.ts";
import { judgeAnswers, judgeDeliveries, judgePresence } from "./judge.ts";
import type { Mark } from "./mark.ts";
import { Order, type Stored } from "./order.ts";
import { pruneEnded } from "./prune.ts";
import { type PresenceChange, View } from "./roster.ts";
import { MessageSequence, type Outcome, Track } from "./sequence.ts";

export interface Judging {
  /** Nodes were partitioned: members may have left in the view of the other side. */
  readonly allowFlaps?: boolean;
}

export class Checker {
  private readonly connections: Connection[] = [];
  private readonly channels = new Map<string, Destination>();
  private readonly inboxes = new Map<string, Destination>();
  private readonly found = new Findings();
  private readonly history = new History(this.found);
  /** Messages that were received. */
  deliveries = 0;

  constructor(private readonly nowMs: () => number) {}

  /** The connection got its `welcome`. Returns the id by which further calls name it. */
  opened(peer: string): number {
    const id = this.connections.length + 1;
    const connection: Connection = {
      id,
      peer,
      isOpen: true,
      endedMs: undefined,
      sequences: new Map(),
      subscriptions: new Map(),
    };
    this.connections.push(connection);
    // Direct messages need no subscribe: every connection gets those of its peer.
    this.activate(this.begin(connection, this.inbox(peer)));
    return id;
  }

  /** The connection has ended, whichever side closed it. */
  closed(id: number): void {
    const connection = this.connection(id);
    if (!connection.isOpen) return;
    connection.isOpen = false;
    connection.endedMs = this.nowMs();
    for (const subscription of connection.subscriptions.values()) this.end(subscription);
  }

  /** Call this before the frame is sent, because messages may arrive before the ack. */
  subscribing(id: number, channel: string, resume?: Resume): void {
    const connection = this.connection(id);
    const destination = this.channel(channel);
    if (!connection.subscriptions.get(destination)?.isOpen) this.begin(connection, destination, resume);
  }

  /** `beginning`: what the ack said about the channel's history. */
  subscribed(id: number, channel: string, beginning?: Beginning): void {
    const subscription = this.connection(id).subscriptions.get(this.channel(channel));
    if (!subscription?.isOpen || subscription.sequencesAtAck !== undefined) return;
    this.activate(subscription);
    this.history.begun(subscription, beginning);
  }

  /** Call this when the frame is sent: from then on messages may be missing. */
  unsubscribed(id: number, channel: string): void {
    const subscription = this.connection(id).subscriptions.get(this.channel(channel));
    if (subscription) this.end(subscription);
  }

  /** The number to put into the message that is about to be sent. */
  publishing(id: number, channel: string): number {
    return this.sequence(id, this.channel(channel)).next();
  }

  /** `placed`: where an acked message is in a channel with history. */
  published(id: number, channel: string, number: number, outcome: Outcome, placed?: Placed): void {
    const destination = this.channel(channel);
    this.answered(id, destination, number, outcome);
    const mark = { connection: id, number };
    if (outcome === "acked") this.history.acked(this.connection(id), destination, mark, placed);
    else if (outcome === "refused" && destination.order?.has(mark))
      this.found.add(
        "undone",
        `${this.connection(id).peer} was refused number ${number} ${destination.where}, which is stored`,
      );
  }

  /** A message of an earlier `publishing`, whose outcome is unknown, is published again with the same id on this connection. */
  retrying(id: number, channel: string, mark: Mark): void {
    this.channel(channel).order?.retrying(mark, id);
  }

  /** The ack of a retry. */
  retried(id: number, channel: string, mark: Mark, placed: Placed | undefined): void {
    this.history.acked(this.connection(id), this.channel(channel), mark, placed);
  }

  /** A page of the channel's history, newest first. */
  page(id: number, channel: string, entries: readonly PageEntry[]): void {
    this.history.page(this.connection(id), this.channel(channel), entries);
  }

  /** Whether a position of the channel was seen. */
  hasHistory(channel: string): boolean {
    return this.channels.get(channel)?.order !== undefined;
  }

  get recoveries(): Readonly<Recoveries> {
    return this.history.recoveries;
  }

  sending(id: number, peer: string): number {
    return this.sequence(id, this.inbox(peer)).next();
  }

  sent(id: number, peer: string, number: number, outcome: Outcome): void {
    this.answered(id, this.inbox(peer), number, outcome);
  }

  /** An ack or error for no request, or for one that has been answered already. */
  unasked(id: number, requestId: string): void {
    this.found.add(
      "unanswered",
      `${this.connection(id).peer} got an answer to no request: ${JSON.stringify(requestId)}`,
    );
  }

  /** `stored`: what the frame says about its place in a channel with history. */
  message(id: number, channel: string, from: string, mark: Mark, stored?: Stored): void {
    this.received(this.connection(id), this.channel(channel), from, mark, stored);
  }

  direct(id: number, from: string, mark: Mark): void {
    const receiver = this.connection(id);
    this.received(receiver, this.inbox(receiver.peer), from, mark);
  }

  presence(id: number, channel: string, change: PresenceChange): void {
    const { peer, subscriptions } = this.connection(id);
    const destination = this.channel(channel);
    const wrong = subscriptions.get(destination)?.view.apply(change, this.nowMs()) ?? [
      "got a presence change of a channel it is not in",
    ];
    for (const sentence of wrong) this.found.add("flapped", `${peer} ${sentence}, ${destination.where}`);
  }

  /** May be called repeatedly: messages in flight count as lost until they arrive. */
  verdict({ allowFlaps = false }: Judging = {}): readonly Problem[] {
    const findings = this.found.copy();
    for (const destination of this.inboxes.values()) judgeDeliveries(destination, findings, this.connections);
    for (const destination of this.channels.values()) {
      judgeDeliveries(destination, findings, this.connections);
      judgePresence(destination, findings);
    }
    for (const connection of this.connections) if (connection.isOpen) judgeAnswers(connection, findings);
    return allowFlaps ? findings.problems.filter(({ kind }) => kind !== "flapped") : findings.problems;
  }

  /** Problems that no later event can change. */
  get certain(): readonly Problem[] {
    return this.found.problems;
  }

  /**
   * Gives the final verdict on connections that ended at least `quietMs` ago, and removes them. A message that arrives even later
   * has been counted as lost.
   */
  prune(quietMs: number): void {
    const beforeMs = this.nowMs() - quietMs;
    for (const destinations of [this.channels, this.inboxes])
      for (const destination of destinations.values()) pruneEnded(destination, this.found, this.connections, beforeMs);
  }

  private received(
    receiver: Connection,
    destination: Destination,
    from: string,
    mark: Mark,
    stored?: Stored | undefined,
  ): void {
    this.deliveries++;
    // Hot path: the text is made only for a problem.
    const what = (): string => `${receiver.peer} got number ${mark.number} of ${from} ${destination.where}`;
    const wrong = (kind: Kind, how: string): void => this.found.add(kind, what() + how);
    if (stored) destination.order ??= new Order();
    const { order } = destination;
    const sender = this.connections[mark.connection - 1];
    const sequence = sender?.sequences.get(destination);
    const isSent = (sequence && mark.number >= 1 && mark.number <= sequence.sent) || order?.has(mark);
    if (sender?.peer !== from || !isSent) return wrong("strange", `, which ${from} did not send`);
    if ((order ? order.publisherOf(mark) : mark.connection) === receiver.id) return wrong("strange", ": its own");
    const subscription = receiver.subscriptions.get(destination);
    if (!subscription) return wrong("strange", ", which it did not subscribe to");
    if (order) {
      if (sequence?.refused.has(mark.number)) wrong("undone", ", which was refused to its sender");
      return this.history.received(subscription, order, mark, stored, what);
    }
    // Messages in flight at the end of a subscription may still arrive.
    if (!subscription.isOpen || !sequence) return;
    const track = trackOf(subscription, sequence);
    const newest = track.newest;
    const taken = track.take(mark.number);
    if (taken === "doubled") wrong("doubled", " twice");
    if (taken === "late") wrong("disordered", ` after number ${newest}`);
  }

  private answered(id: number, destination: Destination, number: number, outcome: Outcome): void {
    const { peer, sequences } = this.connection(id);
    if (!sequences.get(destination)?.answered(number, outcome))
      this.found.add("unanswered", `${peer} got a further answer to its number ${number} ${destination.where}`);
  }

  private begin(connection: Connection, destination: Destination, resume?: Resume): Subscription {
    const view = new View(connection.peer, destination.members);
    const subscription: Subscription = {
      connection,
      destination,
      tracks: new Map(),
      view,
      sequencesAtAck: undefined,
      resume,
      cursor: undefined,
      isFurther: connection.subscriptions.has(destination),
      isOpen: true,
      endedMs: undefined,
    };
    connection.subscriptions.set(destination, subscription);
    destination.subscriptions.push(subscription);
    return subscription;
  }

  /** From now on, every message must arrive. */
  private activate(subscription: Subscription): void {
    const { destination, connection, tracks } = subscription;
    subscription.sequencesAtAck = destination.sequenceCount;
    destination.members.add(connection.peer);
    for (const sequence of destination.sequences) {
      const isLive = this.connection(sequence.connection).isOpen;
      if (isLive && sequence.connection !== connection.id && !tracks.has(sequence))
        tracks.set(sequence, new Track(sequence));
      tracks.get(sequence)?.promise(sequence.sent + 1);
    }
  }

  private end(subscription: Subscription): void {
    if (!subscription.isOpen) return;
    subscription.isOpen = false;
    subscription.endedMs = this.nowMs();
    if (subscription.sequencesAtAck !== undefined)
      subscription.destination.members.remove(subscription.connection.peer, this.nowMs());
  }

  private sequence(id: number, destination: Destination): MessageSequence {
    const { sequences } = this.connection(id);
    let sequence = sequences.get(destination);
    if (!sequence) {
      sequence = new MessageSequence(id, destination.sequenceCount++);
      sequences.set(destination, sequence);
      destination.sequences.push(sequence);
    }
    return sequence;
  }

  private connection(id: number): Connection {
    const connection = this.connections[id - 1];
    if (!connection) throw new Error(`connection ${id} was not opened`);
    return connection;
  }

  private channel(name: string): Destination {
    return destinationAt(this.channels, name, `in ${name}`);
  }

  private inbox(peer: string): Destination {
    return destinationAt(this.inboxes, peer, `sent to ${peer} directly`);
  }
}

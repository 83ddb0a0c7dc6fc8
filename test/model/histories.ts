/**
 * What a subscription to a channel with history must receive: every message of its stream behind its start, each once, in order,
 * except those that its own connection has published. The first broken rule throws.
 */
import type { Received } from "../../src/realtime/testing/kit.ts";
import type { Context } from "./context.ts";
import { type Connection, isShown, type Message, type Request, type Subscription } from "./model.ts";
import { ruleBroken } from "./rule-broken.ts";
import type { Epoch } from "./streams.ts";

/** A subscription's place in its stream. */
interface Follow {
  readonly epoch: Epoch;
  /** Every message up to this offset has come, or need not come. */
  last: number;
  /** Where the replay ends. */
  readonly replayTo: number;
  /** Replayed messages that are still to come. */
  replays: number;
  /** Messages of this connection are not replayed. */
  readonly omits: string | undefined;
  /** It began with a replay. */
  readonly hasStart: boolean;
  /** Messages up to this number were sent before it was acked. */
  readonly afterMessage: number;
}

/** What a client keeps to recover from. */
export interface Saved {
  readonly app: string;
  readonly channel: string;
  readonly position: string;
  readonly peerId: string;
  readonly connection: string;
}

const SAVED_MAX = 12;

export class Histories {
  private readonly follows = new WeakMap<Subscription, Follow>();
  /** When the history of a channel was last removed, by application and channel. */
  readonly removedMs = new Map<string, number>();
  /** Newest last. */
  readonly saved: Saved[] = [];

  constructor(private readonly context: Context) {}

  has(channel: string): boolean {
    return this.context.keepOf(channel) !== undefined;
  }

  /** A subscribe was acked. */
  subscribed(connection: Connection, subscription: Subscription, request: Request, ack: Received): void {
    const { channel } = subscription;
    const position = this.positionIn(connection, ack, `the ack of its subscribe to ${channel}`);
    const before = this.follows.get(subscription);
    if (before) {
      // It has the channel already: what it has not received yet must not be skipped by a recovery from this position.
      if (before.epoch.name !== position.epoch) ruleBroken(connection, `another epoch of ${channel} without a close`);
      this.mustHaveAll(connection, before, position.offset, `an ack of position ${position.offset} on ${channel}`);
      return;
    }
    const epoch = this.context.streams.epoch(position.epoch) as Epoch;
    const { recovered, replay } = ack;
    const { start } = request;
    const plain = { epoch, last: position.offset, replayTo: 0, replays: 0, omits: undefined, hasStart: false };
    const afterMessage = this.context.messages.size;
    if (start === undefined) {
      if (recovered !== undefined || replay !== undefined) ruleBroken(connection, "a replay that it did not ask for");
      this.follow(connection, subscription, { ...plain, afterMessage });
      this.save(connection, channel, String(ack.pos));
      return;
    }
    if (typeof recovered !== "boolean" || typeof replay !== "number")
      return ruleBroken(connection, `a recovery of ${channel} without an answer: ${JSON.stringify(ack)}`);
    this.context.count(`${start.kind} ${recovered}`);
    if (!recovered) {
      if (replay !== 0) ruleBroken(connection, `${replay} messages are replayed without a recovery`);
      if (start.kind === "recover") this.mayFail(connection, epoch, channel, start.position, request);
      this.follow(connection, subscription, { ...plain, afterMessage });
      this.save(connection, channel, String(ack.pos));
      return;
    }
    if (replay > 0) this.context.count("replayed");
    const last =
      start.kind === "rewind"
        ? this.rewound(connection, channel, epoch, position.offset, replay, start.count)
        : this.recovered(connection, channel, epoch, start.position);
    const omits = start.kind === "recover" ? start.connection : undefined;
    const replayTo = Math.max(position.offset, last);
    const follow = { epoch, last, replayTo, replays: replay, omits, hasStart: true, afterMessage };
    this.follow(connection, subscription, follow);
    if (replay === 0 && position.offset > last) this.replayed(connection, follow);
    if (replay === 0) this.save(connection, channel, String(ack.pos));
  }

  private follow(connection: Connection, subscription: Subscription, follow: Follow): void {
    const { endedMs = Number.POSITIVE_INFINITY } = follow.epoch;
    const since = this.context.lastReadMs - STALE_MS;
    // While the store is unavailable, nodes cannot know.
    if (endedMs < since && this.context.wasFine(since))
      ruleBroken(connection, `it follows an epoch of ${subscription.channel} that has ended`);
    this.follows.set(subscription, follow);
  }

  /** A recovery from `text` has succeeded. Returns the offset behind which messages must come. */
  private recovered(connection: Connection, channel: string, epoch: Epoch, text: string): number {
    const position = this.context.streams.known(text);
    if (!position)
      return ruleBroken(connection, `${channel} is recovered from ${text}, which the store has never given`);
    if (position.epoch !== epoch.name) ruleBroken(connection, `${channel} is recovered across its epoch`);
    return position.offset;
  }

  /** The offset behind which the newest `replay` messages up to `top` are. */
  private rewound(
    connection: Connection,
    channel: string,
    epoch: Epoch,
    top: number,
    replay: number,
    count: number,
  ): number {
    if (replay > count) ruleBroken(connection, `${replay} messages are replayed, ${count} were asked for`);
    let offset = top;
    for (let left = replay; left > 0 && offset > 0; offset--) if (!this.isOwn(connection, epoch, offset)) left--;
    const floor = this.floorOf(channel, epoch);
    for (let at = Math.max(top - count, floor) + 1; at <= offset; at++)
      if (!this.isOwn(connection, epoch, at))
        ruleBroken(
          connection,
          `${count} messages of ${channel} were asked for, but offset ${at} of ${top} is not replayed`,
        );
    return offset;
  }

  /** A recovery from `text` has failed: it must have had a reason at some time since it was asked for. `followed`: what it got instead. */
  private mayFail(connection: Connection, followed: Epoch, channel: string, text: string, request: Request): void {
    const { streams } = this.context;
    // Its node has not noticed yet that the history was removed, and knows nothing of the epoch in which another node has begun.
    if (followed.endedMs !== undefined) return;
    const position = streams.known(text);
    const epoch = position && streams.epoch(position.epoch);
    if (!epoch || epoch.endedMs !== undefined || !this.context.wasFine(request.sentMs ?? 0)) return;
    if (position.offset >= this.floorOf(channel, epoch))
      ruleBroken(
        connection,
        `${channel} could be recovered from ${position.offset} of ${epoch.messages.length}, but is not`,
      );
  }

  /** The highest offset that need not be stored any more. */
  private floorOf(channel: string, { messages, trimmed }: Epoch): number {
    const keep = this.context.keepOf(channel);
    const oldMs = this.context.nowMs() - (keep?.seconds ?? 0) * 1000;
    const tooOld = messages.findLast(({ time }) => time <= oldMs)?.offset ?? 0;
    return Math.max(trimmed, messages.length - (keep?.messages ?? 0), tooOld);
  }

  /** A message of a channel with history. */
  received(connection: Connection, subscription: Subscription, frame: Received): void {
    const { channel } = subscription;
    const { n: number } = frame.data as { n: number };
    const position = this.positionIn(connection, frame, `message ${number}`);
    const follow = this.follows.get(subscription);
    if (!follow) return ruleBroken(connection, `message ${number} before the ack of ${channel}`);
    const what = `message ${number}, offset ${position.offset} on ${channel}`;
    if (position.epoch !== follow.epoch.name) ruleBroken(connection, `${what}: of another epoch`);
    const message = follow.epoch.messages[position.offset - 1];
    if (message?.number !== number) return ruleBroken(connection, `${what}: that is message ${message?.number}`);
    if (frame.time !== message.time) ruleBroken(connection, `${what}: time ${frame.time} instead of ${message.time}`);
    if (position.offset <= follow.last)
      ruleBroken(connection, `${what}: after ${follow.last}, a double or out of order`);
    if (message.connection === connection.id) ruleBroken(connection, `${what}: its own`);
    this.mustHaveAll(connection, follow, position.offset, what);
    this.checkReplay(connection, follow, position.offset, message.connection, frame.replay === true, what);
    follow.last = position.offset;
    if (follow.replays === 0 && frame.replay === true) this.replayed(connection, follow);
    this.save(connection, channel, String(frame.pos));
  }

  private checkReplay(
    connection: Connection,
    follow: Follow,
    offset: number,
    publisher: string | undefined,
    isReplay: boolean,
    what: string,
  ): void {
    if (isReplay && publisher !== undefined && publisher === follow.omits)
      ruleBroken(connection, `${what}: its own of an earlier connection, replayed`);
    if (isReplay && follow.replays === 0) ruleBroken(connection, `${what}: one more replayed than announced`);
    if (isReplay && offset > follow.replayTo) ruleBroken(connection, `${what}: replayed, but newer than the ack`);
    if (!isReplay && follow.replays > 0) ruleBroken(connection, `${what}: before ${follow.replays} replayed ones`);
    if (isReplay) follow.replays--;
  }

  /** The last replayed message has come: nothing up to the position of the ack may be missing. */
  private replayed(connection: Connection, follow: Follow): void {
    this.mustHaveAll(connection, follow, follow.replayTo + 1, `the end of a replay to ${follow.replayTo}`);
  }

  /** Every message before `offset` has come, or need not come. */
  private mustHaveAll(connection: Connection, follow: Follow, offset: number, what: string): void {
    for (let at = follow.last + 1; at < offset; at++)
      if (!this.isOwn(connection, follow.epoch, at, follow.omits))
        ruleBroken(
          connection,
          `${what}: but offset ${at} (message ${follow.epoch.messages[at - 1]?.number}) is missing`,
        );
  }

  private isOwn(connection: Connection, epoch: Epoch, offset: number, earlier?: string): boolean {
    const publisher = epoch.messages[offset - 1]?.connection;
    return publisher !== undefined && (publisher === connection.id || publisher === earlier);
  }

  /** A publish to a channel with history was acked. */
  published(connection: Connection, request: Request, ack: Received): void {
    const { message: number = 0, channel = "" } = request;
    const position = this.positionIn(connection, ack, `the ack of message ${number}`);
    const epoch = this.context.streams.epoch(position.epoch);
    const id = this.context.idOf(number);
    const first = (id === undefined ? undefined : epoch?.ids.get(id)) ?? number;
    const stored = epoch?.messages[position.offset - 1];
    if (stored?.number !== first)
      ruleBroken(connection, `message ${number} was acked at ${String(ack.pos)}, where message ${stored?.number} is`);
    const isDuplicate = ack.duplicate === true;
    if (isDuplicate !== (first !== number)) ruleBroken(connection, `message ${number}: duplicate is ${isDuplicate}`);
    this.context.count(isDuplicate ? "duplicate" : "stored");
    const subscription = connection.subscriptions.get(channel);
    const follow = subscription && this.follows.get(subscription);
    if (!follow || follow.epoch.name !== position.epoch) return;
    this.mustHaveAll(connection, follow, position.offset, `the ack of offset ${position.offset}`);
    if (position.offset > follow.last) this.save(connection, channel, String(ack.pos));
  }

  /** Whether this message must come in the order in which its connection has sent it, also beside other messages of it. */
  isInOrder(connection: Connection, message: Message, number: number): boolean {
    const { channel = "", connection: sender, hasFailed, atMs } = message;
    const subscription = connection.subscriptions.get(channel);
    const follow = subscription && this.follows.get(subscription);
    if (!follow || follow.hasStart || number <= follow.afterMessage || hasFailed) return false;
    // The answer that it has failed had no one to go to.
    if (sender.socket.closed && !this.context.wasFine(atMs)) return false;
    // The error may be written, but not read yet.
    return !sender.socket.written.slice(sender.read).some((text) => text.includes('"backend_error"'));
  }

  /** The sender of a message that is not replayed is known as a member, if it was one. */
  checkKnown(connection: Connection, message: Message, { channel = "", replay }: Received, what: string): void {
    const { connection: sender, memberAs, atMs, hasFailed } = message;
    const subscription = connection.subscriptions.get(channel);
    const roster = subscription?.roster;
    if (replay || !memberAs || !(roster instanceof Map) || sender.peerId === connection.peerId) return;
    if (roster.has(sender.peerId)) return;
    if (!sender.socket.closed && isShown(sender, channel) && sender.subscriptions.get(channel) === memberAs)
      ruleBroken(connection, `${what}: its sender is not known on ${channel}`);
    if (sender.node !== connection.node || hasFailed || memberAs.isRevoked || !this.context.wasFine(atMs)) return;
    // One that had not been shown yet need not be shown any more.
    if (!memberAs.presence || (subscription?.rosterMs ?? 0) > atMs || memberAs.rosterMs > atMs - SHOWN_MS) return;
    const { closed } = sender.socket;
    if (closed && closed.code !== 1006 && closed.code !== 1000) return;
    if (this.context.damping.isDamped(connection, channel, sender.peerId)) return;
    ruleBroken(connection, `${what}: its sender has left ${channel} before it`);
  }

  /** Everything that was committed has come. */
  checkComplete(connection: Connection): void {
    for (const subscription of connection.subscriptions.values()) {
      const { channel } = subscription;
      const follow = this.follows.get(subscription);
      if (!follow) {
        if (this.has(channel)) ruleBroken(connection, `${channel} has history, but its ack had no position`);
        continue;
      }
      if (follow.epoch !== this.context.streams.currentOf(connection.app, channel))
        ruleBroken(connection, `it still follows the epoch ${follow.epoch.name} of ${channel}, which has ended`);
      if (follow.replays > 0) ruleBroken(connection, `${follow.replays} replayed messages of ${channel} never came`);
      this.mustHaveAll(connection, follow, follow.epoch.messages.length + 1, `at rest, on ${channel}`);
    }
  }

  /** Whether a connection may be closed to resynchronise: an epoch that it has followed, or asked for, has ended. */
  mayResync(connection: Connection): boolean {
    // A channel that it is leaving still counts for the nodes.
    const isRemoved = (channel: string): boolean =>
      this.context.nowMs() - (this.removedMs.get(`${connection.app} ${channel}`) ?? 0) < NOTICED_MS;
    for (const { leaves } of connection.unanswered.values()) if (leaves !== undefined && isRemoved(leaves)) return true;
    for (const subscription of connection.subscriptions.values()) {
      if (!this.has(subscription.channel)) continue;
      const follow = this.follows.get(subscription);
      const current = this.context.streams.currentOf(connection.app, subscription.channel);
      // What it needs next was trimmed before the node could read it.
      if (follow && follow.last < this.floorOf(subscription.channel, follow.epoch)) return true;
      // The same where its ack waits: how far its node has come is not known.
      if (!follow && current && this.floorOf(subscription.channel, current) > 0) return true;
      if (isRemoved(subscription.channel) || (follow && follow.epoch !== current)) return true;
    }
    return false;
  }

  private positionIn(connection: Connection, { pos }: Received, what: string): { epoch: string; offset: number } {
    const position = this.context.streams.known(pos);
    if (!position) return ruleBroken(connection, `${what}: its position ${String(pos)} is not one of the store`);
    return position;
  }

  private save(connection: Connection, channel: string, position: string): void {
    const { app, peerId, id } = connection;
    const at = this.saved.findIndex((one) => one.connection === id && one.channel === channel);
    const saved = { app, channel, position, peerId, connection: id };
    if (at >= 0) this.saved[at] = saved;
    else this.saved.push(saved);
    if (this.saved.length > SAVED_MAX) this.saved.shift();
  }
}

/** This long after its roster a newcomer is shown to the others. */
const SHOWN_MS = 100;
/** The same if the store was unavailable meanwhile. */
const NOTICED_MS = 10_000;
/** Within this time every node notices that a stream has another epoch. */
const STALE_MS = 3000;

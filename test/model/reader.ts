/** Compares the frames that were written to a connection with what the model expects. The first broken rule throws. */
import type { Entry, Received } from "../../src/realtime/testing/kit.ts";
import { COMMIT_MAX_MS, type Context } from "./context.ts";
import {
  type Connection,
  covers,
  isAsking,
  isLeaving,
  isShown,
  type Message,
  may,
  membersOf,
  type Request,
  type Roster,
  type Subscription,
} from "./model.ts";
import { nameOf, ruleBroken } from "./rule-broken.ts";

/** Without a pong a roster is due 500 ms after its ack. It must not come much earlier. */
const PONG_WAIT_MIN_MS = 400;

/** A peer that leaves and rejoins within a tick is not a newcomer. */
const TICK_MAX_MS = 60;

/** A connection was shown a peer that it did not know in that channel. */
interface Join {
  readonly connection: Connection;
  readonly channel: string;
  readonly peerId: string;
}

export class Reader {
  private joins: Join[] = [];

  constructor(private readonly context: Context) {}

  /** After all have read: a newcomer is shown only when it has its roster, or has sent a message to the connection that is shown it. */
  checkJoins(): void {
    for (const { connection, channel, peerId } of this.joins.splice(0)) {
      const subscriptions = this.context.connections.flatMap((one) =>
        one.app === connection.app && one.peerId === peerId && one.isOpen ? (one.subscriptions.get(channel) ?? []) : [],
      );
      // One that has subscribed again had its roster before.
      const isArriving =
        subscriptions.length > 0 &&
        subscriptions.every(
          ({ roster, rosterMs, presence }) =>
            !presence || (roster === "awaited" && rosterMs === Number.POSITIVE_INFINITY),
        );
      if (!isArriving || this.context.damping.isDamped(connection, channel, peerId)) continue;
      const sinceMs = Math.min(...subscriptions.map(({ ackedAfterMs }) => ackedAfterMs));
      const afterMessage = Math.min(...subscriptions.map((one) => one.afterMessage));
      if (this.hasSentMessage(connection, peerId, afterMessage, sinceMs)) continue;
      if (this.context.damping.hasLeft(connection, channel, peerId, sinceMs - TICK_MAX_MS)) continue;
      ruleBroken(connection, `${peerId} joined ${channel} before its own roster`);
    }
  }

  /**
   * Whether `sender` has published in any channel, or sent a direct message to this peer, since it has subscribed. One that was sent
   * before shows nothing, however late it comes; only with history, a message that was published before may be delivered now.
   */
  private hasSentMessage({ app, peerId }: Connection, sender: string, after: number, sinceMs: number): boolean {
    for (const [number, { connection, channel, to, atMs }] of this.context.messages) {
      if (connection.app !== app || connection.peerId !== sender) continue;
      if (this.context.world.history ? atMs < sinceMs - COMMIT_MAX_MS : number <= after) continue;
      if (channel !== undefined || to === peerId) return true;
    }
    return false;
  }

  /** Reads what was written to a connection since the last time. Returns the answers to sends, which are checked after all have read. */
  read(connection: Connection): [requestId: string, code: string][] {
    const { written } = connection.socket;
    const answers: [string, string][] = [];
    while (connection.read < written.length) {
      const text = written[connection.read++] as string;
      const frame = JSON.parse(text) as Received;
      if (text.includes("private") && frame.type !== "welcome") ruleBroken(connection, `private metadata in ${text}`);
      this.context.count(frame.code ? `error ${frame.code}` : frame.snapshot ? "roster" : frame.type);
      const answer = this.frame(connection, frame);
      if (answer) answers.push(answer);
    }
    return answers;
  }

  private frame(connection: Connection, frame: Received): [string, string] | undefined {
    switch (frame.type) {
      case "ack":
      case "error":
        return this.answer(connection, frame);
      case "message":
      case "direct":
        return this.received(connection, frame);
      case "presence":
        return this.presence(connection, frame);
      case "state":
        return isLeaving(connection, frame.channel ?? "") ? undefined : this.context.states.changed(connection, frame);
      default:
        return ruleBroken(connection, `an unexpected frame: ${JSON.stringify(frame)}`);
    }
  }

  private answer(connection: Connection, frame: Received): [string, string] | undefined {
    const { type, requestId, code } = frame;
    const result = type === "ack" ? "ack" : (code ?? "");
    if (requestId === undefined) {
      // The error at the end of a secret's grace comes before the close; whether it had ended is checked with the close.
      if (result === "token_expired") return undefined;
      // The nodes may end a subscription whose unsubscribe still waits.
      const mayWait = isLeaving(connection) || this.context.isCommitting(connection);
      if (connection.errors.length === 0 && result === "channel_not_authorized" && mayWait) return undefined;
      if (connection.errors.shift() !== result) ruleBroken(connection, `an unexpected error: ${result}`);
      return undefined;
    }
    const request = connection.unanswered.get(requestId);
    if (!request) return ruleBroken(connection, `an unexpected answer to ${requestId}: ${result}`);
    checkOrder(connection, requestId, request);
    connection.unanswered.delete(requestId);
    if (request.expect === "sent") {
      connection.unanswered.set(`${requestId} answered`, request);
      return [`${requestId} answered`, result];
    }
    if (request.sentMs !== undefined && this.context.answers.answered(connection, request, frame)) return undefined;
    const { subscription } = request;
    // An edit of the key has ended the subscription before it was answered.
    const expected = subscription?.isRevoked ? "channel_not_authorized" : request.expect;
    if (expected !== result && !(subscription && this.isRefusedLater(connection, subscription, result)))
      ruleBroken(connection, `${requestId} was answered ${result} instead of ${expected}`);
    for (const { connection: other, subscription: of } of (result === "ack" && request.receivers) || [])
      if (
        request.message !== undefined &&
        other.subscriptions.get(of.channel) === of &&
        !other.received.has(request.message)
      )
        other.due.set(request.message, of.channel);
    if (!subscription || subscription.isRevoked) return undefined;
    // A late ack changes nothing if the client has unsubscribed meanwhile.
    if (connection.subscriptions.get(subscription.channel) !== subscription) return undefined;
    this.context.answers.subscribed(connection, subscription, request, frame);
    subscription.acked = true;
    subscription.ackedAfterMs = this.context.lastReadMs;
    subscription.ackedMs = this.context.nowMs();
    // A ping follows the ack, for the roster.
    if (subscription.mayGainPresence) subscription.presence ||= lastPing(connection) > connection.pings;
    if (!subscription.presence) return undefined;
    this.context.graces.returned(connection, subscription.channel, false);
    this.context.damping.arrived(connection, subscription);
    subscription.roster = "awaited";
    subscription.ping = ++connection.pings;
    return undefined;
  }

  /** A subscribe that waits for messages to be committed is refused by what the key allows when its turn comes. */
  private isRefusedLater(connection: Connection, subscription: Subscription, result: string): boolean {
    if (!this.context.isCommitting(connection)) return false;
    if (subscription.isRevoked) return result === "action_not_permitted";
    // Its unsubscribe waits behind it, or was answered before it: the edit has found nothing to end.
    const isCurrent = connection.subscriptions.get(subscription.channel) === subscription;
    if (isCurrent && !isLeaving(connection, subscription.channel)) return false;
    const isAllowed = may(connection, "subscribe") && covers(connection, subscription.channel);
    // Or it had begun already, and the edit has ended it.
    if (result === "channel_not_authorized") return !isAllowed;
    return result === "action_not_permitted" && !may(connection, "subscribe");
  }

  private received(connection: Connection, frame: Received): undefined {
    const { type, channel, from, fromMetadata, data } = frame;
    const { n: number } = data as { n: number };
    const message = this.context.messages.get(number);
    const what = `${type} ${number} from ${from}`;
    if (!message) return ruleBroken(connection, `${what}, which no one sent`);
    const sender = message.connection;
    if (sender.app !== connection.app) ruleBroken(connection, `${what}: of another application`);
    if (message.channel !== undefined && isLeaving(connection, message.channel)) return undefined;
    if (sender === connection) ruleBroken(connection, `${what}: its own`);
    if (frame.id !== message.id) ruleBroken(connection, `${what}: id ${frame.id} instead of ${message.id}`);
    if (from !== sender.peerId) ruleBroken(connection, `${what}: sent by ${nameOf(sender)}`);
    const isStored = message.channel !== undefined && this.context.histories.has(message.channel);
    if (connection.received.has(number) && !isStored) ruleBroken(connection, `${what}: twice`);
    connection.received.add(number);
    connection.due.delete(number);
    const isSameNode = sender.node === connection.node;
    const sequence = `${sender.number} ${isSameNode ? "" : (message.channel ?? "direct")}`;
    // What waits for a peer to return may come behind what is on its way when it does.
    const isHeldBack = message.to !== undefined && this.context.graces.mayHold(connection.app, message.to);
    const isInOrder = isStored ? this.context.histories.isInOrder(connection, message, number) : !isHeldBack;
    const before = connection.lastMessage.get(sequence) ?? 0;
    if (before > number && isInOrder) ruleBroken(connection, `${what}: after ${before}`);
    connection.lastMessage.set(sequence, Math.max(before, number));
    const subscription = message.channel === undefined ? undefined : connection.subscriptions.get(message.channel);
    if (message.channel === undefined) {
      if (type !== "direct" || message.to !== connection.peerId) ruleBroken(connection, `${what}: for another peer`);
    } else {
      if (type !== "message" || message.channel !== channel)
        ruleBroken(connection, `${what}: on the wrong channel ${channel}`);
      if (!subscription) return ruleBroken(connection, `${what}: on ${channel}, which it does not subscribe to`);
      if (isStored) this.context.histories.received(connection, subscription, frame);
      else if (frame.pos !== undefined) ruleBroken(connection, `${what}: a position on ${channel}, without history`);
      else if (isSameNode && !message.isWaiting && number <= subscription.afterMessage)
        ruleBroken(connection, `${what}: published before it subscribed`);
    }
    const expected = !subscription || subscription.wantsMetadata ? message.metadata : "";
    // A subscribe that waits may change it any time.
    const mayChange =
      this.context.world.history && message.channel !== undefined && isAsking(connection, message.channel);
    if (textOf(fromMetadata) !== expected && !mayChange)
      ruleBroken(connection, `${what}: fromMetadata ${textOf(fromMetadata)}, not ${expected}`);
    if (isStored) this.context.histories.checkKnown(connection, message, frame, what);
    else this.checkKnown(connection, message, number, what);
  }

  /** Pending presence changes of the sender must be shown before its message. */
  private checkKnown(connection: Connection, message: Message, number: number, what: string): void {
    const { connection: sender, channel, wasMember } = message;
    const { peerId } = sender;
    if (peerId === connection.peerId) return;
    for (const subscription of connection.subscriptions.values()) {
      if (!(subscription.roster instanceof Map)) continue;
      const known = subscription.roster.get(peerId);
      if (this.context.isOneNode) {
        const { connections } = this.context;
        const truth = membersOf(connections, connection.app, subscription.channel).get(peerId);
        // One that comes late need not show what its sender has subscribed to since it was sent.
        const before = membersOf(connections, connection.app, subscription.channel, number).get(peerId);
        // The receiver may know an older state of a damped member, but it must know the member.
        const mayBeOld = known !== undefined && this.context.damping.isDamped(connection, subscription.channel, peerId);
        const mayLinger = this.context.graces.possible(connection.app, subscription.channel, peerId).length > 0;
        // A member is shown when it subscribes, and its ack comes when its roster is there.
        const mayBeNew = known !== undefined && isAsking(sender, subscription.channel);
        const mayDiffer = mayBeOld || mayLinger || mayBeNew || this.context.world.history;
        if (known !== truth && known !== before && !mayDiffer)
          ruleBroken(connection, `${what}: it knows ${known} of it on ${subscription.channel}, correct is ${truth}`);
      } else if (known === undefined) {
        const must =
          sender.node === connection.node
            ? isShown(sender, subscription.channel) && !this.isLater(message, number, subscription.channel)
            : wasMember && channel === subscription.channel && !this.context.world.history;
        if (must) ruleBroken(connection, `${what}: not yet known on ${subscription.channel}`);
      }
    }
  }

  /**
   * The sender has subscribed to the channel after this message, which comes late. With history it was perhaps only acked after it:
   * what a connection sends may wait, and its subscribes with it.
   */
  private isLater({ connection: sender, atMs }: Message, number: number, channel: string): boolean {
    const subscription = sender.subscriptions.get(channel);
    if (!subscription) return false;
    if (this.context.world.history && subscription.ackedMs > atMs) return true;
    return subscription.afterMessage >= number;
  }

  private presence(connection: Connection, { channel = "", joined = [], left = [], snapshot }: Received): undefined {
    if (isLeaving(connection, channel)) return undefined;
    const subscription = connection.subscriptions.get(channel);
    if (!subscription?.acked) return ruleBroken(connection, `presence of ${channel}, which it does not subscribe to`);
    if (!subscription.presence) return ruleBroken(connection, `presence of ${channel} without that action`);
    if (snapshot) {
      const isEarly =
        subscription.ping > connection.ponged && this.context.nowMs() - subscription.ackedAfterMs < PONG_WAIT_MIN_MS;
      if (isEarly) ruleBroken(connection, `a roster of ${channel} before the pong behind its ack`);
      subscription.rosterMs = this.context.nowMs();
      this.context.graces.returned(connection, channel, true);
      this.context.states.entries(connection, subscription, joined, true);
      return readRoster(connection, subscription, joined, left);
    }
    const { roster } = subscription;
    if (!(roster instanceof Map)) return ruleBroken(connection, `a change of ${channel} between ack and roster`);
    if (joined.length + left.length === 0) ruleBroken(connection, `an empty change on ${channel}`);
    this.context.states.entries(connection, subscription, joined, false);
    const mayReturn = (peerId: string): boolean => this.context.graces.isCorrespondent(connection, peerId);
    for (const { peerId, metadata } of joined) {
      if (peerId === connection.peerId) ruleBroken(connection, `it was shown itself on ${channel}`);
      this.context.damping.add(connection, channel, peerId, textOf(metadata), mayReturn(peerId));
      if (roster.get(peerId) === textOf(metadata))
        ruleBroken(connection, `${peerId} joined ${channel} twice, unchanged`);
      if (this.context.isOneNode && !roster.has(peerId)) this.joins.push({ connection, channel, peerId });
      this.checkEntry(connection, peerId, metadata);
      roster.set(peerId, textOf(metadata));
    }
    for (const { peerId, metadata } of left) {
      if (!roster.has(peerId)) ruleBroken(connection, `${peerId} left ${channel} without being a member`);
      if (roster.get(peerId) !== textOf(metadata))
        ruleBroken(connection, `${peerId} left ${channel} with other metadata`);
      for (const other of this.lingering(connection, peerId, channel)) {
        if (other.ackedMs > this.context.lastReadMs) continue;
        // Peers that may be in a call are shown its end and its new beginning when one of them comes back.
        if (this.context.graces.isCorrespondent(connection, peerId)) continue;
        ruleBroken(connection, `${peerId} left ${channel}, but still has a connection there`);
      }
      const lingers = this.context.graces.mustLinger(connection.app, channel, peerId);
      if (lingers) ruleBroken(connection, `${peerId} left ${channel}, but is ${lingers.why} until ${lingers.untilMs}`);
      this.context.states.left(subscription, peerId);
      roster.delete(peerId);
      this.context.damping.add(connection, channel, peerId, undefined, mayReturn(peerId));
    }
  }

  /** The subscriptions of a peer's other connections on the same node that are members of a channel. */
  private lingering({ app, node }: Connection, peerId: string, channel: string): Subscription[] {
    return this.context.connections
      .filter((one) => one.app === app && one.peerId === peerId && one.node === node && !one.socket.closed)
      .flatMap((one) => (isShown(one, channel) ? (one.subscriptions.get(channel) ?? []) : []));
  }

  /** A peer of this application must have connected or renewed its token with that metadata. */
  private checkEntry(connection: Connection, peerId: string, metadata: unknown): void {
    const isKnown = this.context.connections.some(
      (one) => one.app === connection.app && one.peerId === peerId && one.shownAs.has(textOf(metadata)),
    );
    if (!isKnown) ruleBroken(connection, `${peerId} ${textOf(metadata)} is shown, but has never been that`);
  }
}

function readRoster(
  connection: Connection,
  subscription: Subscription,
  joined: readonly Entry[],
  left: readonly Entry[],
): undefined {
  if (subscription.roster !== "awaited")
    ruleBroken(connection, `a roster of ${subscription.channel} that it did not ask for`);
  if (left.length > 0) ruleBroken(connection, `a roster of ${subscription.channel} with a peer that left`);
  const roster: Roster = new Map(joined.map(({ peerId, metadata }) => [peerId, textOf(metadata)]));
  if (roster.size < joined.length) ruleBroken(connection, `a peer twice in the roster of ${subscription.channel}`);
  if (roster.has(connection.peerId)) ruleBroken(connection, `itself in its roster of ${subscription.channel}`);
  subscription.roster = roster;
}

/** Subscribes and unsubscribes of one channel are answered in the order in which they were sent. */
function checkOrder(connection: Connection, requestId: string, request: Request): void {
  const channel = channelOf(request);
  if (channel === undefined) return;
  for (const [earlier, other] of connection.unanswered) {
    if (earlier === requestId) return;
    if (channelOf(other) === channel)
      ruleBroken(connection, `${requestId} was answered before ${earlier}, of ${channel}`);
  }
}

/** The channel of a subscribe or an unsubscribe. A state is answered at once. */
const channelOf = ({ subscription, leaves, state }: Request): string | undefined =>
  state === undefined ? (subscription?.channel ?? leaves) : undefined;

const lastPing = ({ socket }: Connection): number => Number(socket.pings.at(-1) ?? 0);

const textOf = (metadata: unknown): string => (metadata === undefined ? "" : JSON.stringify(metadata));

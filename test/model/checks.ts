/** After each act: all connections are read; those that must be closed are, and the others have all that is due. */
import type { Context } from "./context.ts";
import { type Connection, deadlineOf, membersOf, type Roster, type Subscription } from "./model.ts";
import { Reader } from "./reader.ts";
import { nameOf, RuleBroken, ruleBroken } from "./rule-broken.ts";

/** Rosters come at most this long after the ack (protocol, section 5). */
const ROSTER_WAIT_MS = 500;
/** After this time everything that damping held back is shown (protocol, section 5), with some time for ticks. */
const DAMPING_MS = 10_100;
/** This long after the store of history is back, everything that waited for it is done. */
const STORE_BACK_MS = 6000;
/** Microtask turns until the answer to a send is written; more than enough. */
const TURNS = 12;

export class Checks {
  private readonly reader: Reader;
  private closings = 0;
  /** Sends that were acked, and are not received yet. */
  private readonly early: {
    readonly number: number;
    readonly app: string;
    readonly to: string;
    /** When it was sent. */
    readonly atMs: number;
  }[] = [];

  constructor(private readonly context: Context) {
    this.reader = new Reader(context);
  }

  async run(): Promise<void> {
    while (this.context.promised.length > 0) await this.context.promised.pop();
    if (this.context.world.history) await this.context.world.quiet();
    this.readAll();
    if (this.context.world.history) return;
    // On one node too: a send to a peer that was held is answered by a timer, in a later turn.
    const isWaiting = this.context.connections.some((connection) => connection.isOpen && hasSends(connection));
    if (!isWaiting) return;
    for (let i = 0; i < TURNS; i++) await undefined;
    this.readAll();
  }

  private readAll(): void {
    const answers: [Connection, [string, string][]][] = [];
    for (const connection of this.context.connections)
      if (connection.isOpen) answers.push([connection, this.reader.read(connection)]);
    this.reader.checkJoins();
    for (const [connection, own] of answers) this.checkSends(connection, own);
    // Those that expired in the order in which they did: what others are shown of a peer depends on its last connection.
    const open = this.context.open.sort((one, other) => endOf(one) - endOf(other));
    for (const connection of open) this.check(connection);
    this.context.lastReadMs = this.context.nowMs();
  }

  /** A send must be acked if it reached a connection, and answered with peer_not_found if there was none. */
  private checkSends(connection: Connection, answers: readonly [string, string][]): void {
    for (const [requestId, code] of answers) {
      const request = connection.unanswered.get(requestId);
      connection.unanswered.delete(requestId);
      const number = request?.message ?? 0;
      const isReceived = this.context.connections.some((other) => other.received.has(number));
      const stayed = request?.targets?.find((other) => other.isOpen && !other.socket.closed);
      const { to = "", atMs = 0 } = this.context.messages.get(number) ?? {};
      // It may wait on the connection of a peer that is back, until that has its roster.
      if (code === "ack" && !isReceived && this.context.graces.mayHold(connection.app, to)) {
        this.early.push({ number, app: connection.app, to, atMs });
        continue;
      }
      if (code === "ack" ? !isReceived : code !== "peer_not_found" || isReceived || stayed)
        ruleBroken(connection, `send ${number} was answered ${code}; received: ${isReceived}`);
      if (code !== "ack" && this.context.graces.mustHold(connection.app, to))
        ruleBroken(connection, `send ${number} to ${to}, who is held, was answered ${code}`);
    }
  }

  private check(connection: Connection): void {
    const { closed } = connection.socket;
    const now = this.context.nowMs();
    if (closed) return this.ended(connection, closed.code);
    if (connection.mustClose) ruleBroken(connection, `still open, must be closed with ${connection.mustClose}`);
    if (now >= connection.expiresAtMs) ruleBroken(connection, "open past its token's expiry");
    if (now >= (connection.secret?.endsMs ?? now) + 200) ruleBroken(connection, "open past the end of its secret");
    if (connection.errors.length > 0) ruleBroken(connection, `no error came: ${connection.errors.join()}`);
    if (this.context.isOneNode && hasSends(connection, false))
      ruleBroken(connection, "a send was not answered at once");
    // Rosters wait until a client reads.
    if (connection.stalledMs !== undefined) return;
    for (const subscription of connection.subscriptions.values())
      if (
        subscription.roster === "awaited" &&
        now - Math.max(subscription.ackedMs, connection.drainedMs) > ROSTER_WAIT_MS
      )
        ruleBroken(connection, `no roster of ${subscription.channel} ${now - subscription.ackedMs} ms after its ack`);
  }

  private ended(connection: Connection, code: number): void {
    const now = this.context.nowMs();
    // Direct messages that waited for a roster may come between the error and the close.
    const last = connection.socket.written.findLast((text) => !text.startsWith('{"type":"direct"'));
    // One with a request id is the answer to a renewal.
    const hasReason = last?.startsWith('{"type":"error","code":"token_expired"') ?? false;
    const secretEnded = (connection.secret?.endsMs ?? Number.POSITIVE_INFINITY) <= now;
    const isTime = code === 4002 && (hasReason ? secretEnded : connection.expiresAtMs - 250 <= now);
    if (code === 4002 && !isTime)
      ruleBroken(connection, `closed with 4002, ${hasReason ? "but its secret is valid" : "without a reason"}`);
    if (connection.mustClose && connection.mustClose !== code)
      ruleBroken(connection, `closed with ${code}, expected ${connection.mustClose}`);
    const isResync = code === 1001 && this.context.histories.mayResync(connection);
    if (code !== 4002 && !connection.mustClose && !isResync)
      ruleBroken(connection, `closed with ${code} for no reason`);
    this.context.count(`closed ${code}`);
    this.context.graces.ended(connection, code, code === 4002 || code === 1001);
    connection.isOpen = false;
    connection.subscriptions.clear();
    connection.due.clear();
    connection.unanswered.clear();
    this.closings++;
  }

  /**
   * Waits until nothing is in transit and no connection has ended for a while. Then each must know everything, except changes
   * that damping holds back; with `isLast`, those too.
   */
  async settle(isLast = false): Promise<void> {
    this.context.note("settle");
    for (const connection of this.context.open) this.drain(connection);
    const { history } = this.context.world;
    history?.turn("fine", 0);
    while (history && history.badMs + STORE_BACK_MS > this.context.nowMs()) {
      await this.pass(600);
      await this.run();
    }
    await this.untilQuiet();
    if (isLast && this.context.damping.isAnythingDamped) {
      this.context.count("damped at the end");
      await this.pass(DAMPING_MS);
      await this.untilQuiet();
    }
    if (this.context.world.connections !== this.context.open.length)
      throw new RuleBroken(`${this.context.world.connections} connections, ${this.context.open.length} expected`);
    for (const connection of this.context.open) this.checkComplete(connection, isLast);
    this.checkEarly();
  }

  async pass(ms: number): Promise<void> {
    if (this.context.world.history) await this.context.world.pass(ms);
    else this.context.world.advance(ms);
  }

  /** Nothing lingers any more. */
  async untilGone(): Promise<void> {
    const ms = this.context.graces.untilMs - this.context.nowMs();
    if (ms > 0) await this.pass(ms);
    await this.run();
  }

  /** Sends that were acked before they were received have been received, unless a connection of the receiver has ended. */
  private checkEarly(): void {
    for (const { number, app, to, atMs } of this.early.splice(0)) {
      const isReceived = this.context.connections.some((other) => other.received.has(number));
      if (!isReceived && !this.context.graces.hasEndedSince(app, to, atMs - ROSTER_WAIT_MS))
        throw new RuleBroken(`send ${number} to ${to} was acked, but never came`);
    }
  }

  private async untilQuiet(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      const { closings } = this;
      await this.pass(600);
      await this.run();
      quiet = this.closings === closings && this.context.world.underWay === 0 ? quiet + 1 : 0;
    }
  }

  /** The client reads again. */
  drain(connection: Connection): void {
    if (connection.stalledMs === undefined) return;
    this.context.note(`${nameOf(connection)} reads`);
    connection.stalledMs = undefined;
    connection.drainedMs = this.context.nowMs();
    connection.socket.stalled = false;
    connection.socket.read();
  }

  private checkComplete(connection: Connection, isLast: boolean): void {
    for (const [requestId, { message = 0 }] of connection.unanswered) {
      const { to } = this.context.messages.get(message) ?? {};
      if (to !== undefined && this.context.graces.mayHold(connection.app, to)) continue;
      ruleBroken(connection, `${requestId} is not answered`);
    }
    this.context.histories.checkComplete(connection);
    this.context.states.checkComplete(connection);
    for (const [number, channel] of connection.due)
      ruleBroken(connection, `${number} never came, on ${channel || "direct"}`);
    for (const subscription of connection.subscriptions.values()) {
      const { channel, presence, roster } = subscription;
      if (!presence) continue;
      if (!(roster instanceof Map)) return ruleBroken(connection, `no roster of ${channel}`);
      const truth = membersOf(this.context.connections, connection.app, channel);
      truth.delete(connection.peerId);
      this.addLingering(connection, subscription, roster, truth);
      if (!isLast) this.allowDamped(connection, channel, roster, truth);
      const [known, real] = [roster, truth].map((of) => JSON.stringify([...of].sort()));
      if (known !== real) ruleBroken(connection, `on ${channel} it knows ${known}, correct is ${real}`);
    }
  }

  /** Members without a connection: those that must be known, and those that may be. */
  private addLingering({ app, peerId }: Connection, subscription: Subscription, roster: Roster, truth: Roster): void {
    const { channel } = subscription;
    const { graces } = this.context;
    for (const lingering of new Set(graces.peersIn(app, channel))) {
      if (lingering === peerId) continue;
      const known = roster.get(lingering);
      const lingers = graces.mustLinger(app, channel, lingering);
      const possible = graces.possible(app, channel, lingering);
      const isHere = truth.has(lingering);
      if (isHere ? known !== undefined && possible.includes(known) : possible.includes(known ?? NEVER))
        truth.set(lingering, known ?? "");
      else if (!isHere && lingers && !graces.mayBeMissed(lingers, subscription))
        truth.set(lingering, lingers.connection.metadata);
    }
  }

  /** Where damping may hold a change back, what the connection knows counts as correct. */
  private allowDamped(connection: Connection, channel: string, roster: Roster, truth: Roster): void {
    for (const peerId of new Set([...roster.keys(), ...truth.keys()])) {
      const known = roster.get(peerId);
      if (known === truth.get(peerId) || !this.context.damping.isDamped(connection, channel, peerId)) continue;
      this.context.count("held back");
      if (known === undefined) truth.delete(peerId);
      else truth.set(peerId, known);
    }
  }

  /** On the sender's own node messages arrive at once. */
  mustHaveReceived(connection: Connection, receivers: readonly Connection[], number: number): void {
    for (const other of receivers) {
      if (other.node !== connection.node) continue;
      this.checkSends(other, this.reader.read(other));
      if (!other.received.has(number)) ruleBroken(other, `it did not receive ${number} at once`);
    }
  }
}

/** `whichWait`: also those that may wait for a peer that is held. */
const hasSends = (connection: Connection, whichWait = true): boolean => {
  for (const { expect, mayWait } of connection.unanswered.values())
    if (expect === "sent" && (whichWait || !mayWait)) return true;
  return false;
};

/** Unix ms at which it has expired; the others may have ended any time, and come last, in the order they were made. */
const endOf = (connection: Connection): number =>
  connection.socket.closed?.code === 4002 ? deadlineOf(connection) : Number.MAX_SAFE_INTEGER;

/** No metadata. */
const NEVER = "\0";

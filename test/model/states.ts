/** What members say about themselves, and which subscriptions must know it. The first broken rule throws. */
import type { Received } from "../../src/realtime/testing/kit.ts";
import type { Context } from "./context.ts";
import { type Connection, isAsking, isShown, type Subscription } from "./model.ts";
import { ruleBroken } from "./rule-broken.ts";

/** A member as a subscription knows it. */
interface Known {
  /** As JSON; "null" for none. */
  state: string;
  isLost: boolean;
}

const NONE = "null";

export class States {
  /** Subscriptions that have asked for states, and what they know. */
  private readonly known = new WeakMap<Subscription, Map<string, Known>>();
  /** The state of a subscription, as JSON. */
  private readonly own = new WeakMap<Subscription, string>();
  private readonly acceptedMs = new WeakMap<Subscription, number>();
  /** The states that a subscription may have without having set any. */
  private readonly inherited = new WeakMap<Subscription, Set<string>>();
  /** By application, channel and peer: all states there have ever been. */
  private readonly ever = new Map<string, Set<string>>();

  constructor(private readonly context: Context) {}

  /** The last subscribe counts. */
  subscribed(subscription: Subscription, wantsStates: boolean): void {
    if (!wantsStates) this.known.delete(subscription);
    else if (!this.known.has(subscription)) this.known.set(subscription, new Map());
  }

  /** A state was sent: it may be seen from now on. */
  sent({ app, peerId }: Connection, channel: string, json: string): void {
    const name = `${app} ${channel} ${peerId}`;
    this.ever.set(name, (this.ever.get(name) ?? new Set()).add(json));
  }

  accepted(subscription: Subscription, json: string): void {
    this.own.set(subscription, json);
    this.acceptedMs.set(subscription, this.context.nowMs());
  }

  /** A state ends with the presence action, and does not come back with it. */
  withdrawn(subscription: Subscription): void {
    this.accepted(subscription, NONE);
  }

  /** The states that other nodes may know of a member whose node has died: it may have set its own since it was announced. */
  statesBefore({ app, peerId }: Connection, subscription: Subscription, announcedMs: number): ReadonlySet<string> {
    if ((this.acceptedMs.get(subscription) ?? Number.NEGATIVE_INFINITY) < announcedMs)
      return this.statesOf(subscription);
    return new Set([NONE, ...(this.ever.get(`${app} ${subscription.channel} ${peerId}`) ?? [])]);
  }

  /** The state of a subscription; several if it has set none since it came back. */
  statesOf(subscription: Subscription | undefined): ReadonlySet<string> {
    const own = subscription && this.own.get(subscription);
    if (own !== undefined || !subscription) return new Set([own ?? NONE]);
    return new Set([NONE, ...(this.inherited.get(subscription) ?? [])]);
  }

  /** A roster, or a join in a change: its entries have a state for those that asked, and for no one else. */
  entries(connection: Connection, subscription: Subscription, entries: readonly unknown[], isRoster: boolean): void {
    const known = this.known.get(subscription);
    if (isRoster) known?.clear();
    for (const entry of entries as readonly { peerId: string; state?: unknown; lost?: unknown }[]) {
      if (!known && !isAsking(connection, subscription.channel) && ("state" in entry || "lost" in entry))
        ruleBroken(connection, `the state of ${entry.peerId} on ${subscription.channel}, which it did not ask for`);
      const before = known?.get(entry.peerId);
      if (known && (isRoster || "state" in entry || !before)) this.know(connection, subscription, known, entry);
    }
  }

  /** A peer has come back to a channel: until it sets a state, that of its earlier connection may still be shown. */
  inherit(subscription: Subscription, states: ReadonlySet<string>): void {
    this.inherited.set(subscription, new Set([...(this.inherited.get(subscription) ?? []), ...states]));
  }

  left(subscription: Subscription, peerId: string): void {
    this.known.get(subscription)?.delete(peerId);
  }

  private know(
    connection: Connection,
    { channel }: Subscription,
    known: Map<string, Known>,
    { peerId, state = null, lost }: { peerId: string; state?: unknown; lost?: unknown },
  ): void {
    const json = JSON.stringify(state);
    if (json !== NONE && !this.ever.get(`${connection.app} ${channel} ${peerId}`)?.has(json))
      ruleBroken(connection, `the state ${json} of ${peerId} on ${channel}, which it never had`);
    known.set(peerId, { state: json, isLost: lost === true });
  }

  /** A frame of changed states. */
  changed(connection: Connection, frame: Received): undefined {
    const { channel = "" } = frame;
    const changed = frame.changed as readonly { peerId: string; state?: unknown; lost?: unknown }[];
    const subscription = connection.subscriptions.get(channel);
    const known = subscription && this.known.get(subscription);
    if (!known && isAsking(connection, channel)) return undefined;
    if (!subscription?.acked || !known) return ruleBroken(connection, `states of ${channel}, which it did not ask for`);
    if (!subscription.presence) ruleBroken(connection, `states of ${channel} without the presence action`);
    const { roster } = subscription;
    if (!(roster instanceof Map)) return ruleBroken(connection, `states of ${channel} before its roster`);
    if (changed.length === 0) ruleBroken(connection, `an empty change of states on ${channel}`);
    for (const entry of changed) {
      this.context.count(entry.lost ? "lost" : "state of another");
      if (entry.peerId === connection.peerId) continue;
      if (!roster.has(entry.peerId))
        ruleBroken(connection, `the state of ${entry.peerId}, who is no member of ${channel}`);
      this.know(connection, subscription, known, entry);
    }
  }

  /** The state of a member is that of its newest connection in the channel. */
  private possible(app: string, channel: string, peerId: string): ReadonlySet<string> {
    const newest = this.context.connections.findLast(
      (one) => one.app === app && one.peerId === peerId && isShown(one, channel),
    );
    return this.statesOf(newest?.subscriptions.get(channel));
  }

  /** At rest: each knows the newest state of every member, and which of them are lost. */
  checkComplete(connection: Connection): void {
    for (const subscription of connection.subscriptions.values()) {
      const { channel, roster } = subscription;
      const known = this.known.get(subscription);
      if (!known || !(roster instanceof Map)) continue;
      for (const peerId of roster.keys()) this.checkMember(connection, channel, peerId, known.get(peerId));
    }
  }

  private checkMember(connection: Connection, channel: string, peerId: string, known: Known | undefined): void {
    const { app } = connection;
    const { graces, connections } = this.context;
    const isHere = connections.some((one) => one.app === app && one.peerId === peerId && isShown(one, channel));
    const lingers = graces.mustLinger(app, channel, peerId);
    // Neither here nor certain to stay: what is known of it may be old.
    if (!isHere && !lingers) return;
    if (isHere && graces.possible(app, channel, peerId).length > 0) return;
    const possible = (isHere ? undefined : lingers?.states) ?? this.possible(app, channel, peerId);
    if (!possible.has(known?.state ?? ""))
      ruleBroken(
        connection,
        `it knows the state ${known?.state} of ${peerId} on ${channel}, correct is ${[...possible]}`,
      );
    if (isHere && known?.isLost) ruleBroken(connection, `${peerId} is still lost on ${channel}, but has come back`);
    const wasShown = lingers && lingers.sinceMs > (connection.subscriptions.get(channel)?.rosterMs ?? 0);
    const isLost = lingers?.why === "lost" && !graces.mayBeHeld(app, channel, peerId);
    if (!isHere && wasShown && isLost && !known?.isLost)
      ruleBroken(connection, `it was not shown that ${peerId} is lost on ${channel}`);
  }
}

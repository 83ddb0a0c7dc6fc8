/** A key was changed: its connections may do from now on what both their token and the key as it is now allow. */
import type { Grant } from "../access/admit.ts";
import type { Keyring } from "../access/keyring.ts";
import { bitOf } from "../protocol/actions.ts";
import { KEY_REVOKED } from "../protocol/close.ts";
import * as encode from "../protocol/encode.ts";
import type { Boundary } from "./boundary.ts";
import type { Channels } from "./channels.ts";
import type { Clock } from "./clock.ts";
import type { Connections } from "./connections.ts";
import type { Deadlines } from "./deadlines.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import type { Peer } from "./peer.ts";
import type { Subscription } from "./subscription.ts";

const PRESENCE = bitOf("presence");
const SUBSCRIBE = bitOf("subscribe");

/** Channels compared with the key plus subscriptions ended in one turn; ending one takes about 20 µs. */
const STEPS_PER_TURN = 1000;
/** Comparing a name with a hundred costly patterns can take 200 µs: a turn ends after this time, too. */
const TURN_MAX_MS = 20;

export interface KeyChangesParts {
  readonly clock: Clock;
  readonly keyring: Keyring;
  readonly metrics: RealtimeMetrics;
  readonly deadlines: Deadlines;
  readonly boundary: Boundary;
  readonly connections: Connections;
  readonly channels: Channels;
}

/** An edit of a key that is being applied to its connections. */
interface Edit {
  readonly key: Grant["key"];
  readonly peers: readonly Peer[];
  /** The index of the next peer. */
  at: number;
  /** How much may still be done in this turn. */
  stepsLeft: number;
  /** By channel: whether the key covers it. Bound: the channels of these connections. */
  readonly covered: Map<string, boolean>;
}

export class KeyChanges {
  constructor(private readonly parts: KeyChangesParts) {
    parts.keyring.onChange((keyId) => this.apply(keyId));
  }

  private apply(keyId: string): void {
    const { boundary, connections, keyring } = this.parts;
    const peers = connections.ofKey(keyId);
    if (peers.length === 0) return;
    const key = keyring.key(keyId);
    // Without it, the key was revoked.
    if (!key) for (const peer of peers) connections.close(peer, KEY_REVOKED);
    if (!key || key.type === "sealed") return;
    // First what each of them may do: nothing more is allowed while their subscriptions end.
    // A fault on one connection must not leave the others with what the key no longer allows.
    for (const peer of peers) boundary.forPeer("socket", peer, () => this.narrow(peer, key));
    this.endSome({ key, peers, at: 0, stepsLeft: 0, covered: new Map() });
  }

  private narrow(peer: Peer, key: Grant["key"]): void {
    const { clock, deadlines, connections } = this.parts;
    peer.narrowTo(key);
    if (key.type !== "secret") return;
    const secret = key.secrets.find((one) => one.seq === peer.secretSeq);
    peer.secretEndsMs = secret ? secret.ends : 0;
    if (peer.secretEndsMs !== null && peer.secretEndsMs <= clock.nowMs()) return connections.expire(peer);
    deadlines.set(peer);
  }

  /** Ends what the key no longer allows; if that is much, in several turns, so that the event loop is not blocked. */
  private endSome(edit: Edit): void {
    const { boundary, clock } = this.parts;
    const untilMs = clock.monotonicMs() + TURN_MAX_MS;
    edit.stepsLeft = STEPS_PER_TURN;
    for (; edit.at < edit.peers.length && edit.stepsLeft > 0 && clock.monotonicMs() < untilMs; edit.at++) {
      const peer = edit.peers[edit.at];
      // A connection with another scope is already part of a later edit of the key.
      if (peer?.open && peer.keyScope === edit.key.scope)
        boundary.forPeer("socket", peer, () => this.endFor(peer, edit));
    }
    if (edit.at < edit.peers.length) clock.after(0, () => this.endSome(edit));
  }

  private endFor(peer: Peer, edit: Edit): void {
    const { channels } = this.parts;
    for (const subscription of [...peer.subscriptions]) {
      // A fault may have closed the connection meanwhile.
      if (subscription.isEnded) continue;
      const { name } = subscription.channel;
      edit.stepsLeft--;
      if (!peer.may(SUBSCRIBE) || !covers(edit, name)) this.revoke(subscription);
      else if (subscription.member && !peer.may(PRESENCE)) channels.withdrawPresence(subscription);
      else edit.stepsLeft++;
    }
  }

  private revoke(subscription: Subscription): void {
    const { peer, channel } = subscription;
    this.parts.channels.end(subscription, "revoked");
    this.parts.metrics.errors.inc();
    const message = `The key no longer covers the channel ${channel.json}.`;
    peer.socket.send(encode.error("channel_not_authorized", undefined, message));
  }
}

/** Cached, because many connections hold the same channels. Tokens do not change and have let them subscribe: the key alone decides. */
function covers(edit: Edit, channel: string): boolean {
  const { key, covered } = edit;
  let isCovered = covered.get(channel);
  if (isCovered === undefined) {
    isCovered = key.scope.matches(channel);
    covered.set(channel, isCovered);
    edit.stepsLeft--;
  }
  return isCovered;
}

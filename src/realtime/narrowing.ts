/** A key has changed: what its connections may do from now on is what their tokens say and the key as it is. */
import type { Grant } from "../access/admit.ts";
import type { Keyring } from "../access/keyring.ts";
import { bitOf } from "../protocol/actions.ts";
import { type Closing, KEY_REVOKED } from "../protocol/close.ts";
import * as encode from "../protocol/encode.ts";
import type { Boundary } from "./boundary.ts";
import type { Subscription } from "./channel.ts";
import type { Deadlines } from "./deadlines.ts";
import type { Figures } from "./figures.ts";
import type { Peer } from "./peer.ts";
import type { Presence } from "./presence.ts";

const PRESENCE = bitOf("presence");
const SUBSCRIBE = bitOf("subscribe");

export interface NarrowingParts {
  readonly nowMs: () => number;
  readonly errors: Figures["errors"];
  readonly deadlines: Deadlines;
  readonly presence: Presence;
  readonly boundary: Boundary;
  readonly close: (peer: Peer, closing: Closing) => void;
  readonly expire: (peer: Peer) => void;
  readonly drop: (subscription: Subscription) => void;
}

export class Narrowing {
  constructor(private readonly parts: NarrowingParts) {}

  /** `key`: as it is now; undefined: it is revoked. */
  follow(peers: ReadonlySet<Peer>, key: ReturnType<Keyring["key"]>): void {
    const { boundary, close } = this.parts;
    for (const peer of [...peers]) {
      if (!key) close(peer, KEY_REVOKED);
      // A fault on one connection must not leave the others with what the key no longer gives.
      else if (key.type !== "sealed") boundary.forPeer("socket", peer, () => this.narrow(peer, key));
    }
  }

  private narrow(peer: Peer, key: Grant["key"]): void {
    const { nowMs, deadlines, expire } = this.parts;
    peer.narrowTo(key);
    if (key.type === "secret") {
      const secret = key.secrets.find((one) => one.seq === peer.secretSeq);
      peer.secretEndsMs = secret ? secret.ends : 0;
      if (peer.secretEndsMs !== null && peer.secretEndsMs <= nowMs()) return expire(peer);
      deadlines.set(peer);
    }
    for (const subscription of [...peer.subscriptions]) {
      const { name } = subscription.channel;
      if (!peer.may(SUBSCRIBE) || !peer.covers(name)) this.take(subscription);
      else if (subscription.member && !peer.may(PRESENCE)) this.withoutPresence(subscription);
    }
  }

  private take(subscription: Subscription): void {
    const { peer, channel } = subscription;
    this.parts.drop(subscription);
    subscription.isRevoked = true;
    this.parts.errors.inc();
    const message = `The key no longer covers the channel ${channel.json}.`;
    peer.socket.send(encode.error("channel_not_authorized", undefined, message));
  }

  /** It stays subscribed, but neither sees presence nor is shown. */
  private withoutPresence(subscription: Subscription): void {
    this.parts.presence.leave(subscription);
    subscription.member = undefined;
  }
}

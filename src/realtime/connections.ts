/**
 * The connections of this node: making, ending and finding them. Parts that follow the life of a connection (subscriptions,
 * deadlines, liveness) register as observers; this file knows none of them.
 */
import type { Grant } from "../access/admit.ts";
import type { Engine } from "../engine/engine.ts";
import { type Closing, TOKEN_EXPIRED } from "../protocol/close.ts";
import * as encode from "../protocol/encode.ts";
import type { FaultLog } from "../telemetry/faults.ts";
import type { Clock } from "./clock.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import { Peer } from "./peer.ts";
import type { Rates } from "./rates.ts";
import { safely } from "./safely.ts";
import type { Socket } from "./socket.ts";
import type { Space } from "./space.ts";
import type { Spaces } from "./spaces.ts";
import type { Usage } from "./usage.ts";

/** Neither method throws: the other observers must be called too. */
export interface ConnectionObserver {
  connected?(peer: Peer): void;
  /** It is still among its peer id's connections. */
  disconnected(peer: Peer): void;
}

export interface ConnectionsParts {
  readonly spaces: Spaces;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly rates: Rates;
}

export class Connections {
  private readonly byKey = new Map<string, Set<Peer>>();
  private readonly observers: ConnectionObserver[] = [];
  private lastConnectedMs = 0;
  private connected = 0;

  constructor(private readonly parts: ConnectionsParts) {}

  observe(observer: ConnectionObserver): void {
    this.observers.push(observer);
  }

  get count(): number {
    return this.connected;
  }

  *all(): Iterable<Peer> {
    for (const peers of this.byKey.values()) yield* peers;
  }

  /** Those that connected with this key. */
  ofKey(keyId: string): readonly Peer[] {
    return [...(this.byKey.get(keyId) ?? [])];
  }

  connect(grant: Grant, socket: Socket): Peer {
    const { spaces, clock, engine, usage, rates } = this.parts;
    const elsewhere = engine.connections(grant.app);
    const space = spaces.open(grant.app);
    // Later than any before, if only by a microsecond: which connection is the newest must never be a tie.
    this.lastConnectedMs = Math.max(clock.nowMs(), this.lastConnectedMs + 0.001);
    const identity = space.identity(grant.peerId);
    const peer = new Peer(identity, socket, grant, this.lastConnectedMs, clock.monotonicMs(), rates.framesBurst);
    identity.peers.push(peer);
    this.keyPeers(peer.keyId).add(peer);
    for (const observer of this.observers) observer.connected?.(peer);
    usage.connected(space.app, elsewhere);
    try {
      this.countBy(space, 1);
      if (identity.peers.length === 1) engine.hold(space.app, grant.peerId);
      this.welcome(peer, grant);
    } catch (error) {
      // The caller gets no peer that it could end.
      this.disconnect(peer);
      throw error;
    }
    return peer;
  }

  private welcome({ peerId, socket }: Peer, { expiresAtMs, metadataJson }: Grant): void {
    const { clock, metrics } = this.parts;
    metrics.connects.inc();
    const expiresAt = expiresAtMs === null ? null : Math.floor(expiresAtMs / 1000);
    metrics.welcomes.inc();
    socket.send(encode.welcome(peerId, expiresAt, Math.floor(clock.nowMs() / 1000), metadataJson));
  }

  /**
   * Ends everything that a connection holds, without closing its socket; the second call does nothing. It does not throw: a
   * step that fails must not leave the rest behind.
   */
  disconnect(peer: Peer): void {
    if (!peer.open) return;
    peer.open = false;
    const { spaces, engine, usage, faults } = this.parts;
    const { identity, keyId } = peer;
    const { space } = identity;
    for (const observer of this.observers) observer.disconnected(peer);
    identity.peers.splice(identity.peers.indexOf(peer), 1);
    if (identity.peers.length === 0) safely(faults, "socket", () => engine.release(space.app, peer.peerId));
    const sameKey = this.byKey.get(keyId);
    sameKey?.delete(peer);
    if (sameKey?.size === 0) this.byKey.delete(keyId);
    safely(faults, "socket", () => this.countBy(space, -1));
    usage.disconnected(space.app);
    space.forgetIfUnused(identity);
    spaces.forgetIfEmpty(space);
  }

  close(peer: Peer, { code, reason }: Closing): void {
    this.disconnect(peer);
    safely(this.parts.faults, "socket", () => peer.socket.close(code, reason));
  }

  /** Ends it without a close frame: its reader is gone, or does not read. */
  cut(peer: Peer): void {
    this.disconnect(peer);
    peer.socket.terminate();
  }

  /** The time of its token is up, or the grace of the secret that signed it. */
  expire(peer: Peer): void {
    const graceIsOver = peer.secretEndsMs !== null && peer.secretEndsMs <= this.parts.clock.nowMs();
    if (graceIsOver) {
      this.parts.metrics.errors.inc();
      peer.socket.send(encode.error("token_expired"));
    }
    this.close(peer, TOKEN_EXPIRED);
  }

  private countBy(space: Space, by: 1 | -1): void {
    space.connections += by;
    this.connected += by;
    this.parts.engine.counted(space.app, space.connections);
  }

  private keyPeers(keyId: string): Set<Peer> {
    let peers = this.byKey.get(keyId);
    if (!peers) {
      peers = new Set();
      this.byKey.set(keyId, peers);
    }
    return peers;
  }
}

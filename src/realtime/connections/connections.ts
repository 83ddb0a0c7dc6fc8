/**
 * The connections of this node: making, ending and finding them. Parts that follow the life of a connection (subscriptions,
 * deadlines, liveness) register as observers; this file knows none of them.
 */
import { bringsTurn, type Grant } from "../../access/admission/admit.ts";
import { isInvited } from "../../access/tokens/guests.ts";
import type { Address } from "../../base/address.ts";
import type { Clock } from "../../base/clock.ts";
import { guestsOf, type SpaceId } from "../../base/ids.ts";
import type { Engine } from "../../engine/engine.ts";
import { type Closing, type Departure, FAULT, TOKEN_EXPIRED } from "../../protocol/close.ts";
import * as encode from "../../protocol/encode.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Usage } from "../counting/usage.ts";
import type { Emitter } from "../events/emitter.ts";
import { Connection } from "../state/connection.ts";
import { departureByClient, departureByService, oldestFirst } from "../state/departure.ts";
import type { Peer } from "../state/peer.ts";
import type { Socket } from "../state/socket.ts";
import type { Space } from "../state/space.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Subscription } from "../state/subscription.ts";
import { ConnectionTimes } from "./connection-times.ts";
import type { Holds } from "./holds.ts";
import { bringsIceServers, type IceServersOf, withIceServers } from "./ice-servers.ts";
import { KickTimes } from "./kick-times.ts";

/** Neither method throws: the other observers must be called too. */
export interface ConnectionObserver {
  connected?(connection: Connection): void;
  /** Called while the connection is still in `peer.connections`. `reason`: of the close frame, which a client may have written. */
  disconnected(connection: Connection, code: number, reason: string): void;
}

interface ConnectionsParts {
  readonly spaces: Spaces;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly emitter: Emitter;
  readonly holds: Holds;
  /** For keys with `turn` and for people in rooms; absent: there are none. */
  readonly iceServersOf?: IceServersOf | undefined;
}

/** What a client sees of a connection that ends without a close frame (RFC 6455, 7.1.5). */
const NO_CLOSE_FRAME = 1006;

export class Connections {
  /**
   * In no order: a connection knows its index here, so that removing it takes constant time. A set would take 40 bytes for each.
   * Bound: one per connection.
   */
  private readonly byKey = new Map<string, Connection[]>();
  /** Bound: registered when the node is built. */
  private readonly observers: ConnectionObserver[] = [];
  readonly times: ConnectionTimes;
  readonly kickTimes: KickTimes;
  private connected = 0;

  constructor(private readonly parts: ConnectionsParts) {
    this.times = new ConnectionTimes(parts.clock);
    this.kickTimes = new KickTimes(this.times);
  }

  observe(observer: ConnectionObserver): void {
    this.observers.push(observer);
  }

  get count(): number {
    return this.connected;
  }

  /** In no order. The caller copies them before it ends any. */
  *all(): Iterable<Connection> {
    for (const connections of this.byKey.values()) yield* connections;
  }

  /** The connections that were made with this key, or with a token of it, oldest first. */
  ofKey(keyId: string): readonly Connection[] {
    return oldestFirst(this.byKey.get(keyId) ?? []);
  }

  countOfKey(keyId: string): number {
    return this.byKey.get(keyId)?.length ?? 0;
  }

  connect(grant: Grant, socket: Socket, client: Address): Connection {
    const { spaces, clock, engine, usage, emitter, holds } = this.parts;
    const space = spaces.open(grant.spaceId);
    const elsewhere = engine.connections(space.owner);
    const peer = space.peer(grant.peerId);
    const connectedMs = this.times.next(Math.max(peer.newestMs, this.kickTimes.last(grant.spaceId, grant.peerId)));
    const connection = new Connection(peer, socket, grant, connectedMs, clock.monotonicMs(), client);
    peer.addConnection(connection);
    holds.end(grant.spaceId, grant.peerId);
    this.addToKey(connection);
    for (const observer of this.observers) observer.connected?.(connection);
    usage.connected(space.owner, elsewhere);
    emitter.connected(connection);
    try {
      this.countBy(space, 1);
      if (grant.seat && !isInvited(grant.seat.claims)) this.addGuest(connection);
      if (peer.onlyConnection) engine.serve(space.id, grant.peerId);
      this.welcome(connection, grant, clock.wallMs());
    } catch (error) {
      // The caller gets no connection that it could end.
      this.disconnect(connection, FAULT.code, "goodbye");
      throw error;
    }
    return connection;
  }

  private welcome({ peerId, socket, id, client }: Connection, grant: Grant, nowMs: number): void {
    const { metrics } = this.parts;
    const { expiresAtMs } = grant;
    const metadataJson = bringsTurn(grant) ? this.metadataWithTurn(grant, client) : grant.metadataJson;
    metrics.connects.inc();
    const expiresAt = expiresAtMs === null ? null : Math.floor(expiresAtMs / 1000);
    metrics.welcomes.inc();
    socket.send(encode.welcome(peerId, expiresAt, Math.floor(nowMs / 1000), metadataJson, id, socket.session));
  }

  /** A connection of a room goes on with another token: the credentials of the one before end with that. Others get nothing again (protocol.md 2). */
  renewedMetadata({ client }: Connection, grant: Grant): string | undefined {
    return grant.seat && bringsTurn(grant) ? this.metadataWithTurn(grant, client) : undefined;
  }

  private metadataWithTurn(grant: Grant, client: Address): string | undefined {
    const { metadataJson } = grant;
    if (metadataJson !== undefined && bringsIceServers(metadataJson)) return metadataJson;
    const iceServers = this.parts.iceServersOf?.(grant, client);
    return iceServers === undefined ? metadataJson : withIceServers(metadataJson, iceServers);
  }

  /**
   * Ends everything that a connection holds, without closing its socket; the second call does nothing. Never throws: a
   * step that fails must not prevent the next ones. `code` says why it ended, `departure` what that means for its memberships;
   * without it the client has ended the connection, or its network.
   */
  disconnect(connection: Connection, code: number, departure: Departure = departureByClient(code), reason = ""): void {
    if (!connection.open) return;
    connection.end(departure);
    const { spaces, usage, emitter, holds } = this.parts;
    const { peer, keyId } = connection;
    const { space } = peer;
    // What is sent to a peer that is connected to another node must not wait because this one expects it back.
    const isElsewhere = connection.hasSubscription(isMemberElsewhere);
    emitter.closed(connection, code);
    for (const observer of this.observers) observer.disconnected(connection, code, reason);
    peer.removeConnection(connection);
    if (!peer.isConnected && (isElsewhere || !holds.disconnected(connection))) this.release(peer);
    this.removeOfKey(keyId, connection);
    usage.disconnected(space.owner);
    this.countEnd(space);
    if (space.guests?.delete(connection)) safely(this.parts.faults, "socket", () => this.countGuests(space));
    space.forgetIfUnused(peer);
    spaces.forgetIfEmpty(space);
  }

  private release({ space, peerId }: Peer): void {
    this.releasePeer(space.id, peerId);
  }

  private releasePeer(spaceId: SpaceId, peerId: string): void {
    safely(this.parts.faults, "socket", () => this.parts.engine.release(spaceId, peerId));
  }

  /** A connection that the engine was prepared for may not have been made. */
  endPreparation(spaceId: SpaceId, peerId: string): void {
    const { spaces, holds } = this.parts;
    if (!spaces.peer(spaceId, peerId)?.isConnected && !holds.isHeld(spaceId, peerId)) this.releasePeer(spaceId, peerId);
  }

  private countEnd(space: Space): void {
    try {
      this.countBy(space, -1);
    } catch (error) {
      this.parts.faults.caught("socket", error);
    }
  }

  /** The connection goes on with another token, which another key may have signed. */
  renew(connection: Connection, grant: Grant): void {
    const { keyId } = connection;
    connection.renewTo(grant);
    if (connection.keyId === keyId) return;
    this.removeOfKey(keyId, connection);
    this.addToKey(connection);
  }

  close(connection: Connection, closing: Closing): void {
    const { code, reason } = closing;
    this.disconnect(connection, code, departureByService(closing), reason);
    safely(this.parts.faults, "socket", () => connection.socket.close(code, reason));
  }

  /** Ends a connection without a close frame, because its client is gone or does not read. */
  cut(connection: Connection): void {
    this.disconnect(connection, NO_CLOSE_FRAME, "lost");
    connection.socket.terminate();
  }

  /** Called when the token has expired, or the grace period of the secret that signed it. */
  expire(connection: Connection): void {
    const graceIsOver = connection.secretEndsMs !== null && connection.secretEndsMs <= this.parts.clock.wallMs();
    if (graceIsOver) {
      this.parts.metrics.errors.inc();
      connection.socket.send(encode.error("token_expired"));
      this.parts.emitter.failed(connection, "token_expired", undefined);
    }
    this.close(connection, TOKEN_EXPIRED);
  }

  private countBy(space: Space, by: 1 | -1): void {
    space.connectionCount += by;
    space.counters.connections += by;
    this.connected += by;
    this.parts.engine.counted(space.owner, space.usage.connections);
  }

  /** A reader of a stream over HTTP is counted as a connection of its application. */
  readerCame(spaceId: SpaceId): void {
    const { spaces, usage, engine } = this.parts;
    const space = spaces.open(spaceId);
    usage.connected(space.owner, engine.connections(space.owner));
    this.countBy(space, 1);
  }

  readerLeft(spaceId: SpaceId): void {
    const { spaces, usage } = this.parts;
    const space = spaces.open(spaceId);
    usage.disconnected(space.owner);
    this.countEnd(space);
    spaces.forgetIfEmpty(space);
  }

  /** What it is counted as stays the same when its token is renewed. */
  private addGuest(connection: Connection): void {
    const { space } = connection.peer;
    space.guests ??= new Set();
    space.guests.add(connection);
    this.countGuests(space);
  }

  private countGuests({ owner, guests }: Space): void {
    this.parts.engine.counted(guestsOf(owner), guests?.size ?? 0);
  }

  private removeOfKey(keyId: string, connection: Connection): void {
    const connections = this.byKey.get(keyId);
    const { keyIndex } = connection;
    if (connections?.[keyIndex] !== connection) return;
    connection.keyCounters.connections--;
    const last = connections.pop();
    if (last && last !== connection) {
      connections[keyIndex] = last;
      last.keyIndex = keyIndex;
    }
    if (connections.length === 0) this.byKey.delete(keyId);
  }

  private addToKey(connection: Connection): void {
    const connections = this.byKey.get(connection.keyId);
    connection.keyCounters = this.parts.metrics.traffic.keys.of(connection.peer.space.owner, connection.keyId);
    connection.keyCounters.connections++;
    connection.keyIndex = connections ? connections.push(connection) - 1 : 0;
    if (!connections) this.byKey.set(connection.keyId, [connection]);
  }
}

const isMemberElsewhere = ({ member }: Subscription): boolean => member?.isElsewhere === true;

/**
 * Decides which connect attempts become connections, and turns Bun's socket events into calls of the realtime parts. Checks run
 * in the order of the protocol; a refusal is an HTTP answer, before any upgrade.
 */
import type { ServerWebSocket, WebSocketHandler } from "bun";
import { type Address, rateKey } from "../access/address.ts";
import { admit, type Grant, Refusal } from "../access/admit.ts";
import type { Blocks } from "../access/blocks.ts";
import type { KeyRate } from "../access/coverage.ts";
import type { Keyring } from "../access/keyring.ts";
import type { Follower } from "../access/store-follower.ts";
import type { Throttle } from "../access/throttle.ts";
import type { Claim, Engine } from "../engine/engine.ts";
import { FAULT, GOING_AWAY, OVER_CONCURRENT } from "../protocol/close.ts";
import { CODES, type Code, Problem } from "../protocol/codes.ts";
import * as encode from "../protocol/encode.ts";
import { FRAME_MAX_BYTES, RETRY_AFTER_MS, WEBSOCKET_VERSION } from "../protocol/limits.ts";
import type { FaultLog } from "../telemetry/faults.ts";
import type { Clock } from "./clock.ts";
import type { Dispatch } from "./dispatch.ts";
import type { Hub } from "./hub.ts";
import { REFUSED_CONNECT_COST } from "./limits.ts";
import type { RealtimeMetrics } from "./metrics.ts";
import { Peer } from "./peer.ts";
import { safely } from "./safely.ts";
import type { Socket } from "./socket.ts";

/** Until a socket opens: its grant, and its claim on the application's capacity, if that is limited. */
interface Pending {
  readonly grant: Grant;
  readonly claim?: Claim | undefined;
  readonly isOverCap?: boolean;
}

/** What a socket carries: its grant until it opens, then its peer; nothing if it was over the cap. */
export type SocketData = Pending | Peer | undefined;

export interface GatewayParts {
  readonly hub: Hub;
  readonly engine: Engine;
  readonly dispatch: Dispatch;
  readonly keyring: Keyring;
  readonly blocks: Blocks;
  readonly connects: Throttle;
  /** The same as for REST: a token that is costly to check is paid for by its key, and by the client's address. */
  readonly keyRate: KeyRate;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly clock: Clock;
  readonly maxPendingBytes: number;
  /** undefined: no other node can change keys. */
  readonly news: Follower | undefined;
}

/** What the gateway needs to know of a request to `/v1`. */
export interface ConnectAttempt {
  /** Without the question mark. It holds the credential. */
  readonly query: string;
  readonly origin: string | null;
  readonly client: Address;
  /** false: a plain GET, which is answered like a WebSocket that is refused. Browsers do not show why theirs was. */
  readonly wantsWebSocket: boolean;
  /** Sec-WebSocket-Version. */
  readonly version: string | null;
  /** Makes it a WebSocket that carries `data`; false if the handshake is malformed. */
  readonly upgrade: (data: SocketData) => boolean;
}

const DRAIN_STEP_MS = 50;
/** A node with few connections drains faster than the time it is given. */
const DRAIN_PER_SECOND_MIN = 500;

/** A client may close with any number: unknown ones share one series in the metrics. */
const CLOSE_CODES = new Set([1000, 1001, 1002, 1003, 1005, 1006, 1007, 1008, 1009, 1011, 4001, 4002, 4010, 4011, 4020]);

export class Gateway {
  private draining = false;

  constructor(private readonly parts: GatewayParts) {}

  get isDraining(): boolean {
    return this.draining;
  }

  /** true: it becomes a connection. Otherwise throws why not; also for a plain GET that would have been let in. */
  connect(attempt: ConnectAttempt): true | Promise<true> {
    this.refuseIfDraining();
    const { connects, news } = this.parts;
    const address = rateKey(attempt.client);
    const wait = connects.take(address);
    if (wait > 0) throw this.refused("rate_limited", "Too many connects from this address.", wait);
    const admitted = this.admit(attempt);
    // Charged before anything is waited for: other attempts from that address may come meanwhile.
    if (isRefused(admitted)) connects.charge(address, REFUSED_CONNECT_COST - 1);
    return news && admitted instanceof Refusal && admitted.isPerhapsEarly
      ? this.retry(attempt, news)
      : this.enter(attempt, admitted);
  }

  /** Another node may have made or changed the key a moment ago: no one is refused before that is known. */
  private async retry(attempt: ConnectAttempt, news: Follower): Promise<true> {
    const isKnown = await news.catchUp();
    this.refuseIfDraining();
    const admitted = this.admit(attempt);
    if (!isKnown || !isRefused(admitted)) this.parts.connects.charge(rateKey(attempt.client), 1 - REFUSED_CONNECT_COST);
    if (admitted instanceof Refusal && !isKnown)
      throw this.refused("internal_error", "This credential cannot be checked at the moment; try again.", 1);
    return this.enter(attempt, admitted);
  }

  private refuseIfDraining(): void {
    if (this.draining) throw this.refused("internal_error", "This node is shutting down; try again.", 1);
  }

  private enter(attempt: ConnectAttempt, grant: Grant | Refusal): true | Promise<true> {
    if (grant instanceof Refusal) throw this.refused(grant.code, undefined, grant.retryAfterSeconds);
    if (!attempt.wantsWebSocket) throw new Problem("upgrade_required");
    // Bun would answer this itself, without a reason.
    if (attempt.version !== WEBSOCKET_VERSION)
      throw this.refused(
        "upgrade_required",
        `The credential is good, but this service speaks WebSocket version ${WEBSOCKET_VERSION} only (Sec-WebSocket-Version).`,
      );
    const cap = this.parts.keyring.app(grant.app)?.maxConcurrentConnections ?? null;
    if (cap === null) return this.upgrade(attempt, { grant });
    const claim = this.parts.engine.claim(grant.app, cap);
    return claim instanceof Promise
      ? claim.then((found) => this.claimed(attempt, found))
      : this.upgradeCapped(attempt, grant, claim);
  }

  /** While other nodes answered, the key may have been revoked or narrowed, and the peer blocked. */
  private claimed(attempt: ConnectAttempt, claim: Claim | undefined): true {
    const grant = this.admit(attempt);
    if (!(grant instanceof Refusal)) return this.upgradeCapped(attempt, grant, claim);
    claim?.end();
    throw this.refused(grant.code, undefined, grant.retryAfterSeconds);
  }

  private upgradeCapped(attempt: ConnectAttempt, grant: Grant, claim: Claim | undefined): true {
    try {
      this.refuseIfDraining();
      return this.upgrade(attempt, { grant, claim, isOverCap: claim === undefined });
    } catch (error) {
      claim?.end();
      throw error;
    }
  }

  private upgrade({ upgrade }: ConnectAttempt, pending: Pending): true {
    if (upgrade(pending)) return true;
    throw this.refused("invalid_request", "The WebSocket handshake is malformed.");
  }

  private admit(attempt: ConnectAttempt): Grant | Refusal {
    const { connects, clock } = this.parts;
    const admitted = admit(attempt, this.parts, clock.nowMs());
    // A self-signed token with costly patterns must not be a cheap way to use up our CPU.
    if (admitted.extraConnects > 0) connects.charge(rateKey(attempt.client), admitted.extraConnects);
    return admitted;
  }

  private refused(code: Code, message?: string, retryAfterSeconds?: number): Problem {
    this.parts.metrics.refused({ code }).inc();
    return new Problem(code, message, retryAfterSeconds);
  }

  /**
   * Bun's handlers and limits for every socket. An exception that left a handler would end the process, so each of them is a
   * boundary: the socket that it happened on is closed with 1011.
   */
  handlers(): WebSocketHandler<SocketData> {
    return {
      open: (ws) => {
        try {
          this.opened(ws);
        } catch (error) {
          this.failed(ws, "open", error);
        }
      },
      message: (ws, message) => {
        const peer = ws.data;
        if (!(peer instanceof Peer)) return;
        try {
          if (typeof message === "string") this.parts.dispatch.text(peer, message);
          else this.parts.dispatch.binary(peer, message.length);
        } catch (error) {
          this.failed(ws, "message", error);
        }
      },
      ping: (ws) => {
        if (!(ws.data instanceof Peer)) return;
        try {
          this.parts.dispatch.controlPing(ws.data);
        } catch (error) {
          this.failed(ws, "ping", error);
        }
      },
      pong: (ws, payload) => {
        if (!(ws.data instanceof Peer)) return;
        try {
          this.parts.dispatch.controlPong(ws.data, payload);
        } catch (error) {
          this.failed(ws, "pong", error);
        }
      },
      drain: (ws) => {
        try {
          if (ws.data instanceof Peer && ws.data.open) this.parts.hub.presence.drained(ws.data);
        } catch (error) {
          this.failed(ws, "drain", error);
        }
      },
      close: (ws, code) => {
        try {
          this.closed(ws, code);
        } catch (error) {
          this.failed(ws, "close", error);
        }
      },
      sendPings: false,
      // Liveness is our own (liveness.ts), and its pings keep this timer from ever running out. Bun also uses it as the time
      // it waits for the other side after a close: if it were too short, a client that is still sending would get a reset
      // and never read the close code.
      idleTimeout: 120,
      maxPayloadLength: FRAME_MAX_BYTES,
      perMessageDeflate: false,
      // A slow reader is cut: leaving messages out would be a silent gap.
      backpressureLimit: this.parts.maxPendingBytes,
      closeOnBackpressureLimit: true,
    };
  }

  private opened(ws: ServerWebSocket<SocketData>): void {
    const pending = ws.data;
    if (!pending || pending instanceof Peer) return;
    if (pending.isOverCap) {
      ws.data = undefined;
      ws.close(OVER_CONCURRENT.code, OVER_CONCURRENT.reason);
      return;
    }
    try {
      ws.data = this.parts.hub.connections.connect(pending.grant, ws as Socket);
    } finally {
      pending.claim?.end();
    }
  }

  private failed(ws: ServerWebSocket<SocketData>, event: string, error: unknown): void {
    const { hub, faults } = this.parts;
    if (ws.data instanceof Peer) return hub.boundary.peerFailed("socket", ws.data, error, { event });
    faults.caught("socket", error, { event });
    safely(faults, "socket", () => ws.close(FAULT.code, FAULT.reason));
  }

  private closed(ws: ServerWebSocket<SocketData>, code: number): void {
    const { hub, metrics } = this.parts;
    metrics.closes({ code: CLOSE_CODES.has(code) ? String(code) : "other" }).inc();
    if (!(ws.data instanceof Peer)) return;
    // The runtime does not say that it cut a slow reader: a connection that ends so while writes wait counts as one.
    if (ws.data.open && code === 1006 && hub.delivery.isUnderPressure) metrics.slowCuts.inc();
    hub.connections.disconnect(ws.data);
  }

  /** Refuses new connections and closes those that are open, one after the other, within the time. */
  async drain(withinMs: number): Promise<void> {
    this.draining = true;
    const { clock, faults, metrics } = this.parts;
    const { connections } = this.parts.hub;
    const peers = [...connections.all()];
    const paceMs = Math.min(withinMs, (peers.length / DRAIN_PER_SECOND_MIN) * 1000);
    const steps = Math.max(1, Math.floor(paceMs / DRAIN_STEP_MS));
    const perStep = Math.ceil(peers.length / steps);
    for (let at = 0; at < peers.length; at += perStep) {
      for (const peer of peers.slice(at, at + perStep)) {
        if (!peer.open) continue;
        metrics.goingAways.inc();
        safely(faults, "socket", () => peer.socket.send(encode.goingAway(RETRY_AFTER_MS)));
        connections.close(peer, GOING_AWAY);
      }
      if (at + perStep < peers.length) await new Promise<void>((resolve) => clock.after(DRAIN_STEP_MS, resolve));
    }
  }
}

/** The credential itself is refused, not for a reason of our own. */
const isRefused = (admitted: Grant | Refusal): boolean =>
  admitted instanceof Refusal && CODES[admitted.code].status === 401;

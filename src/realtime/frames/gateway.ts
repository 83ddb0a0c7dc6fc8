/**
 * Decides which connect attempts become WebSockets. Checks run in the order of the protocol; a refusal is an HTTP response, before
 * any upgrade. When the node stops, the gateway refuses all attempts and closes the open connections.
 */
import { type AdmitParts, admit, type Grant, keyIdOf, Refusal } from "../../access/admission/admit.ts";
import type { Follower } from "../../access/admission/store-follower.ts";
import { isLiveRoomToken } from "../../access/keys/app-secret.ts";
import { isInvited } from "../../access/tokens/guests.ts";
import type { RoomSeat } from "../../access/tokens/room-token.ts";
import type { KnownOfClient } from "../../access/tokens/token-refusal.ts";
import type { Address } from "../../base/address.ts";
import type { Clock } from "../../base/clock.ts";
import { appOfSpace } from "../../base/ids.ts";
import type { Throttle } from "../../base/throttle.ts";
import type { Claim, Engine } from "../../engine/engine.ts";
import { GOING_AWAY } from "../../protocol/close.ts";
import { type Code, Problem } from "../../protocol/codes.ts";
import * as encode from "../../protocol/encode.ts";
import { HOLD_MS, RETRY_AFTER_MS, WEBSOCKET_VERSION } from "../../protocol/limits.ts";
import { StoreUnreachable } from "../../store/contract/store.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import { ConnectCosts, isRefused } from "../connections/connect-costs.ts";
import type { Connections } from "../connections/connections.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import type { ExpectedBack } from "../control/expected-back.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { ReachedQuotas } from "../counting/reached-quotas.ts";
import type { Emitter } from "../events/emitter.ts";
import { oldestFirst } from "../state/departure.ts";
import { claimForGuest } from "./guest-claims.ts";
import type { PendingSocket, SocketData } from "./socket-handlers.ts";
import { StaleCheck } from "./stale-check.ts";

/** `keyRate` is the same as for REST: a token that is costly to check is paid for by its key, and by the client's address. */
interface GatewayParts extends AdmitParts {
  readonly connections: Connections;
  readonly emitter: Emitter;
  readonly expectedBack: Pick<ExpectedBack, "holdUntilMs">;
  readonly engine: Engine;
  readonly connects: Throttle;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly clock: Clock;
  /** `undefined` if no other node can change keys. */
  readonly storeFollower: Follower | undefined;
  readonly roomHooks: RoomHooks;
  readonly reachedQuotas: ReachedQuotas;
  readonly room: Room;
}

/** Whether this process can hold one more connection: each is an open file. */
export interface Room {
  hasRoom(): boolean;
}

/** What the gateway needs to know of a request to `/v1`. */
export interface ConnectAttempt {
  /** Without the question mark. Contains the credential. */
  readonly query: string;
  readonly origin: string | null;
  readonly client: Address;
  /** False for a plain GET, which gets the response of a refused WebSocket: browsers do not show why theirs was refused. */
  readonly wantsWebSocket: boolean;
  /** Sec-WebSocket-Version. */
  readonly version: string | null;
  /** Upgrades the request to a WebSocket that carries `data`; returns false if the handshake is malformed. */
  upgrade(data: SocketData): boolean;
}

const DRAIN_STEP_MS = 50;
/** A node with few connections drains faster than the time it is given. */
const DRAIN_PER_SECOND_MIN = 500;

/** How long clients of a full node should wait: it has room again when others leave. */
const FULL_RETRY_SECONDS = 5;
const FULL = "This node has reached its connection limit. Try again.";
const CANNOT_BE_CHECKED = "This credential cannot be checked at the moment. Try again.";
const ROOM_NOT_REACHED = "The room cannot be entered at the moment. Try again.";
const WRONG_VERSION = `The credential is valid, but this service supports only WebSocket version ${WEBSOCKET_VERSION} (Sec-WebSocket-Version).`;

export class Gateway {
  private draining = false;
  private readonly costs: ConnectCosts;

  constructor(private readonly parts: GatewayParts) {
    this.costs = new ConnectCosts(parts.connects);
  }

  get isDraining(): boolean {
    return this.draining;
  }

  /** Returns true if the attempt becomes a connection, otherwise throws why not, also for a plain GET that would be admitted. */
  connect(attempt: ConnectAttempt): true | Promise<true> {
    this.refuseIfDraining(attempt);
    const { storeFollower, room } = this.parts;
    if (!room.hasRoom()) throw this.refused(attempt, "internal_error", FULL, FULL_RETRY_SECONDS);
    const wait = this.costs.take(attempt.client);
    if (wait > 0) throw this.refused(attempt, "rate_limited", "Too many connects from this address.", wait);
    const admitted = this.admit(attempt);
    // Charged before anything is waited for: other attempts from that address may come meanwhile.
    if (isRefused(admitted)) this.costs.chargeRefusal(attempt.client);
    return storeFollower && admitted instanceof Refusal && admitted.mayBeStale
      ? this.retry(attempt, storeFollower, admitted)
      : this.enter(attempt, admitted);
  }

  /** Another node may have made or changed the key a moment ago: no one is refused before that is known. */
  private async retry(attempt: ConnectAttempt, storeFollower: Follower, before: Refusal): Promise<true> {
    const staleCheck = new StaleCheck(before, this.parts);
    const isKnown = await storeFollower.catchUp();
    this.refuseIfDraining(attempt);
    const admitted = staleCheck.decide(attempt.client, this.costs, () => this.admit(attempt));
    if (!isKnown || !isRefused(admitted)) this.costs.giveRefusalBack(attempt.client);
    if (admitted instanceof Refusal && !isKnown)
      throw this.refused(attempt, "internal_error", CANNOT_BE_CHECKED, 1, admitted.known);
    return this.enter(attempt, admitted);
  }

  private refuseIfDraining(attempt: ConnectAttempt): void {
    if (this.draining) throw this.refused(attempt, "internal_error", "This node is shutting down; try again.", 1);
  }

  private enter(attempt: ConnectAttempt, grant: Grant | Refusal): true | Promise<true> {
    if (grant instanceof Refusal) throw this.notAdmitted(attempt, grant);
    const { seat } = grant;
    if (!attempt.wantsWebSocket) {
      if (seat) return this.wouldEnterRoom(attempt, grant, seat);
      throw new Problem("upgrade_required");
    }
    // Bun would answer this itself, without a reason.
    if (attempt.version !== WEBSOCKET_VERSION)
      throw this.refused(attempt, "upgrade_required", WRONG_VERSION, undefined, knownOf(grant));
    const prepared = this.parts.engine.prepare?.(grant.spaceId, grant.peerId);
    return prepared ? this.whenPrepared(attempt, grant, prepared) : this.claimAndUpgrade(attempt, grant);
  }

  /** The peer has a connection on another node. While the nodes are notified, the key may have been revoked, and the peer blocked. */
  private async whenPrepared(
    attempt: ConnectAttempt,
    { spaceId, peerId }: Grant,
    prepared: Promise<void>,
  ): Promise<true> {
    try {
      await prepared;
      this.refuseIfDraining(attempt);
      const grant = this.admit(attempt);
      if (grant instanceof Refusal) throw this.notAdmitted(attempt, grant);
      return await this.claimAndUpgrade(attempt, grant);
    } finally {
      this.parts.connections.endPreparation(spaceId, peerId);
    }
  }

  private claimAndUpgrade(attempt: ConnectAttempt, grant: Grant): true | Promise<true> {
    const app = appOfSpace(grant.spaceId);
    const cap = this.parts.keyring.app(app)?.maxConcurrentConnections ?? null;
    if (cap === null) return this.upgradeOrEnterRoom(attempt, { grant, client: attempt.client });
    const { seat } = grant;
    const isGuest = seat !== undefined && !isInvited(seat.claims);
    const claim = isGuest ? claimForGuest(this.parts.engine, app, cap) : this.parts.engine.claim(app, cap);
    return claim instanceof Promise ? this.whenClaimed(attempt, claim) : this.upgradeCapped(attempt, grant, claim);
  }

  private async whenClaimed(attempt: ConnectAttempt, claim: Promise<Claim | undefined>): Promise<true> {
    return this.claimed(attempt, await claim);
  }

  /** While other nodes answered, the key may have been revoked or narrowed, and the peer blocked. */
  private claimed(attempt: ConnectAttempt, claim: Claim | undefined): true | Promise<true> {
    const grant = this.admit(attempt);
    if (!(grant instanceof Refusal)) return this.upgradeCapped(attempt, grant, claim);
    claim?.end();
    throw this.notAdmitted(attempt, grant);
  }

  private upgradeCapped(attempt: ConnectAttempt, grant: Grant, claim: Claim | undefined): true | Promise<true> {
    try {
      this.refuseIfDraining(attempt);
      const isOverCap = claim === undefined;
      if (isOverCap) this.noteReached(grant);
      return this.upgradeOrEnterRoom(attempt, { grant, client: attempt.client, claim, isOverCap });
    } catch (error) {
      claim?.end();
      throw error;
    }
  }

  /** Guests are refused earlier, when their part of the cap is used up. */
  private noteReached({ spaceId, seat }: Grant): void {
    const app = appOfSpace(spaceId);
    const cap = this.parts.keyring.app(app)?.maxConcurrentConnections ?? null;
    const isGuest = seat !== undefined && !isInvited(seat.claims);
    if (cap !== null && !isGuest) this.parts.reachedQuotas.refused(app, "connections", cap);
  }

  /** One that is over the cap is closed as soon as it is open: its stay must not begin. */
  private upgradeOrEnterRoom(attempt: ConnectAttempt, pending: PendingSocket): true | Promise<true> {
    const { seat } = pending.grant;
    return seat && !pending.isOverCap ? this.enterRoom(attempt, pending, seat) : this.upgrade(attempt, pending);
  }

  private async enterRoom(attempt: ConnectAttempt, pending: PendingSocket, seat: RoomSeat): Promise<true> {
    const { roomHooks, faults } = this.parts;
    const { grant, claim } = pending;
    try {
      await this.askRoom(attempt, grant, roomHooks.enter(seat));
      try {
        // Meanwhile its application may have been deleted or its secret rotated, or the node may have begun to stop. The signature is not verified a second time.
        this.refuseIfDraining(attempt);
        const app = this.parts.keyring.app(seat.claims.app);
        if (!app) throw this.refused(attempt, "invalid_token");
        if (!isLiveRoomToken(app, seat.claims, this.parts.clock.wallMs())) throw this.refused(attempt, "token_expired");
        return this.upgrade(attempt, pending);
      } catch (error) {
        // Its stay has begun, and no connection will end it.
        safely(faults, "socket", () => roomHooks.disconnected(seat, "", this.draining ? "held" : "lost"));
        throw error;
      }
    } catch (error) {
      claim?.end();
      throw error;
    }
  }

  /** A plain GET: says why the room would refuse the WebSocket, and that it would not. */
  private async wouldEnterRoom(attempt: ConnectAttempt, grant: Grant, seat: RoomSeat): Promise<never> {
    await this.askRoom(attempt, grant, this.parts.roomHooks.check(seat));
    throw new Problem("upgrade_required");
  }

  /** What the room answers is counted as a refusal of the connect. */
  private async askRoom(attempt: ConnectAttempt, grant: Grant, answer: Promise<void>): Promise<void> {
    try {
      await answer;
    } catch (error) {
      if (error instanceof Problem) throw this.refusedWith(attempt, error, knownOf(grant));
      // That the store is not responding is logged elsewhere, once.
      if (!(error instanceof StoreUnreachable)) this.parts.faults.caught("socket", error);
      throw this.refused(attempt, "internal_error", ROOM_NOT_REACHED, 1, knownOf(grant));
    }
  }

  private upgrade(attempt: ConnectAttempt, pending: PendingSocket): true {
    if (attempt.upgrade(pending)) return true;
    const message = "The WebSocket handshake is malformed.";
    throw this.refused(attempt, "invalid_request", message, undefined, knownOf(pending.grant));
  }

  private admit(attempt: ConnectAttempt): Grant | Refusal {
    const admitted = admit(attempt, this.parts, this.parts.clock.wallMs());
    this.costs.chargeWork(attempt.client, admitted);
    return admitted;
  }

  private notAdmitted(attempt: ConnectAttempt, { code, retryAfterSeconds, known }: Refusal): Problem {
    return this.refused(attempt, code, undefined, retryAfterSeconds, known);
  }

  private refused(
    attempt: ConnectAttempt,
    code: Code,
    message?: string,
    retryAfterSeconds?: number,
    known: KnownOfClient = {},
  ): Problem {
    return this.refusedWith(attempt, new Problem(code, message, retryAfterSeconds), known);
  }

  private refusedWith({ client, origin }: ConnectAttempt, problem: Problem, known: KnownOfClient): Problem {
    const { code } = problem;
    this.parts.metrics.refused({ code }).inc();
    this.parts.emitter.refused(code, known, client, origin);
    return problem;
  }

  /** Refuses new connections and closes those that are open, one after the other, within the time. */
  async drain(withinMs: number): Promise<void> {
    this.draining = true;
    const { clock, connections, faults, metrics } = this.parts;
    const toClose = oldestFirst(connections.all());
    const paceMs = Math.min(withinMs, (toClose.length / DRAIN_PER_SECOND_MIN) * 1000);
    this.parts.expectedBack.holdUntilMs(clock.steadyMs() + paceMs + HOLD_MS);
    const steps = Math.max(1, Math.floor(paceMs / DRAIN_STEP_MS));
    const perStep = Math.ceil(toClose.length / steps);
    for (let at = 0; at < toClose.length; at += perStep) {
      for (const connection of toClose.slice(at, at + perStep)) {
        if (!connection.open) continue;
        metrics.goingAways.inc();
        safely(faults, "socket", () => connection.socket.send(encode.goingAway(RETRY_AFTER_MS)));
        connections.close(connection, GOING_AWAY);
      }
      if (at + perStep < toClose.length) await new Promise<void>((resolve) => clock.after(DRAIN_STEP_MS, resolve));
    }
  }
}

const knownOf = (grant: Grant): KnownOfClient => ({
  app: appOfSpace(grant.spaceId),
  keyId: keyIdOf(grant),
  peerId: grant.peerId,
});

/**
 * The frame `renew`: an open connection goes on with a new token of the same peer, as if its key had been edited. A token that is refused
 * changes nothing. Verifying costs as much as for a connect, so it is charged to the same address, and each connection has a rate.
 *
 * A signature is checked at once. Only a token that may be newer than this node's copy of its key waits for the store; frames that come
 * meanwhile are handled under the token before it.
 */
import { type AdmitParts, type Grant, Refusal } from "../../access/admission/admit.ts";
import { OTHER_PEER, renew } from "../../access/admission/renew.ts";
import type { Follower } from "../../access/admission/store-follower.ts";
import type { Clock } from "../../base/clock.ts";
import type { Throttle } from "../../base/throttle.ts";
import type { ClientFrame } from "../../protocol/frames.ts";
import type { Boundary } from "../connections/boundary.ts";
import { ConnectCosts, isRefused } from "../connections/connect-costs.ts";
import type { Connections } from "../connections/connections.ts";
import type { Deadlines } from "../connections/deadlines.ts";
import { RENEW_FRAMES_BURST, RENEW_FRAMES_PER_SECOND } from "../connections/limits.ts";
import type { Rates } from "../connections/rates.ts";
import type { RoomHooks } from "../connections/room-hooks.ts";
import type { Emitter } from "../events/emitter.ts";
import type { Presence } from "../presence/presence.ts";
import type { Connection } from "../state/connection.ts";
import type { RenewalRequests } from "../state/connection-extras.ts";
import type { Narrowing } from "../subscriptions/narrowing.ts";
import type { Replies, Request } from "./replies.ts";
import { StaleCheck } from "./stale-check.ts";

interface RenewalsParts extends AdmitParts {
  readonly boundary: Boundary;
  readonly connections: Connections;
  readonly deadlines: Deadlines;
  readonly emitter: Emitter;
  readonly narrowing: Narrowing;
  readonly presence: Presence;
  readonly clock: Clock;
  readonly rates: Rates;
  readonly connects: Throttle;
  readonly storeFollower: Follower | undefined;
  readonly replies: Replies;
  readonly roomHooks: RoomHooks;
}

const NOT_A_STRING = "token: must be a string, the new connect token";
const NO_TOKEN = "This connection uses a publishable key, which does not expire, so there is no token to renew.";
const TOO_MANY = `Send at most ${RENEW_FRAMES_PER_SECOND} renewal per second, one at a time. Wait a moment.`;
const CANNOT_BE_CHECKED = "The token cannot be checked at the moment; try again.";
const tooManyConnects = (seconds: number): string => `Too many connects from this address. Wait ${seconds} s.`;

export class Renewals {
  private readonly costs: ConnectCosts;

  constructor(private readonly parts: RenewalsParts) {
    this.costs = new ConnectCosts(parts.connects);
  }

  request(connection: Connection, frame: ClientFrame): void {
    const { replies, storeFollower } = this.parts;
    const { token } = frame.fields;
    if (typeof token !== "string") return replies.refuse(connection, "malformed_message", frame, NOT_A_STRING);
    if (!connection.isFromToken) return replies.refuse(connection, "invalid_token", frame, NO_TOKEN);
    const requests = this.requestsOf(connection);
    if (requests.isBusy || !this.take(requests)) return replies.refuse(connection, "rate_limited", frame, TOO_MANY);
    const { client } = connection;
    const waitSeconds = this.costs.take(client);
    if (waitSeconds > 0) return replies.refuse(connection, "rate_limited", frame, tooManyConnects(waitSeconds));
    const renewed = this.verify(connection, token);
    // Charged before anything is waited for, as with a connect.
    if (isRefused(renewed)) this.costs.chargeRefusal(client);
    if (!storeFollower || !(renewed instanceof Refusal) || !renewed.mayBeStale)
      return this.finish(connection, renewed, frame);
    requests.isBusy = true;
    const { requestId, channel } = frame;
    this.retry(connection, token, storeFollower, renewed, { requestId, channel })
      .catch((error) => this.parts.boundary.connectionFailed("socket", connection, error))
      .finally(() => {
        requests.isBusy = false;
      });
  }

  /** Another node may have made or changed the key a moment ago: no token is refused before that is known. */
  private async retry(
    connection: Connection,
    token: string,
    storeFollower: Follower,
    before: Refusal,
    request: Request,
  ): Promise<void> {
    const { client } = connection;
    const staleCheck = new StaleCheck(before, this.parts);
    const isKnown = await storeFollower.catchUp();
    if (!connection.open) return;
    const renewed = staleCheck.decide(client, this.costs, () => this.verify(connection, token));
    if (!isKnown || !isRefused(renewed)) this.costs.giveRefusalBack(client);
    if (renewed instanceof Refusal && !isKnown)
      return this.parts.replies.refuse(connection, "internal_error", request, CANNOT_BE_CHECKED);
    this.finish(connection, renewed, request);
  }

  private verify(connection: Connection, token: string): Grant | Refusal {
    const { peerId, peer, client, seat } = connection;
    const renewed = renew(token, { spaceId: peer.space.id, peerId, seat }, this.parts, this.parts.clock.wallMs());
    this.costs.chargeWork(client, renewed);
    return renewed;
  }

  private finish(connection: Connection, renewed: Grant | Refusal, request: Request): void {
    const { replies } = this.parts;
    if (renewed instanceof Refusal) {
      const { code, reason, retryAfterSeconds } = renewed;
      const message = retryAfterSeconds === undefined ? undefined : tooManyChecks(retryAfterSeconds);
      return replies.refuse(connection, code, request, reason === OTHER_PEER ? OTHER_PEER : message);
    }
    this.apply(connection, renewed);
    const { expiresAtMs } = renewed;
    const expiresAt = expiresAtMs === null ? null : Math.floor(expiresAtMs / 1000);
    const metadata = this.parts.connections.renewedMetadata(connection, renewed);
    const more = metadata === undefined ? "" : `,"metadata":${metadata}`;
    replies.ack(connection, request.requestId, `,"expiresAt":${expiresAt}${more}`);
  }

  private apply(connection: Connection, grant: Grant): void {
    const { connections, deadlines, narrowing, presence, emitter } = this.parts;
    const { metadataJson, keyId } = connection;
    this.takeSeat(connection, grant);
    connections.renew(connection, grant);
    deadlines.set(connection);
    emitter.renewed(connection, keyId);
    narrowing.endFor(connection, "token", (channel) => connection.covers(channel));
    // Other nodes know the key of members that may outlive their connection.
    if (connection.metadataJson === metadataJson && connection.keyId === keyId) return;
    for (const { member } of connection.subscriptions) if (member) presence.onChanged(member);
  }

  /** A room decides again what the holder of the new token may do; until it has, that is what it was. A token does not rename a stay. */
  private takeSeat({ seat: before }: Connection, { seat }: Grant): void {
    if (!seat || !before) return;
    seat.access = before.access;
    seat.name = before.name;
    this.parts.roomHooks.renewed(seat, before);
  }

  private take(requests: RenewalRequests): boolean {
    const { clock, rates } = this.parts;
    if (rates.framesPerSecond === 0) return true;
    const nowMs = clock.monotonicMs();
    const refilled = ((nowMs - requests.refilledMs) / 1000) * RENEW_FRAMES_PER_SECOND;
    requests.left = Math.min(RENEW_FRAMES_BURST, requests.left + refilled);
    requests.refilledMs = nowMs;
    if (requests.left < 1) return false;
    requests.left--;
    return true;
  }

  private requestsOf(connection: Connection): RenewalRequests {
    const { withExtras } = connection;
    withExtras.renewals ??= {
      left: RENEW_FRAMES_BURST,
      refilledMs: this.parts.clock.monotonicMs(),
      isBusy: false,
    };
    return withExtras.renewals;
  }
}

const tooManyChecks = (seconds: number): string =>
  `Checking tokens has used up the key's rate limit. Wait ${seconds} s.`;

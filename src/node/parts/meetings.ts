/** Builds meetings: realtime asks it about people in rooms, and it acts on their connections. */
import { isLiveRoomToken } from "../../access/keys/app-secret.ts";
import type { Keyring } from "../../access/keys/keyring.ts";
import { systemClock } from "../../base/clock.ts";
import { buildMeetings } from "../../meetings/build.ts";
import type { Meetings } from "../../meetings/meetings.ts";
import { MeetingRetention } from "../../meetings/retention.ts";
import type { IsLive } from "../../meetings/stays/generations.ts";
import type { LateRoomHooks } from "../../realtime/connections/room-hooks.ts";
import { RoomFloor } from "../../realtime/control/room-floor.ts";
import type { NodeContext } from "./context.ts";
import type { Realtime } from "./realtime.ts";
import type { RoomService } from "./rooms.ts";
import type { TurnService } from "./turn.ts";

interface MeetingServiceParts extends NodeContext {
  readonly keyring: Keyring;
  readonly realtime: Realtime;
  readonly rooms: RoomService;
  readonly roomHooks: LateRoomHooks;
  readonly turn: TurnService;
}

export function buildMeetingService(parts: MeetingServiceParts): Meetings {
  const { config, store, log, keyring, realtime, rooms, roomHooks, turn } = parts;
  const { hub, clock, roomTokens } = realtime;
  const isLive: IsLive = (claims) => {
    const app = keyring.app(claims.app);
    return app !== undefined && isLiveRoomToken(app, claims, clock.wallMs());
  };
  const { boundary, connections, kicks, narrowing, nodeRequests, presence, publishing, spaces, streams } = hub;
  const floor = new RoomFloor({
    boundary,
    connections,
    kicks,
    narrowing,
    nodeRequests,
    presence,
    publishing,
    spaces,
    streams,
  });
  const meetings = buildMeetings({
    store: store.meetings,
    rooms: store.rooms,
    roomChanges: rooms.rooms,
    accessTokens: rooms.accessTokens,
    roomTokens,
    floor,
    isLive,
    // The id of this run of the node: it must not take the stays of an earlier run for its own.
    nodeId: nodeRequests.self,
    nowMs: clock.wallMs,
    monotonicMs: clock.monotonicMs,
    steadyMs: clock.steadyMs,
    meshMax: config.meshMax,
    iceServers: (claims, address, nowMs) => turn.turn.iceServersOfJoin(claims, address, nowMs),
    failed: (err: unknown) => log.error({ err }, "an update about people in rooms failed; trying again"),
  });
  roomHooks.use(meetings);
  keyring.onRotation(() => meetings.services.secretRotated());
  return meetings;
}

export const buildMeetingRetention = ({ store, log }: NodeContext): MeetingRetention =>
  new MeetingRetention({
    meetings: store.meetings,
    nowMs: systemClock.retentionMs,
    failed: (err) => log.error({ err }, "old meetings could not be removed; trying again in an hour"),
  });

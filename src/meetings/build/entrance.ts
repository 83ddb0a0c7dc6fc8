/** Builds the way in: joins, the sessions they go on with, and the lobby. */
import type { RoomTokens } from "../../access/tokens/room-token.ts";
import type { AccessTokens } from "../../rooms/access-token.ts";
import type { MeetingStore } from "../../store/contract/meetings.ts";
import type { RoomStore } from "../../store/contract/rooms.ts";
import type { Floor } from "../contract/floor.ts";
import type { IceServers } from "../contract/ports.ts";
import { EarlierStays } from "../entrance/earlier-stays.ts";
import { Joining } from "../entrance/joining.ts";
import { Lobby } from "../entrance/lobby.ts";
import type { IsLive } from "../stays/generations.ts";
import type { NoticesBuilt } from "./notices.ts";
import type { StaysBuilt } from "./stays.ts";

export interface EntranceOutside {
  readonly store: MeetingStore;
  readonly rooms: RoomStore;
  readonly accessTokens: AccessTokens;
  readonly roomTokens: RoomTokens;
  readonly floor: Floor;
  readonly isLive: IsLive;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly steadyMs: () => number;
  /** PARLEY_MESH_MAX. */
  readonly meshMax: number;
  readonly iceServers: IceServers;
  readonly failed: (error: unknown) => void;
}

export interface EntranceBuilt {
  readonly lobby: Lobby;
  readonly earlierStays: EarlierStays;
  readonly joining: Joining;
}

export function buildEntrance(
  outside: EntranceOutside,
  { notices }: NoticesBuilt,
  { stays }: StaysBuilt,
): EntranceBuilt {
  const { store, rooms, accessTokens, roomTokens, floor, isLive, nodeId, nowMs, steadyMs } = outside;
  const { meshMax, iceServers, failed } = outside;
  const lobby = new Lobby({ store, floor, stays, notices, isLive, nodeId, nowMs, steadyMs, failed });
  const earlierStays = new EarlierStays({ store, rooms, roomTokens, isLive, nowMs });
  const joining = new Joining({
    store,
    earlierStays,
    accessTokens,
    roomTokens,
    lobby,
    iceServers,
    nowMs,
    meshMax,
  });
  return { lobby, earlierStays, joining };
}

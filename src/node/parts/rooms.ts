/** Builds rooms: their service, their access tokens, and the timer that archives rooms that have expired. */
import type { Vault } from "../../access/keys/vault.ts";
import { systemClock as clock } from "../../base/clock.ts";
import { AccessTokens } from "../../rooms/access-token.ts";
import { Expiry } from "../../rooms/expiry.ts";
import { Rooms } from "../../rooms/rooms.ts";
import type { NodeContext } from "./context.ts";

export interface RoomService {
  readonly rooms: Rooms;
  readonly accessTokens: AccessTokens;
  readonly expiry: Expiry;
}

interface RoomParts extends NodeContext {
  readonly vault: Vault;
}

export async function buildRooms({ config, log, store, metrics, faults, vault }: RoomParts): Promise<RoomService> {
  const expired = metrics.counter("parley_rooms_expired_total", "Rooms archived because they had expired.");
  const expiry = new Expiry({
    store: store.rooms,
    nowMs: clock.wallMs,
    archived: (count) => expired.inc(count),
    failed: (err) => log.error({ err }, "expired rooms could not be archived; trying again soon"),
    guarded: (callback) => faults.guarded("timer", callback),
  });
  const rooms = new Rooms(store.rooms, expiry, clock.wallMs, config.maxRoomsPerApp || Number.MAX_SAFE_INTEGER);
  await store.rooms.recount();
  return { rooms, accessTokens: new AccessTokens(store.rooms, vault, clock.wallMs), expiry };
}

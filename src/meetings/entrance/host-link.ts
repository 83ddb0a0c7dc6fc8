/** "Join as host": an access token that makes its holder an admin of one room, for the operators of the service. */
import { Problem } from "../../protocol/codes.ts";
import type { AccessTokens } from "../../rooms/access-token.ts";
import { valuesOf } from "../../rooms/rooms.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import type { AppRow } from "../../store/contract/store.ts";
import { HOST_LINK_SEC } from "../contract/limits.ts";

interface HostLinkParts {
  readonly rooms: RoomStore;
  readonly accessTokens: Pick<AccessTokens, "mint">;
  readonly nowMs: () => number;
}

interface HostLinkRequest {
  /** The display name of the host; without one the page asks for it. */
  readonly name?: string | undefined;
  readonly validSec?: number | undefined;
}

export interface HostToken {
  readonly room: RoomRow;
  readonly token: string;
  /** Unix seconds: until then one can enter with it. Who is inside stays. */
  readonly expiresAt: number;
}

/** The clock of the node that checks the token may be behind by this much. */
const CLOCKS_APART_SEC = 60;

export class HostLinks {
  constructor(private readonly parts: HostLinkParts) {}

  async make(
    app: AppRow,
    roomName: string,
    { name, validSec = HOST_LINK_SEC }: HostLinkRequest = {},
  ): Promise<HostToken> {
    const { rooms, accessTokens, nowMs } = this.parts;
    const now = Math.floor(nowMs() / 1000);
    const room = await rooms.room(app.id, roomName, nowMs());
    if (!room) throw new Problem("room_not_found");
    const { expireUnixSec, notBeforeUnixSec } = valuesOf(room);
    // A token's own expiry takes precedence over the room's: it must not open a room that is over.
    const expiresAt = Math.min(now + validSec, expireUnixSec ?? Number.POSITIVE_INFINITY);
    if (expiresAt <= now)
      throw new Problem("conflict", "The room has closed and no one can enter it. Change expireUnixSec first.");
    // A token's times take precedence over the room's: hosts can try a room before it opens. The others cannot.
    const isEarly = notBeforeUnixSec !== undefined && notBeforeUnixSec > now;
    const token = await accessTokens.mint(
      { app, generation: app.secretSeq },
      {
        roomName: room.name,
        isAdmin: true,
        expireUnixSec: expiresAt,
        ...(isEarly && { notBeforeUnixSec: now - CLOCKS_APART_SEC }),
        ...(name !== undefined && { name }),
      },
    );
    return { room, token, expiresAt };
  }
}

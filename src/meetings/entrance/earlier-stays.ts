/** The stay that a join goes on with: `resume` is a connect token of an earlier answer. */
import type { RoomClaims, RoomTokens } from "../../access/tokens/room-token.ts";
import type { AppId } from "../../base/ids.ts";
import type { VerifiedAccess } from "../../rooms/access-token.ts";
import type { MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import type { IsLive } from "../stays/generations.ts";
import { ejectAtOfStay } from "../stays/stay-time.ts";

interface EarlierStayParts {
  readonly store: Pick<MeetingStore, "stay" | "meeting" | "firstEntry">;
  readonly rooms: Pick<RoomStore, "roomById">;
  readonly roomTokens: Pick<RoomTokens, "verify">;
  readonly isLive: IsLive;
  readonly nowMs: () => number;
}

export interface EarlierStay {
  readonly claims: RoomClaims;
  /** undefined: it has not begun. */
  readonly row: StayRow | undefined;
  /** The secret key that it depends on still works. Otherwise it is only known who its holder was. */
  readonly isLive: boolean;
  /** When it has expired, Unix ms; null: never, or it has not begun, or has ended. */
  readonly ejectAt: number | null;
}

export class EarlierStays {
  constructor(private readonly parts: EarlierStayParts) {}

  /** A missing or expired token, or one of another application, is treated as no token. */
  claims(app: AppId | undefined, resume: string | undefined): RoomClaims | undefined {
    const claims = resume === undefined ? undefined : this.parts.roomTokens.verify(resume, this.parts.nowMs());
    if (claims === undefined || claims === "expired") return undefined;
    return claims.kind === "stay" && claims.app === app ? claims : undefined;
  }

  /** A page that is inside while its room is renamed goes on with the name it knows, whichever room has that name now. */
  async roomOf(claims: RoomClaims, roomName: string): Promise<RoomRow | undefined> {
    const { rooms, store, nowMs } = this.parts;
    const room = await rooms.roomById(claims.app, claims.room, nowMs());
    if (!room || room.name === roomName) return room;
    const stay = await store.stay(claims.id);
    const isInside = stay?.ended === null && stay.room === room.id;
    return isInside && (await store.meeting(claims.app, stay.meeting))?.roomName === roomName ? room : undefined;
  }

  /** undefined: it is a stay of another room. */
  async of(room: RoomRow, claims: RoomClaims): Promise<EarlierStay | undefined> {
    if (claims.room !== room.id) return undefined;
    const { store, isLive } = this.parts;
    const row = await store.stay(claims.id);
    const ejectAt = row?.ended === null ? await ejectAtOfStay(store, room, claims, row) : null;
    return { claims, row, isLive: isLive(claims), ejectAt };
  }
}

/**
 * The place that a join holds is taken over by the next one of the same page, with the same access token. With another one it would be the same stay: a removed
 * admin could begin it as a guest, and go on with it as an admin.
 */
export function placeToTakeOver(
  earlier: EarlierStay | undefined,
  access: VerifiedAccess | undefined,
): string | undefined {
  const isFree = earlier?.isLive === true && !earlier.row;
  return isFree && earlier.claims.accessToken === access?.digest ? earlier.claims.id : undefined;
}

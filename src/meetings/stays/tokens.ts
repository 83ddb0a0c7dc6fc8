/** Whose stay a connect token is, for calls that pages make over HTTP with it as Bearer. */
import type { RoomClaims, RoomTokens } from "../../access/tokens/room-token.ts";
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { MeetingStore, StayRow } from "../../store/contract/meetings.ts";
import type { RoomRow, RoomStore } from "../../store/contract/rooms.ts";
import { isTimeOver } from "../rules/ejection.ts";
import type { IsLive } from "./generations.ts";
import { ejectAtOfStay } from "./stay-time.ts";

interface StayTokenParts {
  readonly store: Pick<MeetingStore, "stay" | "meeting" | "firstEntry">;
  readonly rooms: Pick<RoomStore, "roomById">;
  readonly tokens: RoomTokens;
  readonly isLive: IsLive;
  readonly nowMs: () => number;
}

/** A participant that is inside. */
export interface InsideStay extends Omit<RecentStay, "endedMs"> {
  readonly room: RoomRow;
}

/** A participant that is inside, or was a moment ago. */
export interface RecentStay {
  /** undefined: it is archived. */
  readonly room: RoomRow | undefined;
  readonly stay: StayRow;
  readonly claims: RoomClaims;
  /** Its end, or that of its time if that is not written yet, Unix ms; null: it goes on. */
  readonly endedMs: number | null;
}

export const noStayToken = (): Problem =>
  new Problem("invalid_token", "Send the connect token of a stay in this room as the Bearer token.");

export class StayTokens {
  constructor(private readonly parts: StayTokenParts) {}

  /** Checked in this order: the signature, the application, the generation of its secret key, the room, whether the stay goes on, whether it is in the room of this name, its time. */
  async inside(app: AppId, roomName: string, token: string): Promise<InsideStay> {
    const { rooms, store, nowMs } = this.parts;
    const claims = this.claims(app, token);
    const [room, stay] = [await rooms.roomById(app, claims.room, nowMs()), await store.stay(claims.id)];
    if (!room) throw new Problem("room_not_found");
    if (stay?.room !== room.id || stay.ended !== null)
      throw new Problem("action_not_permitted", "Your stay in this room has ended. Join again.");
    if (!(await this.isIn(stay, room, roomName))) throw elsewhere();
    if (isTimeOver(await ejectAtOfStay(store, room, claims, stay), nowMs()))
      throw new Problem("action_not_permitted", "Your time in this room is up.");
    return { room, stay, claims };
  }

  /** As `inside`, but a stay may have ended, or its token expired, up to `forMs` ago; its room may be archived by now. */
  async recent(app: AppId, roomName: string | undefined, token: string, forMs: number): Promise<RecentStay> {
    const { rooms, store, nowMs } = this.parts;
    const claims = this.claims(app, token, forMs);
    const stay = await store.stay(claims.id);
    if (!stay || stay.app !== app || stay.room !== claims.room)
      throw new Problem("action_not_permitted", "Your stay in this room has not started, or is no longer known.");
    if (stay.ended !== null && stay.ended < nowMs() - forMs)
      throw new Problem("action_not_permitted", "Your stay in this room ended too long ago.");
    const room = await rooms.roomById(app, stay.room, nowMs());
    if (roomName !== undefined && !(await this.isIn(stay, room, roomName))) throw elsewhere();
    return { room, stay, claims, endedMs: await this.endedMs(room, stay, claims) };
  }

  private async endedMs(room: RoomRow | undefined, stay: StayRow, claims: RoomClaims): Promise<number | null> {
    if (stay.ended !== null || !room) return stay.ended;
    const ejectAt = await ejectAtOfStay(this.parts.store, room, claims, stay);
    return isTimeOver(ejectAt, this.parts.nowMs()) ? ejectAt : null;
  }

  /** What the token of a stay says; it may have expired up to `forMs` ago. Asks no store: it can be decided before anything is charged to anyone. */
  claims(app: AppId | undefined, token: string, forMs = 0): RoomClaims {
    const { tokens, isLive, nowMs } = this.parts;
    const claims = tokens.verify(token, nowMs() - forMs);
    if (claims === "expired") throw new Problem("token_expired");
    if (claims?.kind !== "stay" || claims.app !== app) throw noStayToken();
    if (!isLive(claims)) throw new Problem("token_expired", "The application's secret key was rotated. Join again.");
    return claims;
  }

  /** A page that is inside while its room is renamed goes on with the name it knows. */
  private async isIn({ app, meeting }: StayRow, room: RoomRow | undefined, name: string): Promise<boolean> {
    return room?.name === name || (await this.parts.store.meeting(app, meeting))?.roomName === name;
  }
}

const elsewhere = (): Problem => new Problem("action_not_permitted", "Your stay is in another room.");

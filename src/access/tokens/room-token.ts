/**
 * Connect tokens of rooms: signed by the service under a key that is derived for this, and used for nothing else. Their prefix keeps them
 * apart from the connect tokens of keys. What their holder may do is decided when it connects, not when they are signed: a room's flags can
 * change while a participant is inside.
 */
import type { AppId } from "../../base/ids.ts";
import type { Vault } from "../keys/vault.ts";
import { OwnJws } from "./own-jws.ts";
import { type RoomAccess, stayAccess, waitAccess } from "./room-access.ts";

const PREFIX = "rt_";
const MAX_CHARS = 4096;

export const isRoomToken = (token: string): boolean => token.startsWith(PREFIX);

/** The times of an access token, in Unix seconds; absent: the room's apply. */
export interface TokenTimes {
  readonly expireUnixSec?: number | undefined;
  readonly notBeforeUnixSec?: number | undefined;
}

/** What a token of a room says; the service has signed it. */
export interface RoomClaims {
  /** A stay inside, or a visitor who waits in the lobby. */
  readonly kind: "stay" | "wait";
  /** The participantSession, or the waitId of a visitor. It is the peer id, which others see. */
  readonly id: string;
  readonly app: AppId;
  /** The room's id. */
  readonly room: string;
  /** Only a stay has one. */
  readonly meeting?: string | undefined;
  /** The one under which a stay begins. What it is called from then on is in the store, and in its seat. */
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  /** Its access token has no name, although it makes its holder an admin: the name was typed, as a guest's. */
  readonly hasTypedName?: true | undefined;
  readonly externalUserId?: string | undefined;
  /** The digest of the access token that it was made from, to recognise it again; a guest has none. */
  readonly accessToken?: string | undefined;
  /**
   * Whom its place was counted for: a digest, the same for all guests of an address. What it writes is counted for that too, because each join makes another
   * id. Tokens of earlier releases have none.
   */
  readonly holder?: string | undefined;
  /** The access token is for this room: its times take precedence over the room's. One of another room only says who its holder is. */
  readonly opens?: TokenTimes | undefined;
  /** What the access token forbids. */
  readonly disabled?: readonly ("audio" | "video" | "screen")[] | undefined;
  /** How long it may stay, in seconds; of its access token or else of the room. */
  readonly ejectAfterSec?: number | undefined;
  /** An admin let it in from the lobby: a lock does not keep it out. */
  readonly isLetIn?: true | undefined;
  /** The version of the room that the page was shown with this token. */
  readonly version?: number | undefined;
  /**
   * The generation of the application's secret key that it ends with: that of its access token, of a guest the one of its join. Tokens of earlier releases have
   * none, and end with the first (app-secret.ts).
   */
  readonly gen?: number | undefined;
  /** Unix seconds until which the stay may begin; one that has begun goes on after it. */
  readonly beginBy?: number | undefined;
  /** No one was inside when it was signed: the meeting begins with the first of those who enter. */
  readonly opensMeeting?: true | undefined;
  /** Unix seconds. */
  readonly exp: number;
}

/** A connection's place in a room. Its access is replaced when the room's flags change, its name when the stay is renamed. */
export interface RoomSeat {
  readonly claims: RoomClaims;
  name: string;
  access: RoomAccess;
}

/** What the others in a room are shown of a participant, stamped by the service: nothing of it comes from a client's frame. */
export function seatMetadata({ claims, name }: RoomSeat): string | undefined {
  const { kind, isAdmin, isGuest, externalUserId } = claims;
  return kind === "stay" ? JSON.stringify({ name, isAdmin, isGuest, externalUserId }) : undefined;
}

export class RoomTokens {
  private readonly jws: OwnJws;

  constructor(vault: Vault) {
    this.jws = new OwnJws(vault.derive("connect tokens of rooms"));
  }

  sign(claims: RoomClaims): string {
    return PREFIX + this.jws.sign(claims);
  }

  /** The claims of a token of ours; "expired" if only it has expired, undefined if it is none. */
  verify(token: string, nowMs: number): RoomClaims | "expired" | undefined {
    if (!isRoomToken(token) || token.length > MAX_CHARS) return undefined;
    const claims = this.jws.verify(token.slice(PREFIX.length)) as RoomClaims | undefined;
    if (claims === undefined) return undefined;
    return claims.exp * 1000 <= nowMs ? "expired" : claims;
  }
}

/** What a token gives before the room's flags are looked at: a seat without the right to write in the chat. */
export const seatOf = (claims: RoomClaims): RoomSeat => ({
  claims,
  name: claims.name,
  access:
    claims.kind === "stay"
      ? stayAccess(claims.room, claims.id, { isAdmin: claims.isAdmin, mayChat: false })
      : waitAccess(claims.room, claims.id),
});

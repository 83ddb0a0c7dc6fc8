/** What the parts of meetings/ ask of each other and of the node, where a part must not know the other's class. */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import type { IceServer } from "./contract.ts";

/** A visitor of a private room without an access token. */
export interface Visitor {
  readonly name: string;
  /** A digest of the client's address. */
  readonly address: string;
  /** The same for the site of an IPv6 client. */
  readonly site?: string | undefined;
  /** The generation of the application's secret key that the ticket ends with. */
  readonly generation: number;
}

export interface LobbyPlace {
  readonly state: "waiting" | "admitted" | "declined";
  /** The one that admins were shown. */
  readonly name: string;
  /** When it was admitted or declined, Unix ms; null while it waits. */
  readonly decided: number | null;
}

/** The ICE servers in the answer to a join, for a moment only: whether its holder will connect is not known yet. `address` is a digest of the client's, of its site if it has one. */
export type IceServers = (claims: RoomClaims, address: string, nowMs: number) => readonly IceServer[];

/**
 * Who pays for a call about a room (meetings.md 6): no caller can use up what callers of another kind need. All of it throws rate_limited where nothing is left.
 */
export interface JoinBudget {
  /** A caller whose credential was verified pays from a budget of its own, under this name. */
  own(holder: string): void;
  /** The same for an access token, which several people may share: the address pays from what this token has there. */
  token(digest: string): void;
  /** The caller has shown something that the service has not made: its address pays. */
  refused(): void;
  /** A caller whose credential is not looked up yet; `own` or `guest` follows. */
  stranger(): void;
  /** A caller without a credential: its address pays. */
  guest(): void;
  /** A guest that is not refused: the guests of the room pay together. Returns what gives it back if it is refused after all. */
  guestOf(room: string): () => void;
}

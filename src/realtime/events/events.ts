/**
 * What happens on this node, for one listener such as the live tail. While there is none, an event costs one comparison: the code
 * that emits it checks `listener` before it builds anything.
 */
import type { AppId, SpaceId } from "../../base/ids.ts";
import type { Code } from "../../protocol/codes.ts";
import type { Connection } from "../state/connection.ts";

/**
 * `over_concurrent`: the application has as many connections as its plan allows; the client gets the close code 4010. `key_revoked`: its key is
 * revoked; the client gets `unauthorized`, or `invalid_token` for a token, as with an unknown key.
 */
export const OPERATOR_CODES = ["over_concurrent", "key_revoked"] as const;
export type ConnectRefusal = Code | (typeof OPERATOR_CODES)[number];

/** A connect that was refused. What the check had not found out yet is absent. Never holds the credential. */
export interface RefusedConnect {
  readonly code: ConnectRefusal;
  readonly app: AppId | undefined;
  readonly keyId: string | undefined;
  readonly peerId: string | undefined;
  /** Instead of a known key or token; see access/tokens/offered.ts. */
  readonly offered: string | undefined;
  readonly address: string;
  /** As the client has sent it: of any length, and with anything in it. */
  readonly origin: string | null;
}

/** No method throws, keeps what it gets, or waits. */
export interface RealtimeListener {
  connected(connection: Connection): void;
  refused(refused: RefusedConnect): void;
  subscribed(connection: Connection, channel: string): void;
  unsubscribed(connection: Connection, channel: string): void;
  /** Called per frame, with what is at hand: nothing is built for it. */
  published(
    spaceId: SpaceId,
    channel: string,
    from: string,
    dataJson: string,
    connection: Connection | undefined,
  ): void;
  sent(spaceId: SpaceId, to: string, from: string, dataJson: string, connection: Connection | undefined): void;
  /** A member joined or left a channel, as this node shows it to its own members. */
  presence(spaceId: SpaceId, channel: string, peerId: string, change: "joined" | "left"): void;
  /** A member has said something else about itself. */
  stateSet(connection: Connection, channel: string, stateJson: string): void;
  /** It goes on with a new token, which the key `connection.keyId` has signed. */
  renewed(connection: Connection): void;
  /** An error frame was sent. */
  failed(connection: Connection, code: Code, channel: string | undefined): void;
  /** `code`: the one we closed with, otherwise what the socket reported. */
  closed(connection: Connection, code: number): void;
}

export class RealtimeEvents {
  /** Set while a reader looks at the tail. */
  listener: RealtimeListener | undefined;
}

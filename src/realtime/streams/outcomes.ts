/** What becomes of a message that is published to a channel that stores it. */
import type { SpaceId } from "../../base/ids.ts";
import type { Envelope } from "../../engine/engine.ts";
import type { StreamRule } from "../../protocol/patterns/channel-rules.ts";
import type { Position } from "../../protocol/position.ts";
import type { PublishRefusal } from "../messages/delivery.ts";
import type { Connection } from "../state/connection.ts";

/** A message that is stored. `isDuplicate`: it was published before under the same id, and this is where it is. */
export interface Published extends Position {
  readonly isDuplicate: boolean;
}

/** Why a created stream takes no message. `unsupported_option`: its messages are not JSON. */
export type StreamRefusal = "stream_not_found" | "stream_closed" | "stream_full" | "unsupported_option";

/**
 * `delivered`: the channel has no history. StreamRefusal: it is a created stream. `unconfirmed`: the store has not answered, and the message
 * may appear later; or too much waits for it.
 */
export type Outcome = Published | "delivered" | "unconfirmed" | PublishRefusal | StreamRefusal;

/** Publishes to created streams. `answer` is called once, later; `sender`: absent for REST. */
export interface CreatedPublisher {
  publish(
    spaceId: SpaceId,
    channel: string,
    rule: StreamRule,
    envelope: Envelope,
    answer: (outcome: Outcome) => void,
    sender?: Connection,
  ): void;
}

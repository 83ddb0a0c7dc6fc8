/** Texts for refused direct messages, where the text of the code says too little. */
import type { SendRefusal } from "./directs.ts";

const NOT_KNOWN_TO_BE_DELIVERED =
  "The nodes cannot reach each other, so the message may or may not have been delivered. Send it again with the same id; it is delivered only once.";
const TOO_MUCH_WAITS_FOR_PEERS =
  "This message was not sent, because too many direct messages are waiting for peers that are reconnecting. Try again in a moment.";

/** `undefined`: the text of the code. */
export const SEND_REFUSED: Readonly<Partial<Record<SendRefusal, string>>> = {
  backend_error: NOT_KNOWN_TO_BE_DELIVERED,
  rate_limited: TOO_MUCH_WAITS_FOR_PEERS,
};

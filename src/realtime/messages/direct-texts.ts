/** Texts for refused direct messages, where the text of the code says too little. */
import type { SendRefusal } from "./directs.ts";

const NOT_KNOWN_TO_BE_DELIVERED =
  "The nodes cannot reach each other; it is not known whether the message was delivered. Send it again with the same id: a repeat is delivered once.";
const TOO_MUCH_WAITS_FOR_PEERS =
  "Too many direct messages wait for peers that are reconnecting; this one was not sent. Try again in a moment.";

/** `undefined`: the text of the code. */
export const SEND_REFUSED: Readonly<Partial<Record<SendRefusal, string>>> = {
  backend_error: NOT_KNOWN_TO_BE_DELIVERED,
  rate_limited: TOO_MUCH_WAITS_FOR_PEERS,
};

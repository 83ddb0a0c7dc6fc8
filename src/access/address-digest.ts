/** A client's address where it is only recognised again, as in the lobby and in usernames of TURN servers: it is not shown, and not kept. */
import { type Address, rateKey } from "./address.ts";
import { digestOf } from "./vault.ts";

export const addressDigest = (client: Address): string => digestOf(rateKey(client));

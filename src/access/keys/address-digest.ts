/** A client's address where it is only recognised again, as in the lobby and in usernames of TURN servers: it is not shown, and not kept. */
import { type Address, networksOf, rateKey } from "../../base/address.ts";
import { digestOf } from "./vault.ts";

export const addressDigest = (client: Address): string => digestOf(rateKey(client));

/** The same for the /48 of an IPv6 client: one site has 65,536 networks that each count as one address. IPv4 has none. */
export function siteDigest(client: Address): string | undefined {
  const { site } = networksOf(client);
  return site === undefined ? undefined : digestOf(site);
}

/** Whom something is counted for that has no other holder: an IPv6 client counts as its site, so that its networks do not count as many clients. */
export const holderDigest = (client: Address): string => siteDigest(client) ?? addressDigest(client);

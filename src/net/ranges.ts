/**
 * Addresses that are not called, because they are not of the public Internet: what is behind them trusts its network. The lists are those of IANA's
 * registries of special-purpose addresses. An IPv4-mapped IPv6 address is held as IPv4 (base/address.ts).
 */
import { type Address, type Cidr, contains, parseCidr } from "../base/address.ts";

interface Range {
  readonly cidr: Cidr;
  readonly rule: string;
}

const range = ([text, what]: readonly [string, string]): readonly Range[] => {
  const cidr = parseCidr(text);
  return cidr ? [{ cidr, rule: `${what} (${text})` }] : [];
};

const V4: readonly Range[] = (
  [
    ["0.0.0.0/8", "this network"],
    ["10.0.0.0/8", "a private network"],
    ["100.64.0.0/10", "a carrier's network"],
    ["127.0.0.0/8", "loopback"],
    ["169.254.0.0/16", "link-local"],
    ["172.16.0.0/12", "a private network"],
    ["192.0.0.0/24", "protocol assignments"],
    ["192.0.2.0/24", "documentation"],
    ["192.88.99.0/24", "6to4 relays"],
    ["192.168.0.0/16", "a private network"],
    ["198.18.0.0/15", "benchmarking"],
    ["198.51.100.0/24", "documentation"],
    ["203.0.113.0/24", "documentation"],
    ["224.0.0.0/4", "multicast"],
    ["240.0.0.0/4", "reserved"],
  ] as const
).flatMap(range);

/** The first that contains an address names the rule. */
const V6: readonly Range[] = (
  [
    ["::/128", "the unspecified address"],
    ["::1/128", "loopback"],
    ["::/96", "IPv4-compatible addresses"],
    ["64:ff9b::/96", "NAT64"],
    ["64:ff9b:1::/48", "NAT64 of a local network"],
    ["100::/64", "discarded addresses"],
    ["2001::/32", "Teredo"],
    ["2001:db8::/32", "documentation"],
    ["2001::/23", "protocol assignments"],
    ["2002::/16", "6to4"],
    ["3fff::/20", "documentation"],
    ["fc00::/7", "a private network"],
    ["fe80::/10", "link-local"],
    ["fec0::/10", "site-local"],
    ["ff00::/8", "multicast"],
  ] as const
).flatMap(range);

/** What is not in it is not assigned to anyone on the Internet. */
const GLOBAL_V6: readonly Range[] = range(["2000::/3", "global unicast"]);

const isIn =
  (address: Address) =>
  ({ cidr }: Range): boolean =>
    contains(cidr, address);

/** The rule by which an address is not called; undefined: it is one of the public Internet. */
export function refusedRange(address: Address): string | undefined {
  if (address.length === 4) return V4.find(isIn(address))?.rule;
  const special = V6.find(isIn(address))?.rule;
  if (special !== undefined) return special;
  return GLOBAL_V6.some(isIn(address)) ? undefined : "outside of global unicast (2000::/3)";
}

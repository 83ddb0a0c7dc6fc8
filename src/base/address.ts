/** IP addresses: the client behind trusted proxies, and the key under which its rate is counted. */
import { isIP } from "node:net";

/** Network byte order: 4 or 16 bytes. An IPv4-mapped IPv6 address is held as IPv4. */
export type Address = readonly number[];

export interface Cidr {
  readonly base: Address;
  readonly bits: number;
}

const DOT = 46;
const ZERO = 48;

export function parseAddress(text: string): Address | undefined {
  return parseV4(text) ?? parseOther(text);
}

/** Four decimals without leading zeros, as every runtime writes them: read without a pattern, because each connect has one. */
function parseV4(text: string): Address | undefined {
  const bytes: number[] = [];
  let byte = 0;
  let digits = 0;
  for (let i = 0; i <= text.length; i++) {
    const unit = i < text.length ? text.charCodeAt(i) : DOT;
    if (unit === DOT) {
      if (digits === 0 || byte > 255) return undefined;
      bytes.push(byte);
      byte = 0;
      digits = 0;
    } else {
      const digit = unit - ZERO;
      if (digit < 0 || digit > 9 || digits === 3 || (digits > 0 && byte === 0)) return undefined;
      byte = byte * 10 + digit;
      digits++;
    }
  }
  return bytes.length === 4 ? bytes : undefined;
}

function parseOther(text: string): Address | undefined {
  const bare = text.startsWith("[") && text.endsWith("]") ? text.slice(1, -1) : text;
  const plain = bare.split("%")[0] as string;
  switch (isIP(plain)) {
    case 4:
      return plain.split(".").map(Number);
    case 6:
      return withoutMapping(parseV6(plain));
    default:
      return undefined;
  }
}

function parseV6(text: string): number[] {
  const dotted = text.match(/^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/);
  const hex = (high?: string, low?: string) => (Number(high) * 256 + Number(low)).toString(16);
  const pure = dotted ? `${dotted[1]}${hex(dotted[2], dotted[3])}:${hex(dotted[4], dotted[5])}` : text;
  const [head = "", tail] = pure.split("::");
  const groups = (part: string) => (part === "" ? [] : part.split(":").map((group) => Number.parseInt(group, 16)));
  const front = groups(head);
  const back = tail === undefined ? [] : groups(tail);
  const middle = new Array<number>(8 - front.length - back.length).fill(0);
  return [...front, ...middle, ...back].flatMap((group) => [group >> 8, group & 255]);
}

function withoutMapping(bytes: number[]): Address {
  const mapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255;
  return mapped ? bytes.slice(12) : bytes;
}

export function parseCidr(text: string): Cidr | undefined {
  const [host = "", prefix, ...rest] = text.trim().split("/");
  const base = parseAddress(host);
  if (!base || rest.length > 0) return undefined;
  const bitsMax = base.length * 8;
  if (prefix === undefined) return { base, bits: bitsMax };
  if (!/^\d{1,3}$/.test(prefix) || Number(prefix) > bitsMax) return undefined;
  return { base, bits: Number(prefix) };
}

export function contains(cidr: Cidr, address: Address): boolean {
  if (cidr.base.length !== address.length) return false;
  for (let bit = 0; bit < cidr.bits; bit += 8) {
    const mask = 0xff << Math.max(0, 8 - (cidr.bits - bit));
    const at = bit >> 3;
    if (((cidr.base[at] as number) & mask) !== ((address[at] as number) & mask)) return false;
  }
  return true;
}

const LOOPBACK: readonly Cidr[] = ["127.0.0.0/8", "::1/128"].flatMap((text) => parseCidr(text) ?? []);

export const isLoopback = (address: Address): boolean => LOOPBACK.some((cidr) => contains(cidr, address));

/** For people; groups of zeros are not shortened. */
export const formatAddress = (address: Address): string =>
  address.length === 4
    ? address.join(".")
    : Array.from({ length: 8 }, (_, i) =>
        (((address[2 * i] as number) << 8) | (address[2 * i + 1] as number)).toString(16),
      ).join(":");

/** An IPv6 client owns a whole /64: counted by single addresses, it would have no limit. */
export const rateKey = (address: Address): string =>
  address.length === 4 ? address.join(".") : address.slice(0, 8).join(":");

/** What the rate of a client is counted by where one network must not act as many: also by the /48, which a provider gives to one site. */
export interface Networks {
  /** As `rateKey`. */
  readonly address: string;
  /** IPv4 has none: its addresses are too few to be given away by the thousand. */
  readonly site: string | undefined;
}

export const networksOf = (address: Address): Networks => ({
  address: rateKey(address),
  site: address.length === 4 ? undefined : `${address.slice(0, 6).join(":")}/48`,
});

/** As people write it: dotted decimals, or the shortest form of RFC 5952. */
export function addressText(address: Address): string {
  if (address.length === 4) return address.join(".");
  const groups = Array.from({ length: 8 }, (_, i) =>
    ((address[2 * i] as number) * 256 + (address[2 * i + 1] as number)).toString(16),
  );
  const zeros = longestZeros(groups);
  if (zeros.length < 2) return groups.join(":");
  return `${groups.slice(0, zeros.from).join(":")}::${groups.slice(zeros.from + zeros.length).join(":")}`;
}

/** The first of the longest runs of groups that are zero. */
function longestZeros(groups: readonly string[]): { readonly from: number; readonly length: number } {
  let longest = { from: 0, length: 0 };
  for (let from = 0; from < groups.length; from++) {
    let length = 0;
    while (groups[from + length] === "0") length++;
    if (length > longest.length) longest = { from, length };
  }
  return longest;
}

/**
 * The client behind a request: the socket's address or, if that is a trusted proxy, the right-most entry of X-Forwarded-For
 * that is not one. The client can forge every entry to the left of that.
 */
export function clientAddress(socket: Address, forwardedFor: string | null, trusted: readonly Cidr[]): Address {
  const isTrusted = (address: Address) => trusted.some((cidr) => contains(cidr, address));
  if (!forwardedFor || !isTrusted(socket)) return socket;
  let client = socket;
  let end = forwardedFor.length;
  // From the right, and no further than needed: the client may have sent a hundred thousand entries.
  while (end >= 0) {
    const comma = end === 0 ? -1 : forwardedFor.lastIndexOf(",", end - 1);
    const address = parseAddress(withoutPort(forwardedFor.slice(comma + 1, end).trim()));
    if (!address) return client;
    client = address;
    if (!isTrusted(address)) return client;
    end = comma;
  }
  return client;
}

/** Some proxies write `1.2.3.4:5678` or `[::1]:5678`. */
const withoutPort = (entry: string): string =>
  entry.match(/^(\d+\.\d+\.\d+\.\d+):\d+$/)?.[1] ?? entry.match(/^(\[.*\]):\d+$/)?.[1] ?? entry;

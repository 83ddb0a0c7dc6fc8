/**
 * Keeps requests to addresses that others have named out of what is not public. `checkUrl` judges what is written, without resolving anything;
 * `passing` judges the addresses that the name has at the moment of a request. Every request MUST go through both.
 */
import { type Address, addressText, isLoopback, parseAddress } from "../base/address.ts";
import { type Allow, hostKey, isInNetworks } from "./allow.ts";
import { URL_MAX_CHARS } from "./limits.ts";
import { refusedRange } from "./ranges.ts";

export interface GuardRules {
  readonly allow: Allow;
  /** Names of this service, without port: a request to them could cause itself. Names below `.example.com` are written so. */
  readonly ownHosts: readonly string[];
  readonly ownPorts: readonly number[];
}

export interface Target {
  readonly url: URL;
  /** As in the URL; IPv6 in brackets. */
  readonly hostname: string;
  readonly port: number;
  /** undefined: the host is a name. */
  readonly literal: Address | undefined;
  /** What PARLEY_WEBHOOK_ALLOW opens is open to it. */
  readonly isTrusted: boolean;
}

export interface Refused {
  /** Names the rule; completes a sentence that begins with the URL. */
  readonly refused: string;
}

const PORTS: readonly number[] = [80, 443];

/** `isTrusted`: the URL is of someone for whom PARLEY_WEBHOOK_ALLOW holds. */
export function checkUrl(text: string, rules: GuardRules, isTrusted: boolean): Target | Refused {
  if (text.length > URL_MAX_CHARS) return refuse(`it has more than ${URL_MAX_CHARS} characters`);
  const url = URL.parse(text);
  if (!url || !/^https?:$/.test(url.protocol) || url.hostname === "") return refuse("it is not an http or https URL");
  if (url.username !== "" || url.password !== "")
    return refuse("it contains credentials; put them in a header instead");
  const { hostname } = url;
  const port = Number(url.port) || (url.protocol === "https:" ? 443 : 80);
  const isOpen = isTrusted && rules.allow.hosts.includes(hostKey(hostname, port));
  if (hostname.endsWith(".")) return refuse("its host ends with a dot");
  if (isOwn(hostname, rules) && (!isOpen || rules.ownPorts.includes(port)))
    return refuse("its host belongs to this service");
  const target = { url, hostname, port, literal: parseAddress(hostname), isTrusted };
  if (target.literal) {
    const refused = whyNot(target.literal, target, rules);
    if (refused !== undefined) return refuse(refused);
  } else if (!isOpen && /(^|\.)localhost$/.test(hostname) && !opensLoopback(target, rules))
    return refuse("its host is this machine (localhost)");
  if (!isOpen && !PORTS.includes(port) && !(isTrusted && rules.allow.networks.length > 0))
    return refuse(`its port is ${port}, and only 80 and 443 are called`);
  return target;
}

/** The addresses that may be called, IPv4 first: a machine may have no way to IPv6. */
export function passing(
  target: Target,
  addresses: readonly Address[],
  rules: GuardRules,
): readonly Address[] | Refused {
  const judged = addresses.map((address) => ({ address, refused: whyNot(address, target, rules) }));
  const good = judged.filter(({ refused }) => refused === undefined).map(({ address }) => address);
  if (good.length > 0) return good.toSorted((a, b) => a.length - b.length);
  return refuse(judged[0]?.refused ?? "its host does not resolve to an address");
}

function whyNot(address: Address, target: Target, rules: GuardRules): string | undefined {
  const { hostname, port, isTrusted, literal } = target;
  if (isLoopback(address) && rules.ownPorts.includes(port)) return "its address belongs to this service";
  if (isTrusted && (rules.allow.hosts.includes(hostKey(hostname, port)) || isInNetworks(rules.allow, address)))
    return undefined;
  const rule = refusedRange(address);
  // What the names inside the operator's network are is none of an application's business.
  const known = isTrusted || literal ? ` ${addressText(address)}` : "";
  if (rule !== undefined) return `its address${known} is not public: ${rule}`;
  return PORTS.includes(port) ? undefined : `its port is ${port}, and only 80 and 443 are called`;
}

const opensLoopback = ({ isTrusted }: Target, { allow }: GuardRules): boolean =>
  isTrusted && allow.networks.some(({ base }) => isLoopback(base));

const isOwn = (hostname: string, { ownHosts }: GuardRules): boolean =>
  ownHosts.some((own) => (own.startsWith(".") ? hostname.endsWith(own) : hostname === own));

const refuse = (refused: string): Refused => ({ refused });

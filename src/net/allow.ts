/** What an operator opens for endpoints of the control plane: networks, and single ports of single hosts. */
import { type Address, addressText, type Cidr, contains, parseCidr } from "../base/address.ts";

export interface Allow {
  /** Addresses that may be called, at every port. */
  readonly networks: readonly Cidr[];
  /** `host:port` as in a URL, in lower case: whatever address the host has. */
  readonly hosts: readonly string[];
}

export const NOTHING_ALLOWED: Allow = { networks: [], hosts: [] };

/** undefined: it is neither. */
export function parseAllow(text: string): Allow | undefined {
  const networks: Cidr[] = [];
  const hosts: string[] = [];
  for (const entry of text.split(",").map((one) => one.trim())) {
    const host = hostWithPort(entry);
    const cidr = host === undefined ? parseCidr(entry) : undefined;
    if (host !== undefined) hosts.push(host);
    else if (cidr) networks.push(cidr);
    else return undefined;
  }
  return { networks, hosts };
}

/** As it is in the URL of an endpoint: `http://[::1]:9000`. */
function hostWithPort(entry: string): string | undefined {
  const [, host = "", port = ""] = /^(\[[0-9a-fA-F:.]+\]|[^\s:/@?#[\]]+):(\d{1,5})$/.exec(entry) ?? [];
  const url = host === "" || Number(port) < 1 || Number(port) > 65_535 ? null : URL.parse(`http://${host}`);
  return url ? hostKey(url.hostname, Number(port)) : undefined;
}

export const hostKey = (hostname: string, port: number): string => `${hostname}:${port}`;

export const isInNetworks = ({ networks }: Allow, address: Address): boolean =>
  networks.some((cidr) => contains(cidr, address));

/** As it is written in the setting. */
export const allowText = ({ networks, hosts }: Allow): string =>
  [...networks.map(({ base, bits }) => `${addressText(base)}/${bits}`), ...hosts].join(",");

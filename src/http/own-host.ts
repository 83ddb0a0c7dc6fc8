/**
 * Whether a request names the service by an address of its own. The control plane and the figures answer only there: otherwise a
 * page of any site could let its name lead to this machine (DNS rebinding) and read them through a visitor's browser.
 */
import { isIP } from "node:net";

export class OwnHosts {
  private readonly names: ReadonlySet<string>;

  /** `publicUrls` are the service's addresses as its operator knows them. */
  constructor(publicUrls: readonly string[]) {
    this.names = new Set(publicUrls.map((url) => bare(new URL(url).host)));
  }

  /** `host` as in a Host header, with or without a port. Addresses and loopback names cannot be led elsewhere. */
  has(host: string | null): boolean {
    const name = bare(host ?? "");
    return isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost") || this.names.has(name);
  }
}

/** Without port, brackets, the dot behind it, and in lower case. */
const bare = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");

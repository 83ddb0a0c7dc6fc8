/**
 * Whether a request's host is one of the service's own. The control plane and the metrics exist only there: otherwise any web
 * site could point its name to this machine (DNS rebinding) and read them through a visitor's browser.
 */
import { isIP } from "node:net";

export class OwnHosts {
  /** Bound: the hosts of PARLEY_PUBLIC_URL. */
  private readonly names: ReadonlySet<string>;

  /** `publicUrls` is PARLEY_PUBLIC_URL. */
  constructor(publicUrls: readonly string[]) {
    this.names = new Set(publicUrls.map((url) => bare(new URL(url).host)));
  }

  /** `host` as in a Host header, with or without a port. IP addresses and loopback names cannot be rebound. */
  has(host: string | null): boolean {
    const name = bare(host ?? "");
    return isIP(name) !== 0 || name === "localhost" || name.endsWith(".localhost") || this.names.has(name);
  }
}

/** In lower case, without port, brackets and trailing dot. */
const bare = (host: string): string =>
  host
    .toLowerCase()
    .replace(/:\d+$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "");

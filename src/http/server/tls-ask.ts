/**
 * `/tls/ask?domain=`: whether a proxy may obtain a certificate for a host, as Caddy's on-demand TLS asks. It has no credential, because Caddy
 * sends none, and says nothing but yes or no.
 */
import { Problem } from "../../protocol/codes.ts";
import type { Call } from "../request/call.ts";
import { appLabel } from "../request/host.ts";
import { queryOf } from "../request/query.ts";
import { onlyRead } from "./pipeline.ts";

export const TLS_ASK_PATH = "/tls/ask";

export interface TlsAskParts {
  readonly domain: string;
  /** PARLEY_PUBLIC_URL. */
  readonly publicUrl: readonly string[];
  /** The operator's listener is not the public one. */
  readonly hasAdminListener: boolean;
  readonly hasApp: (name: string) => boolean;
}

export function tlsAsk({ domain, publicUrl, hasAdminListener, hasApp }: TlsAskParts): (call: Call) => object {
  const own = new Set([domain, ...publicUrl.map((url) => new URL(url).hostname)]);
  return (call) => {
    onlyRead(call);
    // On the public listener strangers could find out the names of applications: only a proxy on this machine may ask there.
    if (!hasAdminListener && !call.isLocal) throw new Problem("not_found");
    const host = (queryOf(call.request).get("domain") ?? "").toLowerCase();
    const app = appLabel(host, domain);
    if (!own.has(host) && (app === undefined || host !== `${app}.${domain}` || !hasApp(app)))
      throw new Problem("not_found");
    return { allowed: true };
  };
}

/** Applications live at `<app>.<domain>`: which one a request names. */
import { type Call, queryOf } from "./call.ts";

/** For clients whose resolver does not know `*.localhost`: the application's name, on any host that is not an application's. */
export const APP_HEADER = "X-Parley-App";
/** What follows a link sends no header of ours: these addresses, which carry their own proof, may name it in their query. */
const LINKED = /^[^?]*\/api\/v1\/(file|upload)\//;

/** undefined: the request is not for an application. */
export function namedApp(call: Call, domain: string): string | undefined {
  return appLabel(call.host, domain) ?? namedBeside(call);
}

/** Where the host does not say it. */
function namedBeside({ request }: Call): string | undefined {
  const named = request.headers.get(APP_HEADER) || (LINKED.test(request.url) && queryOf(request).get("app"));
  return named ? named.toLowerCase() : undefined;
}

/** A link to ourselves, which must name the application where the host it begins with does not. */
export function linkFrom(call: Call, domain: string, url: string): string {
  const app = appLabel(call.host, domain) === undefined ? namedBeside(call) : undefined;
  // A link to a bucket is the bucket's own.
  return app === undefined || !url.startsWith(call.origin) ? url : `${url}&app=${encodeURIComponent(app)}`;
}

/** The one label under the domain, or undefined if the host is not an application's. */
export function appLabel(host: string | null, domain: string): string | undefined {
  const bare = (host ?? "").toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
  if (!bare.endsWith(`.${domain}`)) return undefined;
  const label = bare.slice(0, -domain.length - 1);
  return label !== "" && !label.includes(".") ? label : undefined;
}

/** `/`: introduces the service, with a chat and a call between two tabs. The page loads nothing from other hosts. */
import { isLoopback, parseAddress } from "../access/address.ts";
import type { Call } from "./call.ts";
import type { Pages } from "./pages/pages.ts";

/**
 * A browser on the server's own machine. Its address bar must name this machine too: otherwise any web site could point its
 * own name to 127.0.0.1 (DNS rebinding) and read the key.
 */
function isOnThisMachine({ request: { headers }, isLocal }: Call): boolean {
  const name = (headers.get("host") ?? "").toLowerCase().replace(/:\d+$/, "");
  const address = parseAddress(name);
  const isOwnName = address ? isLoopback(address) : name === "localhost";
  return isLocal && isOwnName;
}

/** `demoKey` is the id of a publishable key that every origin may use. It is shown only to browsers on this machine. */
export const startPage =
  (pages: Pages, demoKey: () => string | undefined) =>
  (call: Call): Response => {
    const key = isOnThisMachine(call) ? demoKey() : undefined;
    return pages.page("start", call, (html) => html.replace('data-key=""', () => `data-key="${key ?? ""}"`));
  };

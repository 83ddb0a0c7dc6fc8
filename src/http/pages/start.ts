/** `/`: introduces the service, and on this machine a demo: messages, presence and a call. The page loads nothing from other hosts. */
import { isLoopback, parseAddress } from "../../base/address.ts";
import type { Call } from "../request/call.ts";
import { onlyRead } from "../server/pipeline.ts";
import type { PageServer } from "./pages.ts";

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

/** The id of a publishable key that every origin may use. It is shown only to browsers on this machine. */
type DemoKey = () => string | undefined;

interface StartParts {
  readonly pages: PageServer;
  readonly version: string;
  readonly demoKey: DemoKey;
  /** The dashboard is at the same address as this page. */
  readonly linksDashboard: boolean;
}

export const startPage =
  ({ pages, version, demoKey, linksDashboard }: StartParts) =>
  (call: Call): Response | Promise<Response> => {
    const key = isOnThisMachine(call) ? demoKey() : undefined;
    return pages.page("start", call, (html) => {
      const page = (linksDashboard ? html : html.replace(DASHBOARD, "")).replace("%version%", () => version);
      // Without a key, nothing of the demo is left: a quiet page.
      return key === undefined
        ? page.replace(DEMO, "").replace(' data-key=""', "")
        : page.replace('data-key=""', () => `data-key="${key}"`);
    });
  };

/** The demo's names, for the code on pages of the documentation: these are the same for all readers, and kept by browsers. */
export const demoNames =
  (demoKey: DemoKey) =>
  (call: Call): Response => {
    onlyRead(call);
    const key = isOnThisMachine(call) ? demoKey() : undefined;
    return Response.json(key === undefined ? {} : { publishableKey: key });
  };

/** Parts of the page's HTML, between two comments. */
const DASHBOARD = /<!-- dashboard -->[\s\S]*?<!-- \/dashboard -->/g;
const DEMO = /<!-- demo -->[\s\S]*?<!-- \/demo -->/g;

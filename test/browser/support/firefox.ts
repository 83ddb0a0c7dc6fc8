/** Debian's Firefox ESR, headless, with a generated camera picture and no permission prompts. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Browser, firefox } from "playwright-core";
import { SCHEME, type Scheme } from "./firefox/scheme.ts";
import { oneForAll } from "./shared.ts";

const PROGRAM = process.env.PARLEY_TEST_FIREFOX ?? "/usr/bin/firefox-esr";

const PREFERENCES = {
  "media.navigator.streams.fake": true,
  "media.navigator.permission.disabled": true,
  "media.autoplay.default": 0,
  // Two pages on this machine, which may have no network besides.
  "media.peerconnection.ice.loopback": true,
  // Without multicast, two pages on this machine could not resolve each other's hidden (mDNS) address.
  "media.peerconnection.ice.obfuscate_host_addresses": false,
};

/** 0 and 1 are how Firefox counts them. */
const SCHEMES = { dark: 0, light: 1 } as const;

/** Its pages are drawn in these colours alone: `colorScheme` of a context must be the same (firefox/bridge.ts). */
function launch(scheme: Scheme, more: Readonly<Record<string, boolean>> = {}): Promise<Browser> {
  if (!existsSync(PROGRAM)) throw new Error("there is no Firefox here: apt-get install -y firefox-esr");
  return firefox.launch({
    // Any Firefox, over WebDriver BiDi: without it, playwright asks for a build of its own.
    channel: "moz-firefox",
    executablePath: join(import.meta.dir, "firefox/firefox"),
    env: {
      ...process.env,
      PARLEY_TEST_BUN: process.execPath,
      PARLEY_TEST_FIREFOX: PROGRAM,
      [SCHEME]: scheme,
    },
    firefoxUserPrefs: { ...PREFERENCES, "layout.css.prefers-color-scheme.content-override": SCHEMES[scheme], ...more },
  });
}

export const launchFirefox = oneForAll(() => launch("light"));
export const launchDarkFirefox = oneForAll(() => launch("dark"));
/** After failures, Firefox delays the next WebSocket to a server, by more with each. Many clients in one page fail more often than one per tab. */
export const launchEagerFirefox = oneForAll(() =>
  launch("light", { "network.websocket.delay-failed-reconnects": false }),
);

/** Debian's Chromium, without a screen, with a camera that is a drawing and needs no permission. */
import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

const EXECUTABLE = process.env.PARLEY_TEST_CHROMIUM ?? "/usr/bin/chromium";

const ARGS = [
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--use-fake-device-for-media-stream",
  "--use-fake-ui-for-media-stream",
  `--disable-features=${[
    // Two pages on a machine without multicast could not look each other's hidden address up.
    "WebRtcHideLocalIpsWithMdns",
    // Our list takes the place of playwright's: from that one, what keeps Chromium from calling home.
    "AimEnabled",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PreconnectToSearch",
    "Translate",
  ].join(",")}`,
];

export function launchChromium(): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) throw new Error("chromium is missing: apt-get install -y chromium");
  return chromium.launch({ executablePath: EXECUTABLE, args: ARGS });
}

/** Debian's Chromium, headless, with a generated camera picture and no permission prompts. */
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
  // The fewest pictures per second that it generates: each one is encoded and decoded, without a graphics card.
  "--use-fake-device-for-media-stream=fps=5",
  "--use-fake-ui-for-media-stream",
  // Pages that may share a renderer do: starting one per page, and spare ones, takes more CPU than most tests.
  "--renderer-process-limit=1",
  "--disable-site-isolation-trials",
  `--disable-features=${[
    "SpareRendererForSitePerProcess",
    "ProactivelySwapBrowsingInstance",
    // Without multicast, two pages on this machine could not resolve each other's hidden (mDNS) address.
    "WebRtcHideLocalIpsWithMdns",
    // Our list replaces playwright's; these options of it keep Chromium from contacting its vendor.
    "AimEnabled",
    "MediaRouter",
    "NetworkTimeServiceQuerying",
    "OptimizationHints",
    "PreconnectToSearch",
    "Translate",
  ].join(",")}`,
];

/** `wrapped`: a program that runs it elsewhere; it gets the path of Chromium and its arguments. */
export function launchChromium(wrapped?: (executable: string) => string): Promise<Browser> {
  if (!existsSync(EXECUTABLE)) throw new Error("chromium is missing: apt-get install -y chromium");
  return chromium.launch({ executablePath: wrapped?.(EXECUTABLE) ?? EXECUTABLE, args: ARGS });
}

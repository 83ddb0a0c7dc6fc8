/** Debian's Chromium, headless, with a generated camera picture and no permission prompts. */
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium } from "playwright-core";
import { oneForAll } from "./shared.ts";

/** The shell has no windows: it takes half of the CPU time of the whole browser without a screen. */
const PROGRAMS = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];
const EXECUTABLE = process.env.PARLEY_TEST_CHROMIUM ?? PROGRAMS.find((path) => existsSync(path)) ?? "";

/** undefined if there is a browser. */
export const missingBrowser = existsSync(EXECUTABLE) ? undefined : "there is no Chromium here";

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
    // A page that plays one of another host, without https, must reach the service here.
    "LocalNetworkAccessChecks",
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
export async function launchChromium(wrapped?: (executable: string) => string): Promise<Browser> {
  if (missingBrowser) throw new Error(`${missingBrowser}: apt-get install -y chromium-headless-shell`);
  return wrapped ? launch(wrapped(EXECUTABLE)) : launchShared();
}

/** Started by another program, such as one that puts it into another network. `folder` is for the script that does so. */
export const launchChromiumBy = (prefix: readonly string[], folder: string): Promise<Browser> =>
  launchChromium((executable) => {
    const program = join(folder, "chromium");
    writeFileSync(program, `#!/bin/sh\nexec ${[...prefix, executable].join(" ")} "$@"\n`);
    chmodSync(program, 0o755);
    return program;
  });

const launch = (executablePath = EXECUTABLE): Promise<Browser> => chromium.launch({ executablePath, args: ARGS });

const launchShared = oneForAll(launch);

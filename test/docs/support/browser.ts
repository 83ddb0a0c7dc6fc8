/** The system's Chromium, if there is one. */
import { type Browser, chromium } from "playwright-core";

const executablePath = Bun.which("chromium") ?? Bun.which("chromium-browser") ?? Bun.which("google-chrome");

/** undefined if there is a browser. */
export const missingBrowser = executablePath === null ? "there is no Chromium here" : undefined;

/** Without its sandbox: it shows our own pages only, and the sandbox does not work as root in a container. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });

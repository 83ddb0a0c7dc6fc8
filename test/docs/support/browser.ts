/** The system's Chromium, if there is one. */
import { type Browser, chromium } from "playwright-core";

const executablePath = Bun.which("chromium") ?? Bun.which("chromium-browser") ?? Bun.which("google-chrome");

/** undefined if there is a browser. */
export const missingBrowser = executablePath === null ? "there is no Chromium here" : undefined;

/** Without the sandbox, which does not work as root in a container; only our own pages are shown. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: executablePath ?? "", args: ["--no-sandbox"] });

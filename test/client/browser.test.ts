/** The client in pages of another origin, in Chromium: without a bundler from /client.js; with --full also built by Vite. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launchChromium } from "../browser/support/chromium.ts";
import { serverForTests } from "../support/for-tests.ts";
import { IS_FULL } from "../support/slack.ts";
import { EmptyProject } from "./support/project.ts";
import { StaticSite } from "./support/site.ts";

setDefaultTimeout(120_000);

/** Only these tests need it: they install it into a folder that is removed. */
const VITE = "vite@8.3.8";
const CORE_MAX_BYTES = 9152;

const server = await serverForTests();
const file = `${server.url}/client.js`;
const readApp = (name: string): string => readFileSync(join(import.meta.dir, "apps", name), "utf8");
const app = readApp("page.mjs");
const call = `talk(${JSON.stringify(server.url)}, ${JSON.stringify(server.keys.publishableKey)});`;
let browser: Browser;

beforeAll(async () => {
  browser = await launchChromium();
});

afterAll(() => browser?.close());

const page = (head: string): string =>
  `<!doctype html><title>App</title><link rel="icon" href="data:,">${head}<output></output>`;

/** What the page shows in <output> in the end. */
async function shownBy(files: Readonly<Record<string, string>>): Promise<unknown> {
  await using site = new StaticSite(files);
  const tab = await browser.newPage();
  const faults: string[] = [];
  tab.on("pageerror", ({ message }) => faults.push(message));
  tab.on("console", (message) => message.type() === "error" && faults.push(message.text()));
  try {
    await tab.goto(`${site.origin}/`);
    const output = tab.locator("output:not(:empty)");
    await output.waitFor({ state: "attached", timeout: 20_000 }).catch(() => undefined);
    expect(faults).toEqual([]);
    return JSON.parse((await output.textContent({ timeout: 1000 })) ?? "");
  } finally {
    await tab.close();
  }
}

const talked = { heard: { text: "hello" }, isOneClass: true, earlier: 0, states: 0 };

// On the other days, the pages of docs/client-script.md show the same.
describe("a page without a bundler", () => {
  test("works with one <script type=module>", async () => {
    const inline = app.replaceAll(/"parley-client[^"]*"/g, JSON.stringify(file));
    const html = page(`<script type="module">${inline}\n${call}</script>`);
    expect(await shownBy({ "/": html })).toEqual(talked);
  });

  test("works with an import map, under the names that the package has for bundlers", async () => {
    const names = ["parley-client", "parley-client/history", "parley-client/queue", "parley-client/state"];
    const map = JSON.stringify({ imports: Object.fromEntries(names.map((name) => [name, file])) });
    const script = `import { talk } from "/app.mjs"; ${call}`;
    const html = page(`<script type="importmap">${map}</script><script type="module">${script}</script>`);
    expect(await shownBy({ "/": html, "/app.mjs": app })).toEqual(talked);
  });
});

describe.skipIf(!IS_FULL)("an application that Vite has built", () => {
  let project: EmptyProject;

  beforeAll(async () => {
    project = await EmptyProject.withPackage();
    await project.run(["npm", "install", "--no-audit", "--no-fund", "--save-dev", VITE]);
    project.link("react", "react-dom");
  });

  afterAll(() => project?.remove());

  test("works", async () => {
    expect(await shownBy(await built(calling(app)))).toEqual(talked);
  });

  test("works with React", async () => {
    const shown = await shownBy(await built(calling(readApp("react.mjs"))));
    expect(shown).toEqual({ state: "connected", heard: { text: "hello" } });
  });

  test(`has at most ${CORE_MAX_BYTES} bytes with the core`, async () => {
    const main = 'import { Parley } from "parley-client"; globalThis.parley = new Parley(globalThis.options);';
    const script = Object.entries(await built({ "main.js": main })).find(([path]) => path.endsWith(".js"));
    const bytes = Bun.gzipSync(script?.[1] ?? "", { level: 9 }).length;
    console.log(`core, built by Vite: ${bytes} bytes`);
    expect(bytes).toBeLessThanOrEqual(CORE_MAX_BYTES);
    expect(script?.[1]).not.toContain("message_expired");
  });

  const calling = (module: string): Record<string, string> => ({
    "app.mjs": module,
    "main.js": `import { talk } from "./app.mjs"; ${call}`,
  });

  /** The files that Vite makes of these. */
  async function built(sources: Readonly<Record<string, string>>): Promise<Record<string, string>> {
    // Vite's own addition for older browsers is no part of the client's size.
    project.write("vite.config.js", "export default { build: { modulePreload: { polyfill: false } } };");
    project.write("index.html", page('<script type="module" src="/main.js"></script>'));
    for (const [path, text] of Object.entries(sources)) project.write(path, text);
    await project.run(["node", "node_modules/vite/bin/vite.js", "build"]);
    const dist = join(project.folder, "dist");
    const paths = (readdirSync(dist, { recursive: true }) as string[]).filter((path) => /\.(js|html)$/.test(path));
    const files = paths.map((path) => [`/${path}`, readFileSync(join(dist, path), "utf8")]);
    return Object.fromEntries(files.map(([path, text]) => [path === "/index.html" ? "/" : path, text]));
  }
});

/** docs/client-script.md: its pages work as they are, at an origin of their own, and what it says about /client.js is true. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Browser, Locator, Page } from "playwright-core";
import manifest from "../../package.json" with { type: "json" };
import { launchChromium, missingBrowser } from "../browser/support/chromium.ts";
import { StaticSite } from "../client/support/site.ts";
import { type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { block, blocks, readPage } from "./support/page.ts";

setDefaultTimeout(60_000);

const PAGE = "docs/client-script.md";
const LOADS_MAX = 10;

let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server.stop());

const here = (text: string): string =>
  text.replaceAll("http://localhost:8080", server.url).replace("pk_live_…", server.keys.publishableKey);

if (missingBrowser) console.warn(`NOT RUN: the pages of ${PAGE}, since ${missingBrowser}`);

// On the other days, test/client/browser.test.ts shows the same with pages of its own.
describe.skipIf(missingBrowser !== undefined || !IS_FULL)("its pages", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());

  const opened = async (site: StaticSite): Promise<Page> => {
    const page = await browser.newPage();
    await page.goto(`${site.origin}/`);
    return page;
  };

  const isShown = (item: Locator): Promise<boolean> =>
    item.waitFor({ timeout: 2000 }).then(
      () => true,
      () => false,
    );

  test("one script: the first tab shows the hello of the second", async () => {
    await using site = new StaticSite({ "/": here(block(PAGE, "html", "One script")) });
    const one = await opened(site);
    const other = await opened(site);
    // If the first tab has not subscribed yet, it shows what the next load of the second one publishes.
    const hello = one.locator("li").first();
    for (let loads = 1; loads < LOADS_MAX && !(await isShown(hello)); loads++) await other.reload();
    expect(await hello.textContent()).toMatch(/^[\w-]+: hello$/);
    await Promise.all([one.close(), other.close()]);
  });

  test("an import map: the names of the package are found", async () => {
    await using site = new StaticSite({ "/": here(block(PAGE, "html", "An import map")) });
    const page = await opened(site);
    const output = page.locator("output:not(:empty)");
    await output.waitFor({ state: "attached" });
    expect(await output.textContent()).toBe("0 messages are stored");
    await page.close();
  });

  test("a policy: a page with it loads the file and connects", async () => {
    const [, policy = ""] =
      /^Content-Security-Policy: (.+)$/m.exec(
        blocks(PAGE)
          .map(({ text }) => text)
          .join("\n"),
      ) ?? [];
    const allowed = policy
      .replaceAll("https://parley.example.com", server.url)
      .replaceAll("wss://parley.example.com", server.url.replace("http", "ws"));
    const [, script = ""] = /<script type="module">(.*)<\/script>/s.exec(here(block(PAGE, "html", "One script"))) ?? [];
    const html = (content: string): string =>
      `<!doctype html><meta http-equiv="Content-Security-Policy" content="${content}"><ul></ul><script type="module" src="/app.js"></script>`;
    const app = `${script}\ndocument.querySelector("ul").id = "connected";`;
    await using site = new StaticSite({ "/": html(allowed), "/app.js": app });
    // Not by a function, which such a page does not evaluate.
    await (await opened(site)).locator("#connected").waitFor({ state: "attached" });
    // Without it, neither the file nor the connection is allowed.
    await using strict = new StaticSite({ "/": html("script-src 'self'; connect-src 'self'"), "/app.js": app });
    const refused = await browser.newPage();
    const report = refused.waitForEvent("console", (message) => message.text().includes("Content Security Policy"));
    await refused.goto(`${strict.origin}/`);
    expect((await report).text()).toContain("client.js");
  });
});

test("the file has the version in its ETag, and the headers that the page names", async () => {
  const text = readPage(PAGE);
  const response = await fetch(`${server.url}/client.js`);
  const tag = response.headers.get("etag") ?? "";
  expect(tag).toMatch(new RegExp(`^W/"${RegExp.escape(manifest.version)}-[0-9a-f]{16}"$`));
  const [example = ""] = /W\/"\d[^"]+"/.exec(text) ?? [];
  expect(example.replace(/-[0-9a-f]+"$/, "")).toBe(tag.replace(/-[0-9a-f]+"$/, ""));
  expect(example).toHaveLength(tag.length);
  for (const [name, value] of [
    ["Access-Control-Allow-Origin", "*"],
    ["Cache-Control", "no-cache"],
  ] as const) {
    expect(response.headers.get(name)).toBe(value);
    expect(text).toContain(`\`${name}: ${value}\``);
  }
  const later = await fetch(`${server.url}/client.js`, { headers: { "If-None-Match": tag } });
  expect(later.status).toBe(304);
  expect((await fetch(`${server.url}/client.js`, { method: "HEAD" })).status).toBe(200);
});

test("it exports everything that the import map names, and not React", async () => {
  const names = [...block(PAGE, "html", "An import map").matchAll(/import \{ (\w+) \} from "parley-client/g)];
  const exported = Object.keys(await import(await saved()));
  expect(exported).toEqual(expect.arrayContaining(names.map(([, name]) => name)));
  expect(exported).toEqual(expect.arrayContaining(["history", "stateOf", "ParleyError"]));
  expect(exported.filter((name) => /^use|Provider/.test(name))).toEqual([]);
});

/** Modules cannot be imported over HTTP here. */
async function saved(): Promise<string> {
  const text = await (await fetch(`${server.url}/client.js`)).text();
  return `data:text/javascript;base64,${Buffer.from(text).toString("base64")}`;
}

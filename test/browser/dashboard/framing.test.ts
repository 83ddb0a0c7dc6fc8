/** No page may show the dashboard in a frame: its visitor could be led to click there unknowingly. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { until } from "../../support/wait.ts";
import { browserForTests } from "../support/dashboard.ts";
import { dashboardServer } from "../support/seeds.ts";

setDefaultTimeout(60_000);

const browser = browserForTests();
const server = await dashboardServer();
const { port } = new URL(server.url);
const frames = `<!doctype html><iframe id="a" src="${server.url}/dashboard"></iframe><iframe id="b" src="${server.url}/dashboard/apps/x/keys"></iframe>`;
const hostile = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  fetch: () => new Response(frames, { headers: { "Content-Type": "text/html" } }),
});

afterAll(() => hostile.stop(true));

test("the dashboard's policy is the strict one on each of its addresses", async () => {
  for (const path of ["/dashboard", "/dashboard/apps/x/keys"]) {
    const { headers } = await fetch(server.url + path);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; media-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    );
    expect(headers.get("x-frame-options")).toBe("DENY");
  }
});

// An application's host is same-site with the service, so cookies would be sent.
test.each(["127.0.0.1", "shop.localhost"])("a page on %s cannot frame it", async (host) => {
  const context = await browser().newContext();
  try {
    const page = await context.newPage();
    const refused: string[] = [];
    page.on("console", (message) => {
      if (message.text().includes("frame-ancestors")) refused.push(message.text());
    });
    await page.goto(`http://${host}:${hostile.port}/`);
    const shown = page.frames().slice(1);
    expect(shown.length).toBe(2);
    for (const frame of shown) expect(await frame.locator("#app").count()).toBe(0);
    await until("the browser refuses both frames", async () => refused.length === 2);
    expect(refused.every((text) => text.includes(port))).toBe(true);
  } finally {
    await context.close();
  }
});

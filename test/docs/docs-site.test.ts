/** The documentation as a node serves it and as `npm run docs` writes it, without a browser. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { run } from "./support/child.ts";
import { PROJECT } from "./support/page.ts";
import { MARKUP_FROM_TEXT, scriptsOf } from "./support/page-scripts.ts";

let node: Server;
beforeAll(async () => {
  node = await startParley();
});
afterAll(() => node.stop());

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(node.url + path, { headers });

describe("a node", () => {
  test("serves pages with the policy of its other pages, and they load nothing from other hosts", async () => {
    const start = await get("/");
    for (const path of ["/docs", "/docs/quickstart", "/docs/decisions/01-bun"]) {
      const response = await get(path);
      expect([path, response.status, response.headers.get("content-type")]).toEqual([
        path,
        200,
        "text/html; charset=utf-8",
      ]);
      const policy = "content-security-policy";
      expect(response.headers.get(policy)).toBe(start.headers.get(policy));
      const page = await response.text();
      expect(page).not.toMatch(/<script>|<style|style="| on\w+="|%\w+%/);
      for (const [, target = ""] of page.matchAll(/(?:src|<link[^>]*href)="([^"]*)"/g))
        expect(target).toMatch(/^(data:,|\/(?!\/))/);
      expect((await scriptsOf(node.url + path, page)).match(MARKUP_FROM_TEXT)).toBeNull();
    }
  });

  test("has every page of the list, pictures, Markdown and files for programs", async () => {
    expect((await get("/docs/")).url).toEndWith("/docs");
    const front = await (await get("/docs")).text();
    const paths = [...front.matchAll(/href="(\/docs\/[^"]+)"/g)].map(([, path = ""]) => path);
    expect(paths.length).toBeGreaterThan(70);
    for (const path of new Set(paths)) expect([path, (await get(path)).status]).toEqual([path, 200]);
    for (const [path, type] of [
      ["/docs/images/dashboard-overview.png", "image/png"],
      ["/docs/images/performance.svg", "image/svg+xml"],
      ["/docs/tour.md", "text/markdown; charset=utf-8"],
      ["/docs/asyncapi.yaml", "text/plain; charset=utf-8"],
      ["/docs/search.js", "text/javascript; charset=utf-8"],
      ["/llms.txt", "text/plain; charset=utf-8"],
      ["/llms-full.txt", "text/plain; charset=utf-8"],
    ] as const) {
      const { status, headers } = await get(path);
      expect([path, status, headers.get("content-type")]).toEqual([path, 200, type]);
    }
  });

  test("sends a page that a browser has already only once, and compressed", async () => {
    const { headers } = await get("/docs/limits", { "Accept-Encoding": "gzip" });
    expect(headers.get("content-encoding")).toBe("gzip");
    const second = await get("/docs/limits", { "If-None-Match": headers.get("etag") ?? "" });
    expect(second.status).toBe(304);
  });

  test("answers an unknown address with a page to people, with an error to programs, and with no file", async () => {
    const page = await get("/docs/nothing", { Accept: "text/html" });
    expect([page.status, page.headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain("Page not found");
    for (const path of [
      "/docs/nothing",
      "/docs/404",
      "/docs/..%2Fpackage.json",
      "/docs/%2e%2e/package.json",
      "/docs/a/b/c",
    ]) {
      const { status, headers } = await get(path);
      expect([path, status, headers.get("content-type")]).toEqual([path, 404, "application/json;charset=utf-8"]);
    }
    expect((await fetch(`${node.url}/docs/tour`, { method: "POST" })).status).toBe(405);
  });
});

describe("npm run docs", () => {
  test("writes the same pages into a folder, whose links all lead to a file in it", async () => {
    using folder = scratch();
    const out = join(folder.path, "site");
    const write = () => run([process.execPath, join(PROJECT, "scripts/docs.ts"), "--out", out]);
    expect(await write()).toMatchObject({ code: 0, err: "" });
    const pages = [...new Bun.Glob("**/*.html").scanSync(out)];
    expect(pages.length).toBeGreaterThan(45);
    for (const page of pages) {
      const html = readFileSync(join(out, page), "utf8");
      expect(html).not.toContain("crossorigin");
      for (const [, target = ""] of html.matchAll(/(?:href|src|data-search)="([^"#]+)[^"]*"/g)) {
        if (/^(https?:|data:)/.test(target)) continue;
        expect([page, target, existsSync(join(out, page, "..", target))]).toEqual([page, target, true]);
      }
    }
    // Once more over its own files, and never over those of others.
    expect((await write()).code).toBe(0);
    writeFileSync(join(folder.path, "mine.txt"), "");
    const refused = await run([process.execPath, join(PROJECT, "scripts/docs.ts"), "--out", folder.path]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("name an empty folder with --out")]);
  });
});

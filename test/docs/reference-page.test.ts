/** What can be tested of /docs/api without a browser: how a node serves it, and that it loads nothing from other hosts. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Server, startParley } from "../support/parley.ts";
import { MARKUP_FROM_TEXT, scriptsOf } from "./support/page-scripts.ts";

let node: Server;
let response: Response;
let page: string;

beforeAll(async () => {
  node = await startParley();
  response = await fetch(`${node.url}/docs/api`);
  page = await response.text();
});

afterAll(() => node.stop());

test("a node serves the page as HTML with a policy that allows only its own script and its own server", () => {
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("connect-src 'self'");
  expect(policy).not.toMatch(/https?:|\*|unsafe/);
});

test("the page refers to no other host", () => {
  expect(page.match(/https?:\/\/|@import|\burl\(/g)).toBeNull();
  for (const [, target = ""] of page.matchAll(/(?:href|src|action)="([^"]*)"/g))
    expect(target).toMatch(/^(#|data:,|\/(?!\/))/);
});

test("the page has nothing inline, and its script never makes markup from data", async () => {
  expect(page).not.toMatch(/<script>|<style|style="/);
  const script = await scriptsOf(`${node.url}/docs/api`, page);
  expect(script).toContain("/openapi.json");
  expect(script.match(MARKUP_FROM_TEXT)).toBeNull();
});

test("without JavaScript a line points to the document", () => {
  expect(page.match(/<noscript>(.*)<\/noscript>/)?.[1]).toContain('href="/openapi.json"');
});

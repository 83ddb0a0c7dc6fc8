/** What can be tested of /docs without a browser: how a node serves it, and that it loads nothing from other hosts. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { type Server, startParley } from "../support/parley.ts";

let node: Server;
let response: Response;
let page: string;

beforeAll(async () => {
  node = await startParley();
  response = await fetch(`${node.url}/docs`);
  page = await response.text();
});

afterAll(() => node.stop());

/** The page's own script, as the browser receives it. */
const script = (): string => page.match(/<script>([\s\S]*)<\/script>/)?.[1] ?? "";

test("a node serves the page as HTML with a policy that allows only its own script and its own server", () => {
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("connect-src 'self'");
  expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
});

test("the page refers to no other host", () => {
  expect(page.match(/https?:\/\/|@import|\burl\(/g)).toBeNull();
  for (const [, target = ""] of page.matchAll(/(?:href|src|action)="([^"]*)"/g))
    expect(target).toMatch(/^(#|\/(?!\/))/);
});

test("the page's script is well-formed and never makes markup from data", () => {
  expect(() => new Function(script())).not.toThrow();
  expect(script()).toContain('fetch("/openapi.json")');
  expect(script().match(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\b/g)).toBeNull();
});

test("without JavaScript a line points to the document", () => {
  expect(page.match(/<noscript>(.*)<\/noscript>/)?.[1]).toContain('href="/openapi.json"');
});

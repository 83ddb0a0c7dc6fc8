/** `/<roomName>` without an application in the host: browsers get a page that says where rooms are, programs the error as before. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";

/** As Chromium sends it. */
const ACCEPT = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

let server: Server;
beforeAll(async () => {
  server = await startParley();
});
afterAll(() => server.stop());

const open = (path: string, headers: Record<string, string> = {}, method = "GET") =>
  call(server.url + path, { method, headers: { Accept: ACCEPT, ...headers } });

test("a browser that leaves out the application's name gets a page that says where rooms are", async () => {
  const { port } = new URL(server.url);
  for (const path of ["/weekly", "/weekly/"]) {
    const { status, headers, text } = await open(path, { Host: `localhost:${port}` });
    expect([status, headers.get("content-type")]).toEqual([404, "text/html; charset=utf-8"]);
    expect(text).toContain("<h1>Nothing found here</h1>");
    expect(text).toContain(`You can find rooms at <code>http://APP.localhost:${port}/NAME</code>.`);
    expect(headers.get("content-security-policy")).toContain("default-src 'none'");
  }
});

test("in the browser's language", async () => {
  const { text } = await open("/weekly", { "Accept-Language": "de-CH,de;q=0.9" });
  expect(text).toContain('lang="de"');
  expect(text).toContain("Hier gibt es nichts");
});

test("it takes a token out of the address, as the page of a room that does not exist", async () => {
  const { text } = await open("/weekly");
  const scripts = [...text.matchAll(/<script src="([^"]+)"/g)].map(([, path = ""]) => path);
  expect(scripts).toHaveLength(1);
  const script = await call(server.url + scripts[0]);
  expect([script.status, script.text]).toEqual([200, expect.stringContaining("token") as string]);
});

test("programs, other methods and other paths get the error as JSON", async () => {
  const refusals = [
    await call(`${server.url}/weekly`),
    await call(`${server.url}/weekly`, { headers: { Accept: "application/json" } }),
    await open("/weekly", {}, "POST"),
    await open("/weekly/more"),
  ];
  expect(refusals.map(({ status, body }) => [status, body.error])).toEqual(refusals.map(() => [404, "not_found"]));
});

test("a host with plain characters that is none is not found", async () => {
  for (const Host of ["[", "a:b:c"]) {
    const { status, body } = await open("/weekly", { Host });
    expect([Host, status, body.error]).toEqual([Host, 404, "not_found"]);
  }
});

test("on an application's host nothing changes: a room that does not exist", async () => {
  const { status, text } = await open("/weekly", { Host: "demo.localhost" });
  expect(status).toBe(404);
  expect(text).toContain("<h1>Room not found</h1>");
});

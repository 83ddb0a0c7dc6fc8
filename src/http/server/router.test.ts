import { afterAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { z } from "zod";
import { Throttle } from "../../base/throttle.ts";
import { makeLog } from "../../telemetry/log.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { type Endpoint, endpoint, open } from "./endpoint.ts";
import { RequestPipeline } from "./pipeline.ts";
import { routesOf } from "./router.ts";
import { UnauthenticatedLimit } from "./unauthenticated-limit.ts";

const metrics = new Metrics();
const pipeline = new RequestPipeline({
  log: makeLog("silent", "json", "test"),
  metrics,
  trustedProxies: [],
  domain: "example.com",
  unauthenticated: new UnauthenticatedLimit(new Throttle(0, 0, () => 0)),
});

const named = (method: "GET" | "POST", path: string): Endpoint =>
  endpoint({
    method,
    path,
    tag: "test",
    summary: "",
    guard: open,
    hasRawSlashes: true,
    response: () => z.unknown(),
    handle: (call) => ({ ...call.params, requestId: call.requestId }),
  });

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  routes: {
    ...routesOf(pipeline, [named("GET", "/things/:name/read"), named("POST", "/things/:name/write")]),
    ...routesOf(pipeline, [named("GET", "/in/:place/things/:name"), named("POST", "/in/:place/things/:name/write")]),
    "/own": pipeline.handler(pipeline.route("/own", () => ({ is: "own" }), { hosts: "own" })),
    "/app": pipeline.handler(pipeline.route("/app", ({ target }) => ({ app: target.app }), { hosts: "application" })),
  },
  fetch: pipeline.notFoundHandler,
});
afterAll(() => server.stop(true));

interface RawResponse {
  readonly status: number;
  readonly head: string;
  readonly body: Record<string, unknown>;
}

/** Over a plain socket: fetch would resolve dot segments before it sends the path. */
function send(method: string, path: string, host = "localhost", header = ""): Promise<RawResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<RawResponse>();
  const socket = connect(Number(server.port), "127.0.0.1");
  let text = "";
  socket.on("error", reject);
  socket.on("data", (data) => {
    text += data;
  });
  socket.on("close", () => {
    const [head = "", body = ""] = text.split("\r\n\r\n");
    resolve({ status: Number(head.split(" ")[1]), head, body: JSON.parse(body) });
  });
  socket.write(`${method} ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n${header}\r\n`);
  return promise;
}

describe("a name with raw slashes", () => {
  test.each([
    ["a", "a"],
    ["a/b", "a/b"],
    ["a/b%2Fc", "a/b/c"],
    ["a/../b", "a/../b"],
    ["a/x/../b", "a/x/../b"],
    ["a/%2e%2e/b", "a/../b"],
    ["a//b", "a//b"],
    ["a/read", "a/read"],
    ["a/write", "a/write"],
    [Array(32).fill("..").join("/"), Array(32).fill("..").join("/")],
    [Array(40).fill("x").join("/"), Array(40).fill("x").join("/")],
  ])("%s is read as it was sent", async (path, name) => {
    const { status, body } = await send("GET", `/things/${path}/read`);
    expect([status, body.name]).toEqual([200, name]);
  });

  test.each(["a/b/other", "a/b/read/", "a/b/re%61d", "/read", "a/b%2Fread", "a/read/.", "a/read/.."])(
    "%s is not an address: 404",
    async (path) => {
      expect((await send("GET", `/things/${path}`)).status).toBe(404);
    },
  );

  test("a path that is longer than any name is not an address: its segments are not decoded", async () => {
    expect((await send("GET", `/things/${"a/".repeat(2000)}read`)).status).toBe(200);
    expect((await send("GET", `/things/${"a/".repeat(2100)}read`)).status).toBe(404);
  });

  test.each(["a", "a/b", "a//b"])("%s with another method is 405, with the methods that it takes", async (path) => {
    const { status, head } = await send("DELETE", `/things/${path}/write`);
    expect(status).toBe(405);
    expect(head).toContain("\r\nAllow: POST\r\n");
  });

  test.each(["a/%zz", "a//%zz", "%ff"])("%s is not percent-encoded text: 400", async (path) => {
    expect((await send("GET", `/things/${path}/read`)).status).toBe(400);
  });

  test("is counted under the path of its endpoint, whatever its depth", async () => {
    await send("POST", "/things/a/b/write");
    await send("POST", "/things/a/b/c/write");
    const lines = metrics.text().split("\n");
    expect(lines).toContain('parley_http_requests_total{route="/things/:name/write",method="POST",status="200"} 2');
    expect(lines.filter((line) => line.includes('status="404"'))).toEqual([
      expect.stringContaining('route="/things/*",method="GET"'),
    ]);
  });
});

describe("a name with raw slashes at the end of a path, below another parameter", () => {
  test.each([
    ["a", "a"],
    ["a/b", "a/b"],
    ["a%2Fb", "a/b"],
    ["a/../b", "a/../b"],
    ["a//b", "a//b"],
    ["a/b/", "a/b/"],
    ["a/write", "a/write"],
    ["a/b/write", "a/b/write"],
    [Array(40).fill("x").join("/"), Array(40).fill("x").join("/")],
  ])("GET %s is read as it was sent", async (path, name) => {
    const { status, body } = await send("GET", `/in/here/things/${path}`);
    expect([status, body.place, body.name]).toEqual([200, "here", name]);
  });

  test.each(["a", "a/b", "a//b", "a/write"])("POST %s/write is the other path", async (name) => {
    const { status, body } = await send("POST", `/in/here/things/${name}/write`);
    expect([status, body.place, body.name]).toEqual([200, "here", name]);
  });

  test("another method is 405", async () => {
    expect((await send("DELETE", "/in/here/things/a/b")).status).toBe(405);
  });
});

test("the id that a handler sees is the one in the response's header", async () => {
  const { head, body } = await send("GET", "/things/a/b/read");
  expect(head).toContain(`\r\nX-Request-Id: ${body.requestId}\r\n`);
});

describe("a route exists only on its hosts", () => {
  const header = "X-Parley-App: Demo\r\n";
  test.each([
    ["/own", "localhost", "", 200],
    ["/own", "localhost", header, 200],
    ["/own", "demo.example.com:8080", "", 404],
    ["/app", "localhost", "", 404],
    ["/app", "localhost", header, 200],
    ["/app", "demo.example.com", "", 200],
    ["/app", "a.demo.example.com", "", 404],
  ])("%s on %s with %j: %i", async (path, host, more, status) => {
    expect((await send("GET", path, host, more)).status).toBe(status);
  });

  test("the host goes before the header", async () => {
    expect((await send("GET", "/app", "demo.example.com", "X-Parley-App: other\r\n")).body).toEqual({ app: "demo" });
  });
});

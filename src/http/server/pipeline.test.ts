import { describe, expect, test } from "bun:test";
import type { Server } from "bun";
import { parseCidr } from "../../base/address.ts";
import { TooManyWaiting } from "../../base/fair-queue.ts";
import { Throttle } from "../../base/throttle.ts";
import { makeLog } from "../../telemetry/log.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { type Handler, RequestPipeline } from "./pipeline.ts";
import { UnauthenticatedLimit } from "./unauthenticated-limit.ts";

const PROXY = "192.0.2.1";
const pipeline = new RequestPipeline({
  log: makeLog("silent", "json", "test"),
  metrics: new Metrics(),
  trustedProxies: [parseCidr(`${PROXY}/32`) ?? []].flat(),
  domain: "example.com",
  unauthenticated: new UnauthenticatedLimit(new Throttle(0, 0, () => 0)),
});

const ok = (): object => ({ ok: true });
const route = pipeline.route("/a", ok);
const health = pipeline.handler(pipeline.route("/healthz", ok, { takesAnyHost: true }));
const HANDLERS: Readonly<Record<string, Handler>> = {
  "one route": pipeline.handler(route),
  "a path with names": pipeline.dynamicHandler(({ request: { url } }) =>
    url === "" ? pipeline.route("(never)", ok) : route,
  ),
  "no route": pipeline.notFoundHandler,
  "/v1": pipeline.wrapUpgrade(
    "/v1",
    (_call, connection) => connection.upgrade({}) as true,
    () => undefined,
  ),
};

interface Outcome {
  /** undefined: the response is not there at once, or the request was upgraded. */
  readonly status: number | undefined;
  /** How often the URL was made; for an upgrade Bun makes it too. */
  readonly urls: number;
}

/** Each request comes on a connection of its own. */
let ports = 1024;

/** With a request that counts who reads its URL: Bun makes that from the Host header. */
function outcome(handler: Handler, headers: Record<string, string>, address = "203.0.113.7"): Outcome {
  let urls = 0;
  const request = {
    method: "GET",
    headers: new Headers(headers),
    get url() {
      urls++;
      return "http://localhost/a";
    },
  };
  const upgrade = (): boolean => {
    urls++;
    return true;
  };
  const server = { requestIP: () => ({ address, port: ports++ }), upgrade };
  const response = handler(request as unknown as Request, server as unknown as Server<unknown>);
  return { status: response instanceof Response ? response.status : undefined, urls };
}

/** Passed on: its response is a promise, or it became a WebSocket. */
const isTaken = ({ status }: Outcome): boolean => status === undefined;

const REFUSED = { status: 400, urls: 0 };
const PILE = `a${"%CC%81".repeat(8000)}${"%CC%96".repeat(8000)}`;

const GOOD = [
  "localhost",
  "localhost:8080",
  "demo.meet.example.com",
  "Demo.Example.COM.",
  "parley_node_1:8080",
  "10.0.0.7:8080",
  "[::1]:8080",
  "[2001:db8::192.0.2.1]",
  "xn--bcher-kva.example",
  "",
  "x".repeat(255),
];

describe.each(Object.keys(HANDLERS))("the Host header of a request to %s", (name) => {
  const handler = HANDLERS[name] as Handler;

  test("is refused at once if it is long or no name, before anything makes the URL", () => {
    const hosts = [PILE, "a%CC%81", "x".repeat(256), "a, b", "a b", "b\u00fccher.example", "a/b", "u@a", "a?b", "*"];
    for (const host of hosts) expect({ host, ...outcome(handler, { host }) }).toEqual({ host, ...REFUSED });
  });

  test("may be any name or address that people use", () => {
    for (const host of GOOD)
      expect({ host, isTaken: isTaken(outcome(handler, { host })) }).toEqual({ host, isTaken: true });
  });

  test("may be absent, as in HTTP/1.0", () => {
    expect(isTaken(outcome(handler, {}))).toBe(true);
  });

  test("counts as a trusted proxy forwards it", () => {
    const headers = { host: "a", "x-forwarded-host": PILE };
    expect(outcome(handler, headers, PROXY)).toEqual(REFUSED);
    expect(isTaken(outcome(handler, headers))).toBe(true);
    expect(isTaken(outcome(handler, { ...headers, "x-forwarded-host": `${PILE}, b` }, PROXY))).toBe(true);
  });
});

test("a health check may send any short Host header, such as the name of a cluster", () => {
  for (const host of ["outbound|80||parley.default", "httproute/default/parley", "*", "a%CC%81"])
    expect(isTaken(outcome(health, { host }))).toBe(true);
  for (const host of [PILE, "|".repeat(256)]) expect(outcome(health, { host })).toEqual(REFUSED);
});

test("a list that would wait behind too many others is refused with the time to try again", async () => {
  const handler = pipeline.handler(pipeline.route("/a", () => Promise.reject(new TooManyWaiting("many"))));
  const request = { method: "GET", headers: new Headers(), url: "http://localhost/a" };
  const server = { requestIP: () => ({ address: "203.0.113.7" }) };
  const response = await handler(request as unknown as Request, server as unknown as Server<unknown>);
  expect([response.status, response.headers.get("retry-after")]).toEqual([429, "1"]);
  expect(await response.json()).toMatchObject({ error: "rate_limited" });
});

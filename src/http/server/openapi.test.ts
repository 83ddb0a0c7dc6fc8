import { expect, test } from "bun:test";
import { z } from "zod";
import { Call } from "../request/call.ts";
import { type Endpoint, endpoint, open } from "./endpoint.ts";
import { openapiResponse } from "./openapi.ts";
import { healthEndpoint } from "./operations.ts";

const connection = { address: () => "203.0.113.1", setIdleSeconds: () => undefined };

function reader(endpoints: readonly Endpoint[] = [healthEndpoint]) {
  let nowMs = 5000;
  const respond = openapiResponse(endpoints, "1.0.0", "localhost", { monotonicMs: () => nowMs });
  return {
    pass: (ms: number): void => {
      nowMs += ms;
    },
    get: async (port: number): Promise<Response> => {
      const headers = { Host: `localhost:${port}`, "Accept-Encoding": "gzip" };
      const request = new Request(`http://localhost:${port}/openapi.json`, { headers });
      return respond(new Call(request, connection, { trustedProxies: [], domain: "localhost" }, {}));
    },
  };
}

const isCompressed = (response: Response): boolean => response.headers.get("content-encoding") === "gzip";

test("requests that name a port each cost one compression per second, and the others are answered plain", async () => {
  const { get, pass } = reader();
  const responses = await Promise.all(Array.from({ length: 50 }, (_, at) => get(1000 + at)));
  expect(responses.filter(isCompressed)).toHaveLength(1);
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
  // What is compressed stays so.
  expect(isCompressed(await get(1000))).toBe(true);
  expect(isCompressed(await get(1001))).toBe(false);
  pass(1001);
  expect(isCompressed(await get(1001))).toBe(true);
});

test("the plain and the compressed document of an address are the same, with the same tag", async () => {
  const { get, pass } = reader();
  await get(1);
  const plain = await get(8080);
  pass(1001);
  const compressed = await get(8080);
  expect([isCompressed(plain), isCompressed(compressed)]).toEqual([false, true]);
  expect(compressed.headers.get("etag")).toBe(plain.headers.get("etag"));
  const unpacked = new TextDecoder().decode(Bun.gunzipSync(await compressed.arrayBuffer()));
  expect(unpacked).toBe(await plain.text());
  expect((await get(8081)).headers.get("etag")).not.toBe(plain.headers.get("etag"));
});

test("other work has its turn between two endpoints", async () => {
  const order: string[] = [];
  const named = (path: string): Endpoint =>
    endpoint({
      method: "GET",
      path,
      tag: "test",
      summary: "",
      guard: open,
      response: () => {
        order.push(path);
        return z.unknown();
      },
      handle: () => ({}),
    });
  const { get } = reader([named("/one"), named("/other")]);
  setImmediate(() => order.push("work"));
  await Promise.all([get(1), get(1)]);
  expect(order).toEqual(["/one", "work", "/other"]);
});

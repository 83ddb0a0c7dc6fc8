/** What a client without a credential can cause: rate-limited requests, counted aborts, no log lines. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Application } from "../support/application.ts";
import { type Answer, call, halfSent } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const LIMIT = "PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP";

const figure = async (server: Server, name: string): Promise<number> => {
  const { text } = await call(`${server.url}/metrics`, { bearer: server.adminToken });
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
};

test("five hundred aborted bodies: no error in the log, no 5xx in the metrics, five hundred aborts", async () => {
  await using server = await startParley();
  const { appSecret } = server.keys;
  const lines = server.log.length;
  const aborted = async (head: readonly string[]): Promise<void> => {
    const request = await halfSent(server.url, head, "x".repeat(100));
    await request.abort();
  };
  const open = ["POST /api/v1/token/validate HTTP/1.1", "Host: demo.localhost"];
  const known = ["POST /api/v1/room HTTP/1.1", "Host: demo.localhost", `Authorization: Bearer ${appSecret}`];
  for (let round = 0; round < 10; round++)
    await Promise.all(Array.from({ length: 50 }, (_, i) => aborted(i % 5 === 0 ? known : open)));
  let aborts = 0;
  while (aborts < 500) aborts = await figure(server, "parley_http_aborts_total");
  expect(aborts).toBe(500);
  const { text } = await call(`${server.url}/metrics`);
  expect(text).not.toMatch(/^parley_http_requests_total\{.*status="5\d\d"\}/m);
  expect(server.log.slice(lines).filter(({ level }) => level !== "info")).toEqual([]);
});

describe(LIMIT, () => {
  const burst = (count: number, ask: () => Promise<Answer>): Promise<Answer[]> =>
    Promise.all(Array.from({ length: count }, ask));
  const refused = (answers: readonly Answer[]): Answer[] => answers.filter(({ status }) => status === 429);

  test("limits public reads and refused requests, with 429 and Retry-After", async () => {
    // One process for all cases, and a separate address for each.
    await using server = await startParley({ env: { [LIMIT]: "20", PARLEY_TRUSTED_PROXIES: "127.0.0.1" } });
    const demo = new Application(server.url, "demo", "wrong");
    const asks: ((headers: Record<string, string>) => Promise<Answer>)[] = [
      (headers) => call(`${server.url}/`, { headers }),
      (headers) => call(`${server.url}/docs`, { headers }),
      (headers) => call(`${server.url}/openapi.json`, { headers }),
      (headers) => call(`${server.url}/nothing`, { headers }),
      (headers) => call(`${server.url}/v1/usage`, { headers }),
      (headers) => call(`${server.url}/v1/tokens`, { headers, bearer: "sk_id_0:wrong", body: {} }),
      (headers) => call(`${server.url}/api/internal/v1/apps`, { headers }),
      (headers) => demo.call("GET", "/rooms", undefined, { headers }),
      (headers) => demo.call("POST", "/token/validate", { token: "x" }, { headers }),
      (headers) => demo.call("PUT", `/upload/${"0".repeat(24)}?proof=x`, "x", { headers }),
      (headers) => demo.call("GET", `/file/${"0".repeat(24)}/view?proof=x&expires=9`, undefined, { headers }),
    ];
    for (const [at, ask] of asks.entries()) {
      const answers = await burst(20 + 20 * WORKERS, () => ask({ "X-Forwarded-For": `203.0.113.${at}` }));
      expect(refused(answers).length).toBeGreaterThanOrEqual(15);
      expect(answers.length - refused(answers).length).toBeGreaterThanOrEqual(20);
      for (const { headers } of refused(answers)) expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
    // All addresses of an IPv6 /64 count as one, because one client can use them all.
    let at = 0;
    const network = await burst(20 + 20 * WORKERS, () =>
      call(`${server.url}/`, { headers: { "X-Forwarded-For": `2001:db8::${(++at).toString(16)}` } }),
    );
    expect(refused(network).length).toBeGreaterThanOrEqual(15);
  });

  test("never affects valid credentials, signed addresses, health checks and connects from the same address", async () => {
    await using server = await startParley({ env: { [LIMIT]: "5", PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
    const demo = new Application(server.url, "demo", server.keys.appSecret);
    await demo.must("POST", "/room", { roomName: "r" });
    const begun = await demo.must<{ _id: string; uploadUrl: string }>("POST", "/recording", {
      room: "r",
      participantUsername: "u",
      type: "video",
    });
    const upload = new URL(begun.uploadUrl);
    const spent = await burst(25 + 5 * WORKERS, () => call(`${server.url}/nothing`));
    expect(refused(spent).length).toBeGreaterThanOrEqual(20);
    const asks: (() => Promise<Answer>)[] = [
      () => call(`${server.url}/v1/tokens`, { bearer: server.keys.secretKey, body: { peerId: "alice" } }),
      () => demo.call("GET", "/rooms"),
      () => server.admin.call("GET", "/apps"),
      () => call(`${server.url}/metrics`),
      () => call(`${server.url}/healthz`),
      () => call(`${server.url}/readyz`),
    ];
    for (const ask of asks) for (const { status } of await burst(10, ask)) expect(status).toBe(200);
    // An error that has nothing to do with the credential does not count either.
    for (const { status } of await burst(10, () => demo.call("GET", "/room/nothing"))) expect(status).toBe(404);
    const question = { "Content-Range": "bytes */10" };
    const held = await burst(10, () =>
      demo.call("PUT", `${upload.pathname.slice("/api/v1".length)}${upload.search}`, undefined, { headers: question }),
    );
    for (const { status } of held) expect(status).toBe(200);
    const connects = await burst(10, () => call(`${server.url}/v1?key=${server.keys.publishableKey}`));
    for (const { status } of connects) expect(status).toBe(426);
  });

  test("0 means no limit, and 600 is the default", async () => {
    await using server = await startParley({ env: { [LIMIT]: "" } });
    const count = 600 + 600 * WORKERS;
    const answers = await burst(count, () => call(`${server.url}/nothing`));
    expect(refused(answers).length).toBeWithin(1, count - 600 + 1);
    await using open = await startParley({ env: { [LIMIT]: "0" } });
    expect(refused(await burst(700, () => call(`${open.url}/nothing`)))).toEqual([]);
  });
});

/** Which channels a token may name (protocol.md 1): decided exactly for every legal request, with its cost charged to the key. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { oddGraph } from "../../src/testing/odd-graph.ts";
import { mint, type SecretKey } from "../support/admin.ts";
import { expectRefusal } from "../support/checks.ts";
import { serverForTests } from "../support/for-tests.ts";
import { call, halfSent, statusOf } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { startParley } from "../support/parley.ts";
import { welcomed } from "../support/wire/connect.ts";
import { ratesAreShared } from "../support/workers.ts";

setDefaultTimeout(60_000);

const PER_SECOND = 1000;

const server = await serverForTests({ env: { PARLEY_REST_REQUESTS_PER_SECOND: String(PER_SECOND) } });
const { admin } = server;
const app = (await admin.createApp())._id;

const hundred = (make: (i: number) => string): string[] => Array.from({ length: 100 }, (_, i) => make(i));
const keyFor = (channelPatterns: readonly string[]): Promise<SecretKey> => admin.createKey(app, { channelPatterns });
const post = (key: SecretKey, channels: readonly string[]): ReturnType<typeof mint> =>
  mint(server.url, key.credential, { peerId: "a", channels });

test("a hundred long entries inside a hundred long patterns are granted, both minted and self-signed", async () => {
  for (const [patterns, channels] of [
    [hundred((i) => `t${i}/**`), hundred((i) => `${`t${i}/`.padEnd(254, "x")}/*`)],
    [hundred((i) => `${`t${i}/`.padEnd(250, "x")}/*/z`), hundred((i) => `${`t${i}/`.padEnd(250, "x")}/a*/z`)],
    [hundred((i) => `**${"a*".repeat(i + 20)}`), hundred((i) => `${i}*${"a".repeat(250)}*`)],
  ] as const) {
    const key = await keyFor(patterns);
    const { status, text } = await post(key, channels);
    expect({ status, text: status === 200 ? "" : text }).toEqual({ status: 200, text: "" });
    expect(await admin.check(selfSigned(key.keyId, key.secret, { channels }))).toMatchObject({ valid: true });
  }
});

test("several patterns together may cover an entry", async () => {
  const key = await keyFor(["a/*", "a/*/*", "a/**/*/*"]);
  expect((await post(key, ["a/**"])).status).toBe(200);
  expectRefusal(await post(await keyFor(["a/*", "a/**/*/*"]), ["a/**"]), 403, "channel_not_authorized");
});

test("a request that is too complex to check is 400 with that reason, and counts against the key's rate", async () => {
  await using own = await startParley({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "5" } });
  const { patterns, part } = oddGraph(24);
  const app = (await own.admin.createApp())._id;
  const costly = await own.admin.createKey(app, { channelPatterns: patterns });
  const mintAt = (credential: string, channels: readonly string[]): ReturnType<typeof mint> =>
    mint(own.url, credential, { peerId: "a", channels });
  const { message } = expectRefusal(await mintAt(costly.credential, [part]), 400, "invalid_request");
  expect(message).toContain("channels.0: too complex to check against the key's patterns");
  // 4 million steps cost 200 additional requests: at 5 per second the key is limited for 39 seconds, and no other key is.
  const answer = await mintAt(costly.credential, [part]);
  expectRefusal(answer, 429, "rate_limited");
  expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  const cheap = await own.admin.createKey(app, { channelPatterns: ["**"] });
  expect((await mintAt(cheap.credential, ["x"])).status).toBe(200);
});

test("of costly requests whose bodies end at the same time, only some are processed", async () => {
  await using own = await startParley({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "40" } });
  const { patterns, part } = oddGraph(24);
  const key = await own.admin.createKey((await own.admin.createApp())._id, { channelPatterns: patterns });
  const head = ["POST /v1/tokens HTTP/1.1", "Host: 127.0.0.1", `Authorization: Bearer ${key.credential}`];
  const body = JSON.stringify({ peerId: "a", channels: [part] });
  const held = await Promise.all(
    Array.from({ length: 30 }, () => halfSent(own.url, [...head, "Content-Type: application/json"], body)),
  );
  const answers = await Promise.all(held.map((one) => one.finish()));
  const refused = answers.filter((answer) => statusOf(answer) === 429);
  expect(refused.length).toBeGreaterThan(25);
  for (const answer of refused) expect(answer).toMatch(/retry-after: [1-9]/i);
});

test("a costly self-signed token counts against its key, from any address; cheap ones still connect", async () => {
  const env = { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "60000", PARLEY_REST_REQUESTS_PER_SECOND: "5" };
  await using own = await startParley({ env });
  const { patterns, part } = oddGraph(24);
  const key = await own.admin.createKey((await own.admin.createApp())._id, { channelPatterns: [...patterns, "x/*"] });
  const ask = (channels: readonly string[]): ReturnType<typeof call> =>
    call(`${own.url}/v1?token=${selfSigned(key.keyId, key.secret, { channels })}`);
  expect((await ask([part])).status).toBe(401);
  await ratesAreShared();
  const repeated = await ask([part]);
  expectRefusal(repeated, 429, "rate_limited");
  expect(Number(repeated.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect((await ask(["x/y"])).status).toBe(426);
  expectRefusal(await mint(own.url, key.credential, { peerId: "a" }), 429, "rate_limited");
});

test("a costly self-signed token counts against its address's connects", async () => {
  await using own = await startParley({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "600" } });
  const { patterns, part } = oddGraph(24);
  const key = await own.admin.createKey((await own.admin.createApp())._id, { channelPatterns: patterns });
  const token = selfSigned(key.keyId, key.secret, { channels: [part] });
  const statuses: number[] = [];
  for (let i = 0; i < 10; i++) statuses.push((await call(`${own.url}/v1?token=${token}`)).status);
  expect(statuses[0]).toBe(401);
  expect(statuses.at(-1)).toBe(429);
});

test("a costly self-signed token counts the same when an open connection is renewed with it", async () => {
  const env = { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "300", PARLEY_REST_REQUESTS_PER_SECOND: "0" };
  await using own = await startParley({ env });
  const { patterns, part } = oddGraph(24);
  const app = (await own.admin.createApp())._id;
  const key = await own.admin.createKey(app, { channelPatterns: [...patterns, "x/*"] });
  const cheap = selfSigned(key.keyId, key.secret, { channels: ["x/y"] });
  using open = await welcomed(own.url, `token=${cheap}`);
  const codes: unknown[] = [];
  for (let i = 0; i < 5; i++) {
    const token = selfSigned(key.keyId, key.secret, { channels: [part] });
    const answer = await open.request({ type: "renew", token });
    codes.push(answer.type === "error" && answer.code);
  }
  // Each costs 200 connects, and ten for the refusal: after two it takes 24 seconds until the address may connect again.
  expect(codes).toEqual(["invalid_token", "invalid_token", "rate_limited", "rate_limited", "rate_limited"]);
  await ratesAreShared();
  expectRefusal(await call(`${own.url}/v1?token=${cheap}`), 429, "rate_limited");
});

test.each(["/signalling/tokens/check", "/explain"])(
  "costly tokens count against the operator who has them checked: %s",
  async (path) => {
    await using own = await startParley();
    const { patterns, part } = oddGraph(24);
    const key = await own.admin.createKey((await own.admin.createApp())._id, { channelPatterns: [...patterns, "x/*"] });
    const reader = await own.admin.must<{ token: string }>("POST", "/operators", { name: "reader", role: "read" });
    const ask = (bearer: string, channels: readonly string[]): ReturnType<typeof call> =>
      own.admin.call("POST", path, { token: selfSigned(key.keyId, key.secret, { channels }) }, { bearer });
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(reader.token, [part])));
    const refused = answers.filter(({ status }) => status === 429);
    // Each costs 200 further checks, so that the first takes all. On a slow machine the rate refills meanwhile.
    expect(refused.length).toBeGreaterThan(10);
    for (const answer of refused) expect(Number(answer.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    // Neither other operators nor the key's clients wait.
    expect((await ask(own.admin.token, ["x/y"])).status).toBe(200);
    expect((await mint(own.url, key.credential, { peerId: "a", channels: ["x/y"] })).status).toBe(200);
  },
);

/** The live tail under attack: too many readers, readers that do not read, malformed filters, and secrets that must not be in it. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { connect as connectTcp } from "node:net";
import { tokenQuery, World } from "../conformance/raw/support/world.ts";
import { mintToken } from "../support/admin.ts";
import { serverForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { forge, nowSeconds, selfSigned } from "../support/jwt.ts";
import { SecretSearch } from "../support/leaks.ts";
import { TailReader } from "../support/tail.ts";
import { until } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import { Wire } from "../support/wire/wire.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({
  env: { PARLEY_FRAMES_PER_SECOND: "0", PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0", PARLEY_REST_REQUESTS_PER_SECOND: "0" },
});
const { url, admin, adminToken } = server;
const app = await admin.createApp();
const key = await admin.createKey(app._id);
const world = new World(server, app, key);
const tail = (query = "", token = adminToken): Promise<TailReader> => TailReader.open(url, token, query);
const reading = (name: string): Promise<{ token: string }> => admin.must("POST", "/operators", { name, role: "read" });
const metric = async (name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, "m").exec((await call(`${url}/metrics`)).text)?.[1]);
const noReaders = (): Promise<number> =>
  until("no reader is left", async () => (await metric("parley_tail_readers")) === 0);

describe("readers", () => {
  test("beyond 20 are refused with a sentence, and free places are used", async () => {
    const second: { token: string } = await admin.must("POST", "/operators", { name: "second", role: "admin" });
    const tokens = [adminToken, second.token];
    const readers = await Promise.all(Array.from({ length: 20 }, (_, i) => tail("", tokens[i % 2])));
    for (let i = 0; i < 5; i++) {
      const { status, headers, body } = await admin.call("GET", "/tail");
      expect([status, body.error, headers.get("retry-after")]).toEqual([429, "rate_limited", "5"]);
      expect(body.message).toContain("at most 20 readers");
    }
    await readers[0]?.[Symbol.asyncDispose]();
    await until("a place is free", async () => (await metric("parley_tail_readers")) < 20);
    await (await tail())[Symbol.asyncDispose]();
    await Promise.all(readers.map((reader) => reader[Symbol.asyncDispose]()));
    await noReaders();
  });

  test("of operators of the role read leave places for other operators, and some for admins only", async () => {
    const greedy = await Promise.all(["greedy 1", "greedy 2", "greedy 3"].map(reading));
    const readers: TailReader[] = [];
    for (const { token } of greedy) {
      readers.push(...(await Promise.all(Array.from({ length: 4 }, () => tail("", token)))));
      const { status, body } = await call(`${url}/api/internal/v1/tail`, { bearer: token });
      expect([status, body.message]).toEqual([429, expect.stringContaining("role read with at most 4 readers")]);
    }
    const { token } = await reading("fourth");
    const { status, body } = await call(`${url}/api/internal/v1/tail`, { bearer: token });
    expect([status, body.message]).toEqual([
      429,
      expect.stringContaining("role read together with at most 12 readers"),
    ]);
    readers.push(...(await Promise.all(Array.from({ length: 8 }, () => tail()))));
    await Promise.all(readers.map((reader) => reader[Symbol.asyncDispose]()));
    await noReaders();
  });

  test("that never read hold one batch each, and disturb no others", async () => {
    using closing = new DisposableStack();
    for (let i = 0; i < 10; i++) {
      const socket = connectTcp(Number(new URL(url).port), "127.0.0.1");
      socket.pause();
      socket.on("error", () => undefined);
      socket.write(
        `GET /api/internal/v1/tail HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${adminToken}\r\n\r\n`,
      );
      closing.defer(() => socket.destroy());
    }
    await until("all are readers", async () => (await metric("parley_tail_readers")) === 10);
    await using reader = await tail("kind=publish", (await reading("beside")).token);
    const sender = await world.guest();
    const channel = "long/".padEnd(250, "x");
    const burst = { type: "publish", channel, data: 1 };
    const before = await metric("process_resident_memory_bytes");
    /** Messages that were shown, or counted as left out. */
    const seen = (): number => reader.events.filter(({ kind }) => kind === "publish").length + reader.dropped;
    let sent = 0;
    /** Far more than the sockets of the deaf readers take. */
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 1000; i++) sender.wire.send(burst);
      sent += 1000;
      await sender.wire.sync();
      await until("a batch", () => seen() >= sent);
    }
    expect(seen()).toBe(sent);
    expect(reader.dropped).toBeGreaterThan(0);
    const grown = (await metric("process_resident_memory_bytes")) - before;
    expect(grown).toBeLessThan(100 * 1024 * 1024);
    sender.wire.drop();
  });

  test("with malformed filters get 400, whatever they send", async () => {
    const pieces = [
      "*",
      "**",
      "***",
      "\\",
      "%00",
      "%ff",
      "%zz",
      "/",
      "é",
      "😀",
      '"',
      "{",
      ",",
      "a".repeat(300),
      " ",
      "%0A",
    ];
    const names = ["app", "channel", "peer", "key", "kind", "constructor", "__proto__", "x%00"];
    for (const name of names)
      for (const piece of pieces) {
        const control = new AbortController();
        const response = await fetch(`${url}/api/internal/v1/tail?${name}=${piece}`, {
          headers: { Authorization: `Bearer ${adminToken}` },
          signal: control.signal,
        });
        expect([name, piece, [200, 400].includes(response.status)]).toEqual([name, piece, true]);
        if (response.status === 400) expect(((await response.json()) as { message: string }).message).not.toBe("");
        control.abort();
      }
    await noReaders();
  });
});

test("no secret, token or query string is in the stream, however a connect is refused", async () => {
  const search = new SecretSearch();
  const note = (name: string, secret: string): string => {
    search.add(name, secret);
    return secret;
  };
  note("signing secret", key.secret);
  note("application's secret", app.secretKey);
  note("admin token", adminToken);
  const other = await admin.createKey((await admin.createApp())._id);
  const publishable = await admin.createPublishable(app._id, { allowedOrigins: ["https://shop.example.com"] });
  const revoked = await admin.createKey(app._id);
  await admin.revoke(revoked.keyId);
  await using reader = await tail();

  const good = note(
    "token",
    await mintToken(url, key.credential, { peerId: "ann", metadata: { hidden: "metadata-12345" } }),
  );
  const now = nowSeconds();
  const refused: readonly string[] = [
    "",
    "key=pk_live_unknown-secret-1234567890",
    `key=${publishable.keyId}`,
    `key=${key.keyId}`,
    `key=${key.secret}`,
    `token=${key.secret}`,
    `token=${adminToken}`,
    tokenQuery(good.slice(0, -4)),
    `${tokenQuery(good)}&key=${publishable.keyId}`,
    tokenQuery(note("token of a revoked key", selfSigned(revoked.keyId, revoked.secret))),
    tokenQuery(note("token of the wrong key", selfSigned(key.keyId, other.secret))),
    tokenQuery(note("expired token", selfSigned(key.keyId, key.secret, { iat: now - 100, exp: now - 50 }))),
    tokenQuery(note("token for nothing", selfSigned(key.keyId, key.secret, { channels: ["***"] }))),
    tokenQuery(note("unsigned token", forge({ alg: "none" }, { sub: "ann" }, key.secret))),
    `${tokenQuery(good)}&extra=query-string-1234567890`,
  ];
  let refusals = 0;
  for (const query of refused) {
    const outcome = await attempt(url, { query, headers: { Origin: "https://evil.example" } });
    if (outcome instanceof Wire) outcome.drop();
    else refusals++;
  }
  await attempt(url, { query: tokenQuery(good), headers: { Authorization: `Bearer ${key.credential}` } }).then(
    (outcome) => outcome instanceof Wire && outcome.drop(),
  );
  const last = await world.guest({ sub: "the-last" });
  last.wire.send({ type: "publish", channel: "a", data: { password: note("payload", "payload-that-is-not-shown") } });
  await reader.event("the last publish", ({ kind, peerId }) => kind === "publish" && peerId === "the-last");
  expect(refusals).toBeGreaterThan(8);
  expect(reader.events.filter(({ kind }) => kind === "refuse")).toHaveLength(refusals);
  expect(search.in(reader.text)).toEqual([]);
  for (const piece of ["query-string", "metadata-12345", "token=", "key=", "sk_secret", "eyJ"])
    expect([piece, reader.text.includes(piece)]).toEqual([piece, false]);
  last.wire.drop();
});

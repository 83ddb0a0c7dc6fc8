/** Connections over HTTP: sessions that are forged, stolen or over, and clients that open, flood and leave. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { connect as connectTcp } from "node:net";
import { fresh, newApp, startWorld, tokenQuery } from "../conformance/raw/support/world.ts";
import { call } from "../support/http.ts";
import { until } from "../support/wait.ts";
import { connectOverHttp, type OverHttp } from "../support/wire/over-http.ts";

setDefaultTimeout(120_000);

const world = await startWorld({
  env: { PARLEY_TRUSTED_PROXIES: "127.0.0.1", PARLEY_HTTP_REQUESTS_PER_MINUTE_PER_IP: "300" },
});
afterAll(() => world.stop());

let addresses = 0;
const fromElsewhere = (): Readonly<Record<string, string>> => ({
  "X-Forwarded-For": `10.9.${++addresses >> 8}.${addresses & 255}`,
});

const opened = (): Promise<OverHttp> => connectOverHttp(world.url, { query: tokenQuery(world.token()) });
const ping = '{"type":"ping","requestId":"p"}';
const post = async (
  session: string,
  n: number | string = 1,
  headers = fromElsewhere(),
  body: string | Uint8Array = ping,
): Promise<number> =>
  (
    await call(`${world.url}/v1/events?session=${encodeURIComponent(session)}&n=${n}`, {
      method: "POST",
      body,
      headers,
    })
  ).status;
const isAlive = async ({ wire, session }: OverHttp, n: number): Promise<void> => {
  expect(await post(session, n)).toBe(204);
  await wire.until("pong");
};

test("no session but the whole right one is taken", async () => {
  const mine = await opened();
  const other = await opened();
  const [parts, others] = [mine.session.split("."), other.session.split(".")];
  const forged = [
    "",
    "x",
    "es_...",
    mine.session.slice(0, -1),
    `${mine.session}A`,
    mine.session.toUpperCase(),
    `${mine.session},${other.session}`,
    "es_".padEnd(7000, "a"),
    "\u0000".repeat(100),
    ...parts.map((_, at) => parts.with(at, others[at] ?? "").join(".")).filter((one) => one !== mine.session),
    ...parts.map((part, at) => parts.with(at, part.replace(/.$/, "_")).join(".")),
    parts.with(1, "zzzzzzzzzz").join("."),
  ];
  for (const session of forged)
    expect([session.slice(0, 200), await post(session)]).toEqual([session.slice(0, 200), 404]);
  const twice = `session=${mine.session}&session=${mine.session}&n=1`;
  expect((await call(`${world.url}/v1/events?${twice}`, { method: "POST", body: ping })).status).toBe(404);
  await isAlive(mine, 1);
  await isAlive(other, 1);
  for (const { wire } of [mine, other]) wire.drop();
});

test("a session of another application, or of a service with another master key, opens nothing here", async () => {
  const elsewhere = await startWorld();
  const foreign = await connectOverHttp(elsewhere.url, { query: tokenQuery(elsewhere.token()) });
  expect(await post(foreign.session)).toBe(404);
  await elsewhere.stop();
  const app = await newApp(world.server);
  const channel = fresh("room");
  const reader = await app.subscriber(channel);
  const mine = await opened();
  const frame = JSON.stringify({ type: "publish", channel, data: "from another application" });
  expect(await post(mine.session, 1, fromElsewhere(), frame)).toBe(204);
  expect(await reader.wire.sync()).toEqual([]);
  app.hangUp();
  mine.wire.drop();
});

test("guesses from one address are soon refused with 429, and others are served", async () => {
  const mine = await opened();
  const guesser = fromElsewhere();
  const statuses = new Set<number>();
  await until("it is refused", async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => post("es_guess", 1, guesser)));
    for (const status of answers) statuses.add(status);
    return statuses.has(429);
  });
  expect([...statuses].sort()).toEqual([404, 429]);
  await isAlive(mine, 1);
  // Also from that address: a right session is not counted there.
  expect(await post(mine.session, 2, guesser)).toBe(204);
  mine.wire.drop();
});

test("bodies of any bytes cost at most their own connection", async () => {
  const watcher = await opened();
  const bodies = [
    new Uint8Array([0xff, 0xfe, 0x00]),
    "\u0000",
    "[".repeat(60_000),
    `{"type":"publish","channel":"a","data":${"[".repeat(30_000)}}`,
    "null\ntrue\n1",
    "\ufeff{}",
    "a\rb",
    '"'.repeat(66_000),
  ];
  for (const body of bodies) {
    const mine = await opened();
    expect([204, 400, 413]).toContain(await post(mine.session, 1, fromElsewhere(), body));
    mine.wire.drop();
  }
  await isAlive(watcher, 1);
  watcher.wire.drop();
});

test("clients that stop in the middle of a POST, or leave at once, hold nothing up", async () => {
  const mine = await opened();
  const { hostname, port } = new URL(world.url);
  const halves = Array.from({ length: 10 }, () => {
    const socket = connectTcp(Number(port), hostname);
    socket.on("error", () => undefined);
    socket.write(
      `POST /v1/events?session=${mine.session}&n=1 HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"type"`,
    );
    return socket;
  });
  await until("two of them are being read", async () => (await post(mine.session, 1)) === 503);
  for (const socket of halves) socket.destroy();
  await until("the whole one is taken", async () => (await post(mine.session, 1)) === 204);
  await mine.wire.until("pong");
  await Promise.all(
    Array.from({ length: 200 }, async () => {
      const socket = connectTcp(Number(port), hostname);
      socket.on("error", () => undefined);
      socket.write(`GET /v1/events?${tokenQuery(world.token())} HTTP/1.1\r\nHost: x\r\n\r\n`, () => socket.destroy());
      await new Promise((resolve) => socket.once("close", resolve));
    }),
  );
  mine.wire.drop();
  await until("none is left", async () => {
    const { text } = await call(`${world.url}/metrics`, { bearer: world.admin.token });
    return /^parley_http_connections 0$/m.test(text) && /^parley_connections 0$/m.test(text);
  });
});

/** Two workers on one port act as one service. */
import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { fresh, type Guest, newApp, tokenQuery, World } from "../conformance/raw/support/world.ts";
import { call } from "../support/http.ts";
import { launchParley, refusedStart, runParley, startParley } from "../support/parley.ts";
import { pairs, SAMPLE, walk } from "../support/presence-scenario.ts";
import { Chance } from "../support/random.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import { Wire } from "../support/wire/wire.ts";
import { childrenOf, joinedWorkers, nodesOf, startWorkers } from "./support/workers.ts";

/** So that there are several reports between the workers meanwhile: they come ten times a second. */
const CONNECT_EVERY_MS = 20;

setDefaultTimeout(120_000);

/** Connects at the same time: a worker that is so busy with them that it does not answer another for a second is not waited for. */
const AT_ONCE_MAX = IS_FULL ? 1300 : 70;

/** All of them on one worker would be a coincidence of one in a million. */
const MANY = 21;

let world: World;
beforeAll(async () => {
  world = await startWorkers({ env: { PARLEY_DEMO: "on", PARLEY_NODE_ID: "box" } });
});
afterEach(() => world.hangUp());
afterAll(() => world.stop());

test("connections spread over the workers, and messages, presence and direct messages reach all of them", async () => {
  const channel = fresh("room");
  const members = [];
  for (let i = 0; i < MANY; i++) members.push(await world.member(channel));
  const nodes = await nodesOf(world);
  expect(nodes.map(({ nodeId, worker }) => [nodeId, worker])).toEqual([
    ["box-0", 0],
    ["box-1", 1],
  ]);
  expect(nodes.reduce((sum, { connections }) => sum + connections, 0)).toBe(MANY);
  for (const { connections } of nodes) expect(connections).toBeGreaterThan(0);
  const last = members.at(-1);
  expect(last?.roster.joined.length).toBe(MANY - 1);
  const [first] = members;
  expect(await first?.wire.request({ type: "publish", channel, data: "to all" })).toMatchObject({ type: "ack" });
  for (const { wire } of members.slice(1))
    expect(await wire.until("message")).toMatchObject({ from: first?.peerId, data: "to all" });
  for (const { peerId, wire } of members.slice(1)) {
    first?.wire.send({ type: "send", to: peerId, data: peerId });
    expect(await wire.until("direct")).toMatchObject({ from: first?.peerId, data: peerId });
  }
});

test("a document that is nested deeply reaches all workers, as a message and as a direct message", async () => {
  const channel = fresh("room");
  const members = [];
  for (let i = 0; i < MANY; i++) members.push(await world.member(channel));
  const [first, ...others] = members;
  const tree = Array.from({ length: 50 }).reduce<unknown>((child) => ({ children: [child] }), "x".repeat(5000));
  expect(await first?.wire.request({ type: "publish", channel, data: tree })).toMatchObject({ type: "ack" });
  for (const { wire } of others) expect(await wire.until("message")).toMatchObject({ data: tree });
  for (const { peerId, wire } of others) {
    expect(await first?.wire.request({ type: "send", to: peerId, data: tree })).toMatchObject({ type: "ack" });
    expect(await wire.until("direct")).toMatchObject({ data: tree });
  }
});

test("two connections of a peer at the same moment: frames and lists of all workers show the same", () =>
  pairs(joinedWorkers(world, 2), SAMPLE.rounds));

test("random tabs and states, and a worker that stops for a moment: frames and lists of all workers show the truth", () =>
  walk(joinedWorkers(world, 2), SAMPLE.walk, new Chance(SAMPLE.seed)));

test("a request to any worker gets the metrics of all, and the readiness of the service", async () => {
  const before = (await readMetrics(world.server)).get("parley_connects_total");
  for (let i = 0; i < MANY; i++) await world.guest();
  for (let i = 0; i < 5; i++) {
    const metrics = await readMetrics(world.server);
    const series = metrics.of("parley_connections");
    expect(series).toEqual(['parley_connections{worker="0"}', 'parley_connections{worker="1"}']);
    expect(series.reduce((sum, one) => sum + metrics.get(one), 0)).toBe(MANY);
    expect(metrics.get("parley_connects_total")).toBe(before + MANY);
    expect(metrics.get("parley_workers_ready")).toBe(2);
    expect(metrics.text.match(/^# TYPE parley_connects_total /gm)).toHaveLength(1);
    const ready = await call(`${world.url}/readyz`);
    expect([ready.status, ready.body]).toMatchObject([200, { ready: true, checks: { workers: "ok" } }]);
  }
});

test.each([
  [10, 2 * MANY],
  [1000, 1300],
])("a cap of %d connections is exact over the workers", async (cap, count) => {
  await world.admin.must("PATCH", `/apps/${world.app._id}`, { plan: { maxConcurrentConnections: cap } });
  try {
    const wires: Wire[] = [];
    let welcomed = 0;
    for (let left = count; left > 0; left -= AT_ONCE_MAX) {
      const attempts = Array.from({ length: Math.min(left, AT_ONCE_MAX) }, () =>
        attempt(world.url, { query: tokenQuery(world.token()) }),
      );
      const opened = (await Promise.all(attempts)).filter((one) => one instanceof Wire);
      const firsts = await Promise.all(opened.map((wire) => wire.event()));
      welcomed += firsts.filter((event) => event.kind === "text" && event.text.includes('"welcome"')).length;
      wires.push(...opened);
    }
    expect(welcomed).toBe(cap);
    for (const wire of wires) wire.drop();
  } finally {
    await world.admin.must("PATCH", `/apps/${world.app._id}`, { plan: { maxConcurrentConnections: null } });
  }
});

test("a cap of messages counts those of all workers once they are written", async () => {
  const cap = 20;
  const limited = await newApp(world.server);
  await world.admin.must("PATCH", `/apps/${limited.app._id}`, { plan: { maxMessagesPerPeriod: cap } });
  const guests = await Promise.all(Array.from({ length: MANY }, () => limited.guest()));
  const publish = async ({ wire }: Guest): Promise<number> =>
    (await wire.request({ type: "publish", channel: "c", data: 1 })).type === "ack" ? 1 : 0;
  let accepted = 0;
  // One more than the cap: no worker has reached it by what it has counted itself.
  for (const guest of guests) accepted += await publish(guest);
  expect(accepted).toBeWithin(cap, MANY + 1);
  // A worker that answers this has all workers write, then it writes and reads. Each connection may be taken by another worker.
  const used = async (): Promise<unknown> =>
    (await call(`${limited.url}/v1/usage`, { bearer: limited.key.credential, headers: { Connection: "close" } })).body
      .messagesUsed;
  await until("all workers know", async () =>
    (await Promise.all(Array.from({ length: 2 * MANY }, used))).every((count) => count === accepted),
  );
  for (const guest of guests) expect(await publish(guest)).toBe(0);
  limited.hangUp();
});

test("a key made on one worker is valid on all at once, and a revoked one on none", async () => {
  for (let i = 0; i < 5; i++) {
    const key = await world.admin.createKey(world.app._id);
    for (let j = 0; j < 4; j++) await world.guest({}, {}, key);
    await world.admin.must("DELETE", `/signalling/keys/${key.keyId}`);
    for (let j = 0; j < 4; j++)
      expect(await attempt(world.url, { query: tokenQuery(world.token({}, key)) })).toMatchObject({ status: 401 });
  }
});

test("the first start is made once", async () => {
  const { data, log } = world.server;
  const { data: apps } = await world.admin.must<{ data: { name: string }[] }>("GET", "/apps");
  expect(apps.filter(({ name }) => name === "demo")).toHaveLength(1);
  expect(readFileSync(join(data, "first-run.txt"), "utf8").match(/secret key/g)).toHaveLength(1);
  expect(log.filter(({ msg }) => msg.startsWith("the keys and tokens of the first start"))).toHaveLength(1);
  expect(log.filter(({ msg }) => msg === "parley is ready")).toMatchObject([{ workers: 2 }]);
});

test("a second start on the same port or the same data folder is refused", async () => {
  const { port } = new URL(world.url);
  const other = tempFolder();
  for (const workers of ["1", "2"]) {
    const samePort = await runParley(
      ["up", "--port", port, "--host", "127.0.0.1", "--data", other, "--workers", workers],
      { PARLEY_LOG_FORMAT: "json" },
    );
    expect([samePort.code, samePort.output]).toEqual([
      1,
      expect.stringContaining(`port ${port} of 127.0.0.1 is in use`),
    ]);
    const sameData = await refusedStart(world.server.data, "--workers", workers);
    expect([sameData.code, sameData.output]).toEqual([1, expect.stringContaining("another Parley process is using")]);
  }
  expect((await call(`${world.url}/healthz`)).status).toBe(200);
});

test("a signal during the start leaves nothing behind; SIGUSR2 and SIGHUP do not end it", async () => {
  const [data, sockets] = [tempFolder(), tempFolder()];
  const server = launchParley({ data, env: { PARLEY_WORKERS: "2", RUNTIME_DIRECTORY: sockets } });
  await until("a worker starts", () => readdirSync(sockets).length > 0 && childrenOf(server.pid).length > 0);
  for (const signal of ["SIGUSR2", "SIGHUP"] as const) server.signal(signal);
  await server.logged(({ msg }) => msg.startsWith("the service is still starting"));
  const [worker = 0] = childrenOf(server.pid);
  expect(await server.kill("SIGTERM")).toBe(0);
  expect([existsSync(`/proc/${worker}`), readdirSync(sockets), server.output.includes("parley is ready")]).toEqual([
    false,
    [],
    false,
  ]);
  for (const folder of [data, sockets]) removeFolder(folder);
});

test("one worker is one process, without a supervisor", async () => {
  await using server = await startParley({ env: { PARLEY_WORKERS: "1" } });
  expect(childrenOf(server.pid)).toEqual([]);
  expect(existsSync(join(server.data, "workers.json"))).toBe(false);
  server.signal("SIGUSR2");
  await server.logged(({ msg }) => msg.startsWith("SIGUSR2 was ignored"));
  expect((await call(`${server.url}/healthz`)).status).toBe(200);
  const refused = await runParley(["reload", "--data", server.data]);
  expect([refused.code, refused.output]).toEqual([
    1,
    expect.stringMatching(/no service with several workers.*SIGUSR2/),
  ]);
});

test("what one address takes on a worker counts on the others", async () => {
  const limited = await startWorkers({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "20" } });
  try {
    let admitted = 0;
    const beganMs = performance.now();
    for (let i = 0; i < 60; i++) {
      const outcome = await attempt(limited.url, { query: tokenQuery(limited.token()) });
      if (outcome instanceof Wire) {
        admitted++;
        outcome.drop();
      } else expect(outcome.status).toBe(429);
      await Bun.sleep(CONNECT_EVERY_MS);
    }
    // Alone, each worker would admit 20. A third of one comes back every second.
    const refilled = Math.ceil((performance.now() - beganMs) / 3000);
    expect(admitted).toBeGreaterThanOrEqual(20);
    expect(admitted).toBeLessThan(32 + refilled);
  } finally {
    await limited.stop();
  }
});

test("workers share an address for operators and a certificate, which SIGHUP reloads in all of them", async () => {
  const folder = tempFolder();
  const install = (name: string): void => {
    for (const end of ["crt", "key"])
      copyFileSync(join(import.meta.dir, `../fixtures/tls/${name}.${end}`), join(folder, `tls.${end}`));
  };
  install("one");
  await using server = await startParley({
    env: {
      PARLEY_WORKERS: "2",
      PARLEY_TLS_CERT: join(folder, "tls.crt"),
      PARLEY_TLS_KEY: join(folder, "tls.key"),
      PARLEY_ADMIN_LISTEN: "127.0.0.1:0",
    },
  });
  const { adminPort, url } = await server.logged(({ msg }) => msg === "parley is ready");
  expect((await call(`https://127.0.0.1:${adminPort}/metrics`)).text).toContain("parley_workers 2");
  expect((await call(`${url}/metrics`)).status).toBe(404);
  install("two");
  server.signal("SIGHUP");
  for (const slot of [0, 1])
    await server.logged(({ msg, worker }) => msg === "certificate reloaded" && worker === slot);
  for (let i = 0; i < 8; i++) expect(await shownName(Number(new URL(String(url)).port))).toBe("two.parley.test");
  removeFolder(folder);
});

/** The name in the certificate that a new connection gets. */
function shownName(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
    resolve(String(socket.getPeerCertificate().subject.CN));
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}

test("a worker that cannot start ends the service with its reason", async () => {
  const folder = tempFolder();
  const garbage = join(folder, "cert.pem");
  await Bun.write(garbage, "no certificate");
  const { code, output } = await refusedStart(folder, "--workers", "2", "--tls-cert", garbage, "--tls-key", garbage);
  expect([code, output]).toEqual([2, expect.stringContaining("PARLEY_TLS_CERT, PARLEY_TLS_KEY")]);
  expect(output.match(/not a certificate/g)).toHaveLength(1);
});

test("SIGTERM drains all workers and leaves nothing behind, and the members of all of them are expected after a restart", async () => {
  const data = tempFolder();
  const env = { PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}` };
  const ending = await startWorkers({ data, env });
  const channel = fresh("room");
  const members = [];
  for (let i = 0; i < MANY; i++) members.push(await ending.member(channel));
  const pids = childrenOf(ending.server.pid);
  const { folder } = JSON.parse(readFileSync(join(data, "workers.json"), "utf8"));
  expect(pids).toHaveLength(2);
  expect([statSync(folder).mode & 0o777, statSync(join(data, "workers.json")).mode & 0o777]).toEqual([0o700, 0o600]);
  const exited = ending.server.kill("SIGTERM");
  for (const { wire } of members) expect((await wire.closed()).code).toBe(1001);
  expect(await exited).toBe(0);
  await until("the workers have ended", () => pids.every((pid) => !existsSync(`/proc/${pid}`)));
  expect([existsSync(folder), existsSync(join(data, "workers.json"))]).toEqual([false, false]);
  await ending.stop();
  const { server } = await startWorkers({ data, env });
  const next = new World(server, ending.app, ending.key);
  const { roster } = await next.member(channel);
  expect(roster.joined.map(({ peerId }) => peerId).sort()).toEqual(members.map(({ peerId }) => peerId).sort());
  await next.stop();
  removeFolder(data);
});

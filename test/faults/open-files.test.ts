/** Open files run out: connects are refused before the system would let them hang, and everything else goes on. */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import type { Socket } from "bun";
import { readMetrics } from "../conformance/raw/support/metrics.ts";
import { fresh, startWorld, tokenQuery, type World } from "../conformance/raw/support/world.ts";
import { call, type Json } from "../support/http.ts";
import { until } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import { Wire } from "../support/wire/wire.ts";
import { filesLimitedTo } from "./support/open-files.ts";

setDefaultTimeout(60_000);

/** A bare process has about 40 open, and its reserve is an eighth. */
const LIMIT = 160;

let world: World | undefined;
afterEach(async () => {
  await world?.stop();
  world = undefined;
});

/** Connects until one is refused. */
async function fill(to: World): Promise<{ held: Wire[]; refused: Exclude<Awaited<ReturnType<typeof attempt>>, Wire> }> {
  const held: Wire[] = [];
  while (held.length < LIMIT) {
    const outcome = await attempt(to.url, { query: tokenQuery(to.token()) });
    if (!(outcome instanceof Wire)) return { held, refused: outcome };
    held.push(outcome);
  }
  throw new Error("no connect was refused");
}

const RULES = { channelRules: [{ pattern: "kept-**", history: { messages: 100, seconds: 60 } }] };
const FULL = /^almost all files/;

test("near the limit of open files connects get 503 at once, once it is logged, and what needs files goes on", async () => {
  world = await startWorld(filesLimitedTo(LIMIT));
  const { server, admin } = world;
  await admin.must("PATCH", `/apps/${world.app._id}`, RULES);
  const { held, refused } = await fill(world);
  expect(held.length).toBeGreaterThan(LIMIT / 3);
  expect(refused.status).toBe(503);
  expect(refused.body.error).toBe("internal_error");
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(refused.headers.get("connection")).toBe("close");
  for (let i = 0; i < LIMIT; i++)
    expect(await attempt(world.url, { query: tokenQuery(world.token()) })).toMatchObject({ status: 503 });

  const metrics = await readMetrics(server);
  expect(metrics.get("parley_files_full")).toBe(1);
  expect(metrics.get('parley_connects_refused_total{code="internal_error"}')).toBe(LIMIT + 1);
  const ready = await call<{ degraded: string[]; checks: Json }>(`${world.url}/readyz`);
  expect([ready.status, ready.body.degraded]).toEqual([200, ["files"]]);
  expect(ready.body.checks.files).toMatch(/^\d+ of 160 files are open, so new connections are refused/);
  // The store, the file of histories, and a backup, which opens several files.
  expect((await world.restPublish(fresh("kept"), { data: 1 })).status).toBe(200);
  await admin.createKey(world.app._id);
  expect(server.log.filter(({ msg }) => FULL.test(msg))).toHaveLength(1);

  for (const wire of held.splice(0, LIMIT / 4)) wire.drop();
  await server.logged(({ msg }) => msg.startsWith("enough files are free again"));
  await world.guest();
  expect((await readMetrics(server)).get("parley_files_full")).toBe(0);
  for (const wire of held) wire.drop();
});

test("connections that send no request use up all files: clients wait until these are closed, and no other work stops", async () => {
  world = await startWorld(filesLimitedTo(LIMIT));
  const { url, server } = world;
  const { hostname, port } = new URL(url);
  const member = await world.member(fresh("room"));
  const silent: Socket<undefined>[] = [];
  const handlers = { data: () => undefined, error: () => undefined };
  for (let i = 0; i < 2 * LIMIT; i++)
    silent.push(await Bun.connect({ hostname, port: Number(port), socket: handlers }));
  await server.logged(({ msg }) => FULL.test(msg));
  expect((await member.wire.request({ type: "publish", channel: fresh("room"), data: 1 })).type).toBe("ack");
  for (const socket of silent) socket.terminate();
  await server.logged(({ msg }) => msg.startsWith("enough files are free again"));
  let guest: Awaited<ReturnType<World["guest"]>> | undefined;
  await until("a client is let in", async () => {
    guest = await world?.guest();
    return guest !== undefined;
  });
  expect(guest?.welcome.type).toBe("welcome");
});

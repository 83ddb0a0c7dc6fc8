/** Webhooks as receivers get them: real endpoints on this machine, verified with the public library. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Application } from "../support/application.ts";
import { serverForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { childrenOf, commandOf } from "../support/menders.ts";
import { startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { found, until } from "../support/wait.ts";
import { type Behaviour, WebhookReceiver } from "../support/webhooks/receiver.ts";

setDefaultTimeout(60_000);

const server = await serverForTests({ env: { PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8" } });
const { admin } = server;
const receiver = new WebhookReceiver();
afterAll(() => {
  receiver[Symbol.dispose]();
  expect(receiver.wrong).toEqual([]);
});

interface Webhook extends Json {
  readonly _id: string;
  readonly secret: string;
}

interface World {
  readonly name: string;
  readonly backend: Application;
  readonly root: string;
  /** Makes an endpoint whose path is its name. */
  readonly add: (path: string, behaviour?: Behaviour, fields?: Json) => Promise<Webhook>;
}

async function fresh(): Promise<World> {
  const name = `sent-${crypto.randomUUID().slice(0, 8)}`;
  const app = await admin.must<{ _id: string; secretKey: string }>("POST", "/apps", { name });
  const root = `/apps/${name}/webhooks`;
  const add = async (path: string, behaviour?: Behaviour, fields: Json = {}): Promise<Webhook> => {
    const url = receiver.url(path);
    const webhook = await admin.must<Webhook>("POST", root, { url, events: ["room.*"], ...fields });
    receiver.expect(path, webhook.secret, behaviour);
    return webhook;
  };
  return { name, root, add, backend: new Application(server.url, name, app.secretKey, app._id) };
}

const senderOf = (pid: number): number | undefined =>
  childrenOf(pid).find((child) => commandOf(child).includes("send-webhooks"));

const isAlive = (pid: number): boolean => commandOf(pid).includes("send-webhooks");

let world: World;
beforeAll(async () => {
  world = await fresh();
});

test("who has no endpoint gets nothing, and starts no process", async () => {
  const other = await fresh();
  await other.backend.must("POST", "/room", { roomName: "quiet" });
  expect(senderOf(server.pid)).toBeUndefined();
});

test("an event is what the API shows, verified, with a number that grows", async () => {
  await world.add("/healthy", undefined, { headers: { authorization: "Bearer mine" } });
  const room = await world.backend.must<Json>("POST", "/room", { roomName: "standup" });
  await world.backend.must("PUT", "/room/standup", { privacy: "private" });
  await world.backend.must("DELETE", "/room/standup");
  await until("three events", () => receiver.of("/healthy").length >= 3);
  const got = receiver.of("/healthy");
  expect(got.map(({ type }) => type)).toEqual(["room.created", "room.updated", "room.archived"]);
  expect(got.map(({ data }) => data.seq)).toEqual([1, 2, 3]);
  expect(got[0]?.data).toEqual({ ...room, app: String(room.app), appName: world.name, seq: 1 });
  expect(got[0]?.headers.get("authorization")).toBe("Bearer mine");
  expect(got[0]?.headers.get("content-type")).toBe("application/json");
});

test("an endpoint that is dead, slow or gone delays no other", async () => {
  await world.add("/dead", () => new Response("no", { status: 500 }));
  await world.add("/hanging", () => new Promise<Response>(() => undefined));
  const gone = await world.add("/gone", () => new Response(null, { status: 410 }));
  await world.add("/busy", () => new Response(null, { status: 429, headers: { "retry-after": "3600" } }));
  const before = receiver.of("/healthy").length;
  for (let at = 1; at <= 5; at++) {
    const began = performance.now();
    await world.backend.must("POST", "/room", { roomName: `room-${at}` });
    await until("the healthy one has it", () => receiver.of("/healthy").length === before + at);
    expect(performance.now() - began).toBeLessThan(5000);
  }
  const state = await found("it is disabled", async () => {
    const one = await admin.must<Json>("GET", `${world.root}/${gone._id}`);
    return one.disabled === true ? one : undefined;
  });
  expect(state.disabledReason).toBe("gone");
  // One, or two that were under way together.
  expect(receiver.of("/busy").length).toBeWithin(1, 3);
  await server.logged(({ msg }) => msg.includes("410 Gone"));
  const metrics = await (
    await fetch(`${server.url}/metrics`, { headers: { authorization: `Bearer ${server.adminToken}` } })
  ).text();
  expect(metrics).toContain('parley_webhook_disabled_total{why="gone"} 1');
  expect(metrics).toMatch(/parley_webhook_attempts_total\{result="succeeded"\} [1-9]/);
});

test("the process that sends is killed, and every event arrives", async () => {
  const before = receiver.of("/healthy").length;
  let killed = 0;
  for (let at = 0; at < 30; at++) {
    await world.backend.must("POST", "/room", { roomName: `kill-${at}` });
    if (at % 10 !== 5) continue;
    const pid = await found("the process", () => senderOf(server.pid));
    process.kill(pid, "SIGKILL");
    killed++;
  }
  expect(killed).toBe(3);
  const names = (): Set<unknown> =>
    new Set(
      receiver
        .of("/healthy")
        .slice(before)
        .map(({ data }) => data.roomName),
    );
  await until("all of them", () => names().size >= 30);
  const seqs = new Set(receiver.of("/healthy").map(({ data }) => data.seq));
  expect(seqs.size).toBe(Math.max(...seqs));
});

test("a test is answered at once, also by an endpoint that is disabled", async () => {
  const webhook = await world.add("/tested", () => new Response("thank you", { status: 202 }), { disabled: true });
  expect(await admin.must("POST", `${world.root}/${webhook._id}/test`)).toMatchObject({
    succeeded: true,
    status: 202,
    response: "thank you",
    error: null,
  });
  expect(receiver.of("/tested", "webhook.test")).toHaveLength(1);
  const moved = await world.add("/moved", () => Response.redirect("https://example.org/", 302), { disabled: true });
  expect(await admin.must("POST", `${world.root}/${moved._id}/test`)).toMatchObject({
    succeeded: false,
    status: 302,
    error: expect.stringContaining("redirects are not followed"),
  });
});

test("both secrets sign during a rotation, and the next one afterwards", async () => {
  const webhook = await world.add("/rotated");
  await world.backend.must("POST", "/room", { roomName: "before-rotation" });
  await until("the first", () => receiver.of("/rotated").length === 1);
  const { secret } = await admin.must<Webhook>("POST", `${world.root}/${webhook._id}/rotate`, { graceSec: 3600 });
  for (const [at, known] of [webhook.secret, secret].entries()) {
    receiver.expect("/rotated", known);
    await world.backend.must("POST", "/room", { roomName: `rotated-${at}` });
    await until("the next", () => receiver.of("/rotated").length === 2 + at);
  }
  const last = await admin.must<Webhook>("POST", `${world.root}/${webhook._id}/rotate`, { graceSec: 0 });
  receiver.expect("/rotated", last.secret);
  await world.backend.must("POST", "/room", { roomName: "after-rotation" });
  await until("the last", () => receiver.of("/rotated").length === 4);
  expect(receiver.wrong).toEqual([]);
});

test("addresses of this machine are for operators only", async () => {
  const answer = await world.backend.call("POST", "/webhooks", { url: receiver.url("/mine"), events: ["room.*"] });
  expect(answer.status).toBe(400);
  expect(JSON.stringify(answer.body)).toContain("loopback");
});

test("a node that is killed while a request is under way sends it again when it is back, and leaves no process behind", async () => {
  using folder = scratch();
  const env = { PARLEY_WEBHOOK_ALLOW: "127.0.0.0/8" };
  await using before = await startParley({ data: folder.path, env });
  const app = await before.admin.must<{ _id: string; secretKey: string }>("POST", "/apps", { name: "killed" });
  const fields = { url: receiver.url("/killed"), events: ["room.created"] };
  const { secret } = await before.admin.must<Webhook>("POST", "/apps/killed/webhooks", fields);
  receiver.expect("/killed", secret, () => new Promise<Response>(() => undefined));
  const backend = new Application(before.url, "killed", app.secretKey, app._id);
  await backend.must("POST", "/room", { roomName: "under-way" });
  await until("it is under way", () => receiver.of("/killed").length === 1);
  const sender = await found("the process", () => senderOf(before.pid));
  await before.kill("SIGKILL");
  await until("its process has ended", () => !isAlive(sender));
  receiver.expect("/killed", secret);
  await using _after = await startParley({ data: folder.path, env });
  await until("it came again", () => receiver.of("/killed").length === 2);
  const [first, second] = receiver.of("/killed");
  expect(second).toMatchObject({ id: first?.id ?? "", data: first?.data ?? {} });
});

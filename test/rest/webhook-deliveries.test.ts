/** What a webhook was sent, for those who may see it: events that really go to a receiver on this machine. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { Admin } from "../support/admin.ts";
import { startChecked } from "../support/checks.ts";
import type { Json } from "../support/http.ts";
import type { Server } from "../support/parley.ts";
import { found } from "../support/wait.ts";

setDefaultTimeout(60_000);

const ANSWER = "an answer of the receiver";
const LABEL = "a label that only the application knows";

let server: Server;
let status = 500;
const arrived: string[] = [];
const receiver = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: async (request) => {
    arrived.push(await request.text());
    return new Response(ANSWER, { status });
  },
});
beforeAll(async () => {
  server = await startChecked({ env: { PARLEY_WEBHOOK_ALLOW: `127.0.0.1:${receiver.port}` } });
});
afterAll(async () => {
  await server.stop();
  await receiver.stop(true);
});

interface Deliveries {
  readonly data: (Json & { readonly _id: string })[];
  readonly next: string | null;
}

async function failedOnce(consolePayloads: boolean): Promise<{ path: string; appId: string; list: Deliveries }> {
  const { admin } = server;
  status = 500;
  const app = await admin.createApp();
  await admin.must("PATCH", `/apps/${app._id}`, { consolePayloads });
  const root = `/apps/${app._id}/webhooks`;
  const url = `http://127.0.0.1:${receiver.port}/`;
  const { _id } = await admin.must<{ _id: string }>("POST", root, { url, events: ["key.created"] });
  await admin.createPublishable(app._id, { label: LABEL });
  const path = `${root}/${_id}`;
  const list = await found("the attempt is in the log", async () => {
    const page = await admin.must<Deliveries>("GET", `${path}/deliveries`);
    return page.data.length > 0 ? page : undefined;
  });
  return { path, appId: app._id, list };
}

test("an admin sees the answer, and what was sent only where operators may see messages", async () => {
  const closed = await failedOnce(false);
  expect(closed.list.data[0]).toMatchObject({
    _id: "1",
    seq: 1,
    type: "key.created",
    attempt: 1,
    succeeded: false,
    status: 500,
    response: ANSWER,
  });
  expect(closed.list.data[0]).not.toHaveProperty("data");
  const shown = await failedOnce(true);
  expect(shown.list.data[0]).toMatchObject({ data: { app: shown.appId, label: LABEL } } as never);
});

test("the role read sees neither, in no case", async () => {
  const { path } = await failedOnce(true);
  const { token } = await server.admin.must<{ token: string }>("POST", "/operators", { name: "rea", role: "read" });
  const reader = new Admin(server.url, token);
  const { data } = await reader.must<Deliveries>("GET", `${path}/deliveries`);
  expect(data).toMatchObject([{ type: "key.created", status: 500, succeeded: false }] as never);
  for (const one of ["", "/deliveries"]) {
    const { text } = await reader.call("GET", path + one);
    expect([text.includes(ANSWER), text.includes(LABEL)]).toEqual([false, false]);
  }
});

test("health, filters and pages are those of the log; replay and resend keep webhook-id and seq", async () => {
  const { admin } = server;
  const { path, list } = await failedOnce(true);
  expect(await admin.must("GET", path)).toMatchObject({
    health: { state: "failing", waiting: 1, delivered: 0, lastStatus: 500, failingSince: expect.any(Number) },
  } as never);
  status = 200;
  arrived.length = 0;
  expect(await admin.must("POST", `${path}/replay`, { since: 0 })).toEqual({ events: 1 });
  const succeeded = await found("it has succeeded", async () => {
    const page = await admin.must<Deliveries>("GET", `${path}/deliveries?status=succeeded`);
    return page.data.length > 0 ? page : undefined;
  });
  expect(succeeded.data[0]).toMatchObject({ seq: 1, webhookId: list.data[0]?.webhookId, status: 200 });
  const first = await admin.must<Deliveries>("GET", `${path}/deliveries?limit=1`);
  expect(first.data.map(({ _id }) => _id)).toEqual(succeeded.data.map(({ _id }) => _id));
  const second = await admin.must<Deliveries>("GET", `${path}/deliveries?limit=1&after=${first.next}`);
  expect(second).toMatchObject({ data: [{ _id: "1" }], next: null } as never);
  expect(await admin.must("GET", `${path}/deliveries?event=key.revoked`)).toEqual({ data: [], next: null });
  expect((await admin.call("GET", `${path}/deliveries?event=key.none`)).status).toBe(400);
  expect(await admin.must("GET", path)).toMatchObject({ health: { state: "ok", waiting: 0, delivered: 1 } } as never);

  expect(await admin.must("POST", `${path}/deliveries/1/resend`)).toEqual({ webhookId: list.data[0]?.webhookId });
  await found("it was sent twice", async () => (arrived.length === 2 ? true : undefined));
  expect(new Set(arrived.map((body) => (JSON.parse(body) as { data: { seq: number } }).data.seq))).toEqual(
    new Set([1]),
  );
  for (const id of ["0", "99", "x"])
    expect((await admin.call("POST", `${path}/deliveries/${id}/resend`)).status).toBe(404);
});

test("a webhook that is switched on again counts its health anew", async () => {
  const { admin } = server;
  const { path } = await failedOnce(false);
  await admin.must("PATCH", path, { disabled: true });
  expect(await admin.must("GET", path)).toMatchObject({ health: { state: "disabled" } } as never);
  const after = await admin.must("PATCH", path, { disabled: false });
  expect(after).toMatchObject({ disabled: false, health: { failingSince: null, state: "ok" } } as never);
});

test("a test answers what came back, is no event, and is in the audit", async () => {
  const { admin } = server;
  const { path, appId } = await failedOnce(false);
  for (const [answered, isGood] of [
    [204, true],
    [301, false],
    [410, false],
  ] as const) {
    status = answered;
    expect(await admin.must("POST", `${path}/test`)).toMatchObject({ succeeded: isGood, status: answered });
  }
  expect((await admin.must<Deliveries>("GET", `${path}/deliveries`)).data).toHaveLength(1);
  expect(await admin.must("GET", path)).toMatchObject({ disabled: false });
  const { data } = await admin.must<{ data: Json[] }>("GET", `/audit?app=${appId}&what=webhook%20tested`);
  expect(data.map(({ after }) => after)).toEqual([{ status: 410 }, { status: 301 }, { status: 204 }]);
});

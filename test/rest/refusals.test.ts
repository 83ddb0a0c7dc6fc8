/** GET /refusals: what was refused lately, for those who look afterwards. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { World } from "../conformance/raw/support/world.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { attempt, welcomed } from "../support/wire/connect.ts";

setDefaultTimeout(60_000);

interface Body {
  readonly data: readonly Record<string, unknown>[];
  readonly next: string | null;
  readonly isComplete: boolean;
}

const server = await checkedServerForTests();
const { url, admin, adminToken } = server;
const app = await admin.createApp();
const key = await admin.createKey(app._id, { actions: ["subscribe", "presence"] });
const publishable = await admin.createPublishable(app._id, { allowedOrigins: ["https://shop.example"] });
const list = (query: string): Promise<Body> => admin.must<Body>("GET", `/refusals?${query}`);
const times = { first: expect.any(Number), last: expect.any(Number), nodeId: expect.any(String) };

test("a refused connect and a refused frame are listed after the fact, without the credential", async () => {
  const token = `eyJhbGciOiJub25lIn0.${"s".repeat(40)}.`;
  await attempt(url, { query: `key=${publishable.keyId}`, headers: { Origin: "https://elsewhere.example" } });
  await attempt(url, { query: `token=${token}&hidden=query` });
  const world = new World(server, app, key);
  const ann = await world.member("chat/1", { sub: "ann" });
  const refused = await ann.wire.request({ type: "publish", channel: "chat/1", data: { hidden: "payload" } });
  expect(refused).toMatchObject({ type: "error" });
  ann.wire.drop();
  const common = { ...times, app: app._id, appName: app.name, count: 1 };
  const frame = { kind: "error", code: "action_not_permitted", keyId: key.keyId, peerId: "ann", channel: "chat/1" };
  const connect = { kind: "refuse", code: "origin_not_allowed", keyId: publishable.keyId };
  for (const name of [app._id, app.name])
    expect(await list(`app=${name}`)).toEqual({
      data: [
        { ...common, ...frame },
        { ...common, ...connect, origin: "https://elsewhere.example", address: "127.0.0.1" },
      ],
      next: null,
      isComplete: true,
    });
  expect((await list(`app=${app._id}&kind=refuse`)).data).toMatchObject([connect]);
  expect((await list(`app=${app._id}&code=action_not_permitted`)).data).toMatchObject([frame]);
  expect((await list(`app=${app._id}&peer=AN`)).data).toMatchObject([frame]);
  expect((await list(`app=${app._id}&from=elsewhere`)).data).toMatchObject([connect]);
  const { data } = await list("credentials=unknown");
  const offered = `token, ${token.length} characters`;
  expect(data).toEqual([{ ...times, kind: "refuse", code: "invalid_token", address: "127.0.0.1", count: 1, offered }]);
  const all = await list("limit=1000");
  for (const hidden of ["hidden", "eyJ", key.secret]) expect(JSON.stringify(all)).not.toContain(hidden);
});

test("a revoked key is listed with its application, while its clients get the same answer as with an unknown one", async () => {
  const old = await admin.createPublishable(app._id, { allowedOrigins: ["*"] });
  const signer = await admin.createKey(app._id, { actions: ["subscribe"] });
  const token = new World(server, app, signer).token({ sub: "bob" });
  for (const { keyId } of [old, signer]) await admin.must("DELETE", `/signalling/keys/${keyId}`);
  const unknown = `pk_live_${"0".repeat(32)}`;
  const answers = async (query: string): Promise<unknown> => {
    const response = await fetch(`${url}/v1?${query}`);
    return [response.status, await response.json()];
  };
  const ofKey = await answers(`key=${old.keyId}`);
  expect(ofKey).toEqual(await answers(`key=${unknown}`));
  const forged = await answers("token=eyJhbGciOiJIUzI1NiIsImtpZCI6Ingi.e30.c2ln");
  expect(await answers(`token=${token}`)).toEqual(forged);
  const { data } = await list(`app=${app._id}&code=key_revoked`);
  const common = { ...times, app: app._id, appName: app.name, kind: "refuse", code: "key_revoked", count: 1 };
  expect(data).toEqual([
    { ...common, keyId: signer.keyId, address: "127.0.0.1" },
    { ...common, keyId: old.keyId, address: "127.0.0.1" },
  ]);
  expect((await list("credentials=unknown&code=unauthorized")).data).toMatchObject([{ offered: "pk_live_00000000…" }]);
});

test("a state that comes before its roster is refused, but not listed: the client sends it again by itself", async () => {
  const world = new World(server, app, key);
  const wire = await welcomed(url, `token=${world.token({ sub: "eve" })}`);
  const state = (channel: string) => wire.request({ type: "state", channel, state: { typing: true } });
  wire.send({ type: "subscribe", channel: "chat/2", state: true });
  const refused = { type: "error", code: "channel_not_authorized" };
  expect(await state("chat/2")).toMatchObject(refused);
  expect(await state("chat/3")).toMatchObject(refused);
  wire.drop();
  const { data } = await list(`app=${app._id}&code=channel_not_authorized`);
  expect(data).toMatchObject([{ peerId: "eve", channel: "chat/3", count: 1 }]);
});

test("pages lead through the list", async () => {
  const first = await list("limit=1");
  expect(first.next).toBeString();
  const second = await list(`limit=1&after=${encodeURIComponent(first.next ?? "")}`);
  expect(second.data).toHaveLength(1);
  expect(second.data).not.toEqual(first.data);
});

test.each([
  [`app=${app._id}&credentials=unknown`, 400, "credentials: only without app"],
  ["app=nothing-of-that-name", 404, "app: there is no application with this id or name"],
  ["after=nonsense", 400, "after: must be the `next` of the previous page."],
  ["kind=publish", 400, "kind:"],
  ["limit=1001", 400, "limit:"],
])("%s is refused", async (query, status, message) => {
  const answer = await admin.call<{ message: string }>("GET", `/refusals?${query}`);
  expect([answer.status, answer.body.message]).toEqual([status, expect.stringContaining(message)]);
});

test("operators with the role read may see it, others not", async () => {
  const { token } = await admin.must<{ token: string }>("POST", "/operators", { name: "reader", role: "read" });
  expect((await call(`${url}/api/internal/v1/refusals`, { bearer: token })).status).toBe(200);
  expect((await call(`${url}/api/internal/v1/refusals`)).status).toBe(401);
  expect((await call(`${url}/api/internal/v1/refusals`, { bearer: `${adminToken}x` })).status).toBe(401);
});

/** Applications over the control plane (protocol.md 8). Every response is also checked against /openapi.json. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { type App, freshName, mint, mintToken } from "../support/admin.ts";
import { CONFLICT, INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import { nowSeconds } from "../support/jwt.ts";

setDefaultTimeout(60_000);

const APPS = "/apps";
const KEYS = "/signalling/keys";
const RESERVED = ["www", "api", "admin", "docs", "static"];

const server = await checkedServerForTests();
const { admin } = server;

test("an application is created with a secret, then shown without it, by id and by name", async () => {
  const name = freshName();
  const before = nowSeconds();
  const { secretKey, ...app } = await admin.createApp(name);
  expect(secretKey).toMatch(/^[A-Za-z0-9_-]{32,}$/);
  expect(app._id).toMatch(/^[0-9a-f]{24}$/);
  expect(app).toMatchObject({ name, retentionDays: null });
  expect(app.plan).toEqual({
    name: expect.any(String) as string,
    maxConcurrentConnections: null,
    maxMessagesPerPeriod: null,
  });
  expect(app.created).toBeGreaterThanOrEqual(before);
  expect(await admin.must<App>("GET", `${APPS}/${app._id}`)).toEqual(app);
  expect(await admin.must<App>("GET", `${APPS}/${name}`)).toEqual(app);
  const { data } = await admin.must<{ data: App[] }>("GET", APPS);
  expect(data.filter((one) => one._id === app._id)).toEqual([app]);
});

test("ids ascend in the order of creation", async () => {
  const made = [await admin.createApp(), await admin.createApp(), await admin.createApp()];
  expect(made.map((app) => app._id)).toEqual(made.map((app) => app._id).sort());
});

test.each(["a", "0", "a-b", "a--b", "x".repeat(63)])("a DNS label is a name: %s", async (name) => {
  expect((await admin.call("POST", APPS, { name })).status).toBe(200);
  expect((await admin.call("DELETE", `${APPS}/${name}`)).status).toBe(200);
});

test.each([
  ...RESERVED,
  "",
  "A",
  "-a",
  "a-",
  "a.b",
  "a_b",
  "ä",
  "a b",
  "a/b",
  "a\n",
  "x".repeat(64),
  null,
  1,
  { a: 1 },
  undefined,
])("an invalid name is refused: %p", async (name) => {
  const before = await admin.revision();
  await refused(admin, INVALID, "POST", APPS, { name });
  expect(await admin.revision()).toBe(before);
});

test("a name that is taken is a conflict, also when two requests come at once", async () => {
  const name = freshName();
  const statuses = await Promise.all([1, 2, 3, 4].map(async () => (await admin.call("POST", APPS, { name })).status));
  expect(statuses.sort()).toEqual([200, 409, 409, 409]);
  await refused(admin, CONFLICT, "POST", APPS, { name });
});

test("PATCH changes only the given fields", async () => {
  const { _id } = await admin.createApp();
  const path = `${APPS}/${_id}`;
  const patch = (body: Json): Promise<App> => admin.must("PATCH", path, body);
  await patch({ plan: { name: "pro", maxConcurrentConnections: 10 }, retentionDays: 30 });
  expect(await patch({ plan: { maxMessagesPerPeriod: 0 } })).toMatchObject({
    plan: { name: "pro", maxConcurrentConnections: 10, maxMessagesPerPeriod: 0 },
    retentionDays: 30,
  });
  expect(await patch({ plan: { maxConcurrentConnections: null }, retentionDays: null })).toMatchObject({
    plan: { name: "pro", maxConcurrentConnections: null, maxMessagesPerPeriod: 0 },
    retentionDays: null,
  });
  const before = await admin.must<App>("GET", path);
  expect(await patch({})).toEqual(before);
});

test("PATCH sets who may frame meetings, and how long meetings are kept", async () => {
  const { _id } = await admin.createApp();
  const path = `${APPS}/${_id}`;
  const patch = (body: Json): Promise<App> => admin.must("PATCH", path, body);
  expect(await admin.must<App>("GET", path)).toMatchObject({ allowedFrameOrigins: [], meetingRetentionDays: 90 });
  // In their normal form, as browsers send them, and each once.
  const origins = [
    "https://Shop.example:443",
    "https://*.example.org",
    "http://localhost:8080",
    "https://shop.example",
  ];
  expect(await patch({ allowedFrameOrigins: origins })).toMatchObject({
    allowedFrameOrigins: ["https://shop.example", "https://*.example.org", "http://localhost:8080"],
    meetingRetentionDays: 90,
  });
  for (const meetingRetentionDays of [1, 3650])
    expect(await patch({ meetingRetentionDays })).toMatchObject({ meetingRetentionDays });
  expect((await patch({ retentionDays: 3 })) as unknown).toMatchObject({
    allowedFrameOrigins: ["https://shop.example", "https://*.example.org", "http://localhost:8080"],
    meetingRetentionDays: 3650,
  });
  expect(await patch({ allowedFrameOrigins: [] })).toMatchObject({ allowedFrameOrigins: [] });
});

test("PATCH sets how many bytes the recordings may have", async () => {
  const { _id } = await admin.createApp();
  const path = `${APPS}/${_id}`;
  expect(await admin.must<App>("GET", path)).toMatchObject({ maxRecordingBytesTotal: 100 * 1024 ** 3 });
  for (const maxRecordingBytesTotal of [0, 5_000_000_000, 1024 ** 5])
    expect(await admin.must<App>("PATCH", path, { maxRecordingBytesTotal })).toMatchObject({ maxRecordingBytesTotal });
  expect(await admin.must<App>("PATCH", path, { retentionDays: 3 })).toMatchObject({
    maxRecordingBytesTotal: 1024 ** 5,
  });
});

test.each<[Json, string]>([
  [{ maxRecordingBytesTotal: -1 }, "maxRecordingBytesTotal: "],
  [{ maxRecordingBytesTotal: 1024 ** 5 + 1 }, "maxRecordingBytesTotal: "],
  [{ maxRecordingBytesTotal: null }, "maxRecordingBytesTotal: "],
  [
    { allowedFrameOrigins: ["*"] },
    "allowedFrameOrigins.0: must be an origin: https://example.com or https://*.example.com",
  ],
  [{ allowedFrameOrigins: ["https://a.example", "a.example"] }, "allowedFrameOrigins.1: must be an origin"],
  [{ allowedFrameOrigins: ["file://a"] }, "allowedFrameOrigins.0: must be an origin"],
  [{ allowedFrameOrigins: ["https://a.example/path"] }, "allowedFrameOrigins.0: must be an origin"],
  [{ allowedFrameOrigins: ["https://a.example; script-src *"] }, "allowedFrameOrigins.0: must be an origin"],
  [{ allowedFrameOrigins: Array(101).fill("https://a.example") }, "allowedFrameOrigins: must have at most 100 entries"],
  [{ meetingRetentionDays: 0 }, "meetingRetentionDays: "],
  [{ meetingRetentionDays: 3651 }, "meetingRetentionDays: "],
  [{ meetingRetentionDays: null }, "meetingRetentionDays: "],
])("PATCH refuses %j and says why", async (body, text) => {
  const { _id } = await admin.createApp();
  expect(await refused(admin, INVALID, "PATCH", `${APPS}/${_id}`, body)).toContain(text);
});

test.each<Json>([
  { plan: null },
  { plan: "pro" },
  { plan: { name: "" } },
  { plan: { name: 1 } },
  { plan: { name: "x".repeat(129) } },
  { plan: { name: "a\u0007" } },
  { plan: { maxConcurrentConnections: -1 } },
  { plan: { maxConcurrentConnections: 1.5 } },
  { plan: { maxMessagesPerPeriod: "10" } },
  { retentionDays: 0 },
  { retentionDays: "7" },
])("PATCH refuses %j and changes nothing", async (body) => {
  const { _id } = await admin.createApp();
  const before = await admin.must<App>("GET", `${APPS}/${_id}`);
  await refused(admin, INVALID, "PATCH", `${APPS}/${_id}`, { retentionDays: 5, ...body });
  expect(await admin.must<App>("GET", `${APPS}/${_id}`)).toEqual(before);
});

test("an application's secret can be shown and replaced", async () => {
  const { _id, name, secretKey } = await admin.createApp();
  const path = `${APPS}/${name}/secret-key`;
  expect(await admin.must<Json>("GET", path)).toEqual({ secretKey });
  const rotated = await admin.must<Json>("POST", `${APPS}/${_id}/secret-key/rotate`);
  expect(rotated).toEqual({ secretKey: expect.any(String) });
  expect(rotated.secretKey).not.toBe(secretKey);
  expect(await admin.must<Json>("GET", path)).toEqual(rotated);
});

test.each<[string, Json, string]>([
  ["POST", { nam: "x" }, 'nam: there is no such field; did you mean "name"?'],
  ["POST", { name: "fine", plan: {} }, "plan: there is no such field; there are name."],
  ["PATCH", { retentiondays: 5 }, 'retentiondays: there is no such field; did you mean "retentionDays"?'],
  ["PATCH", { plan: { maxConnections: 5 } }, "plan.maxConnections: there is no such field"],
])("an unknown field is refused and named: %s %j", async (method, body, text) => {
  const { _id } = await admin.createApp();
  const before = await admin.revision();
  expect(await refused(admin, INVALID, method, method === "POST" ? APPS : `${APPS}/${_id}`, body)).toContain(text);
  expect(await admin.revision()).toBe(before);
});

test("deleting an application returns its end, revokes its keys and frees its name", async () => {
  const app = await admin.createApp();
  const key = await admin.createKey(app._id);
  const other = await admin.createKey((await admin.createApp()).name);
  const token = await mintToken(server.url, key.credential);
  const { deleted, ...rest } = await admin.must<App & { deleted: number }>("DELETE", `${APPS}/${app.name}`);
  expect(deleted).toBeGreaterThanOrEqual(app.created);
  expect(rest).toMatchObject({ _id: app._id, name: app.name });
  for (const [method, path] of [
    ["GET", `${APPS}/${app._id}`],
    ["GET", `${APPS}/${app.name}`],
    ["PATCH", `${APPS}/${app._id}`],
    ["DELETE", `${APPS}/${app._id}`],
    ["GET", `${APPS}/${app._id}/secret-key`],
    ["POST", `${APPS}/${app._id}/secret-key/rotate`],
    ["GET", `${KEYS}?app=${app._id}`],
  ] as const)
    await refused(admin, NOT_FOUND, method, path, method === "PATCH" ? {} : undefined);
  expect((await admin.key(key.keyId)).revoked).toBe(deleted);
  expect((await mint(server.url, key.credential)).status).toBe(401);
  expect(await admin.check(token)).toMatchObject({ valid: false, error: "invalid_token" });
  expect((await mint(server.url, other.credential)).status).toBe(200);
  const successor = await admin.createApp(app.name);
  expect(successor._id).not.toBe(app._id);
  expect(await admin.keys(successor.name)).toEqual([]);
});

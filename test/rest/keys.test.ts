/** Keys over the control plane (protocol.md 8). Every response is also checked against /openapi.json. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { ALL_ACTIONS, type Key, mint, mintToken } from "../support/admin.ts";
import { CONFLICT, INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { type Json, rawCall, statusOf } from "../support/http.ts";

setDefaultTimeout(60_000);

const KEYS = "/signalling/keys";

const server = await checkedServerForTests();
const { admin } = server;

test("a secret key has its fields and formats, and shows its secret only once", async () => {
  const app = await admin.createApp();
  const body = {
    app: app.name,
    type: "secret",
    channelPatterns: ["chat/*"],
    actions: ["send", "publish"],
    label: "backend ü",
  };
  const { secret, ...key } = await admin.must<Key & { secret: string }>("POST", KEYS, body);
  expect(secret).toMatch(/^sk_secret_[A-Za-z0-9_-]{48}$/);
  expect(key.keyId).toMatch(/^sk_id_[0-9a-f]{32}$/);
  expect(key).toEqual({
    keyId: key.keyId,
    app: app._id,
    type: "secret",
    label: "backend ü",
    channelPatterns: ["chat/*"],
    actions: ["publish", "send"],
    turn: false,
    created: expect.any(Number) as number,
    rotated: null,
    revoked: null,
    previousSecrets: [],
  });
  expect(await admin.key(key.keyId)).toEqual({ ...key, connections: 0 });
  expect(await admin.keys(app.name)).toEqual([key]);
  expect(await admin.keys(app._id)).toEqual([key]);
  expect((await admin.keys()).filter((one) => one.keyId === key.keyId)).toEqual([key]);
});

test("a publishable key has normalised origins and no secret", async () => {
  const app = await admin.createApp();
  const key = await admin.createPublishable(app._id, {
    allowedOrigins: ["HTTPS://Example.com:443", "https://*.example.com", "http://localhost:3000", "*"],
  });
  expect(key.keyId).toMatch(/^pk_live_[0-9a-f]{32}$/);
  expect(key).not.toHaveProperty("secret");
  expect(key.allowedOrigins).toEqual(["https://example.com", "https://*.example.com", "http://localhost:3000", "*"]);
  expect((await admin.createPublishable(app._id, { allowedOrigins: [] })).allowedOrigins).toEqual([]);
});

test.each<[string, Json]>([
  ["no app", { app: undefined }],
  ["app a number", { app: 1 }],
  ["no type", { type: undefined }],
  ["unknown type", { type: "master" }],
  ["no patterns", { channelPatterns: undefined }],
  ["patterns a text", { channelPatterns: "**" }],
  ["an empty pattern", { channelPatterns: [""] }],
  ["three stars", { channelPatterns: ["a***"] }],
  ["a bad escape", { channelPatterns: ["a\\b"] }],
  ["a backslash at the end", { channelPatterns: ["a\\"] }],
  ["a control character", { channelPatterns: ["a\u0000"] }],
  ["a pattern of 257 bytes", { channelPatterns: ["x".repeat(257)] }],
  ["101 patterns", { channelPatterns: Array(101).fill("a") }],
  ["no actions", { actions: undefined }],
  ["an unknown action", { actions: ["fly"] }],
  ["origins for a secret key", { allowedOrigins: ["https://a.example"] }],
  ["no origins, but for a secret key", { allowedOrigins: [] }],
  ["a publishable key without origins", { type: "publishable" }],
  ["an origin with a path", { type: "publishable", allowedOrigins: ["https://a.example/x"] }],
  ["an origin without a scheme", { type: "publishable", allowedOrigins: ["a.example"] }],
  ["label a number", { label: 1 }],
  ["label of 129 characters", { label: "x".repeat(129) }],
  ["label with a control character", { label: "a\u001b[2J" }],
  ["label with half a character", { label: "a\ud800" }],
])("an invalid key is refused: %s", async (_name, wrong) => {
  const app = await admin.createApp();
  const before = await admin.revision();
  const good = { app: app._id, type: "secret", channelPatterns: ["a"], actions: ALL_ACTIONS };
  await refused(admin, INVALID, "POST", KEYS, { ...good, ...wrong });
  expect(await admin.revision()).toBe(before);
  expect(await admin.keys(app._id)).toEqual([]);
});

test("values at the limits are accepted", async () => {
  const app = await admin.createApp();
  const key = await admin.createKey(app._id, {
    channelPatterns: Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(256, "x")),
    label: "x".repeat(128),
  });
  expect(key.channelPatterns.length).toBe(100);
  expect((await admin.createKey(app._id, { label: null })).label).toBeNull();
});

test("keys of an application that does not exist can neither be listed nor created", async () => {
  const body = { app: "no-such-app", type: "secret", channelPatterns: [], actions: [] };
  await refused(admin, NOT_FOUND, "POST", KEYS, body);
  await refused(admin, NOT_FOUND, "GET", `${KEYS}?app=no-such-app`);
});

test("an application has at most 50 live keys, also with requests at the same time", async () => {
  const app = await admin.createApp();
  const body = { app: app._id, type: "secret", channelPatterns: [], actions: [] };
  const statuses = await Promise.all(
    Array.from({ length: 55 }, async () => (await admin.call("POST", KEYS, body)).status),
  );
  expect(statuses.filter((status) => status === 200).length).toBe(50);
  expect(statuses.filter((status) => status === 409).length).toBe(5);
  await refused(admin, CONFLICT, "POST", KEYS, { ...body, type: "publishable", allowedOrigins: [] });
  const [first] = await admin.keys(app._id);
  await admin.revoke(first!.keyId);
  expect((await admin.call("POST", KEYS, body)).status).toBe(200);
  await refused(admin, CONFLICT, "POST", KEYS, body);
  expect((await admin.keys(app._id)).length).toBe(51);
});

test("PATCH changes only the given fields, and takes effect at once", async () => {
  const app = await admin.createApp();
  const key = await admin.createKey(app._id, { channelPatterns: ["a"], actions: ["publish"], label: "one" });
  const { secret: _secret, credential: _credential, ...plain } = key;
  expect(await admin.patchKey(key.keyId, {})).toEqual(plain);
  expect(await admin.patchKey(key.keyId, { label: null })).toEqual({ ...plain, label: null });
  expect(await admin.patchKey(key.keyId, { actions: ["send", "publish", "send"] })).toMatchObject({
    channelPatterns: ["a"],
    actions: ["publish", "send"],
    label: null,
  });
  expect(await admin.patchKey(key.keyId, { channelPatterns: [] })).toMatchObject({ channelPatterns: [] });
  expect((await mint(server.url, key.credential, { peerId: "a", channels: ["a"] })).status).toBe(403);
  const publishable = await admin.createPublishable(app._id);
  const { connections: _connections, ...shown } = await admin.key(publishable.keyId);
  const origins = ["https://b.example"];
  expect(await admin.patchKey(publishable.keyId, { allowedOrigins: origins })).toEqual({
    ...shown,
    allowedOrigins: origins,
  });
  for (const one of [key, publishable]) {
    expect(await admin.patchKey(one.keyId, { turn: true })).toMatchObject({ turn: true });
    expect((await admin.key(one.keyId)).turn).toBe(true);
    expect(await admin.patchKey(one.keyId, { label: "x" })).toMatchObject({ turn: true });
  }
  expect((await admin.createKey(app._id, { turn: true })).turn).toBe(true);
});

test.each<Json>([
  { channelPatterns: ["***"] },
  { channelPatterns: null },
  { actions: ["fly"] },
  { allowedOrigins: ["https://a.example"] },
  { allowedOrigins: [] },
  { label: 7 },
  { turn: "yes" },
  { turn: null },
])("PATCH of a secret key refuses %j and changes nothing", async (wrong) => {
  const key = await admin.createKey((await admin.createApp())._id);
  const before = await admin.key(key.keyId);
  await refused(admin, INVALID, "PATCH", `${KEYS}/${key.keyId}`, { label: "new", ...wrong });
  expect(await admin.key(key.keyId)).toEqual(before);
});

test.each<[Json, string]>([
  [{ type: "publishable" }, "type: there is no such field"],
  [{ secret: "mine" }, "secret: there is no such field"],
  [{ channels: ["x"] }, "channels: there is no such field"],
  [{ action: ["publish"] }, 'action: there is no such field; did you mean "actions"?'],
])("a field that cannot be changed, or is misspelt, is named and changes nothing: %j", async (wrong, text) => {
  const key = await admin.createKey((await admin.createApp())._id);
  const before = await admin.key(key.keyId);
  expect(await refused(admin, INVALID, "PATCH", `${KEYS}/${key.keyId}`, { label: "new", ...wrong })).toContain(text);
  expect(await admin.key(key.keyId)).toEqual(before);
});

test("a revoked key is refused at once, still listed, and its end does not change", async () => {
  const app = await admin.createApp();
  const key = await admin.createKey(app._id);
  const token = await mintToken(server.url, key.credential);
  const revoked = await admin.revoke(key.keyId);
  expect(revoked.revoked).toBeGreaterThanOrEqual(revoked.created);
  expect((await mint(server.url, key.credential)).status).toBe(401);
  expect(await admin.check(token)).toMatchObject({ valid: false, error: "invalid_token" });
  expect(await admin.revoke(key.keyId)).toEqual(revoked);
  expect(await admin.keys(app._id)).toEqual([revoked]);
  await refused(admin, CONFLICT, "PATCH", `${KEYS}/${key.keyId}`, { label: "x" });
  await refused(admin, CONFLICT, "POST", `${KEYS}/${key.keyId}/rotate`);
});

test.each([`sk_id_${"0".repeat(32)}`, "__proto__", "..", "%2e%2e", "a%2fb", "%00", "%ff", "x".repeat(10_000)])(
  "an unknown key is not found: %p",
  async (keyId) => {
    await refused(admin, NOT_FOUND, "GET", `${KEYS}/${keyId.slice(0, 200)}`);
    // The raw path, which fetch would normalise.
    const raw = (method: string, path: string): Promise<string> =>
      rawCall(
        server.url,
        `${method} /api/internal/v1${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${admin.token}\r\nContent-Length: 0\r\n\r\n`,
      );
    expect(statusOf(await raw("GET", `${KEYS}/${keyId}`))).toBe(404);
    expect(statusOf(await raw("PATCH", `${KEYS}/${keyId}`))).toBe(404);
    expect(statusOf(await raw("DELETE", `${KEYS}/${keyId}`))).toBe(404);
    expect(statusOf(await raw("POST", `${KEYS}/${keyId}/rotate`))).toBe(404);
  },
);

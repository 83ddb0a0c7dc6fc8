/** A credential must be valid when it is used, not only when its request began: bodies that arrive after a revocation have no effect. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { serverForTests } from "../support/for-tests.ts";
import { type HalfSent, halfSent, statusOf } from "../support/http.ts";

setDefaultTimeout(60_000);

const server = await serverForTests();

const begin = (path: string, bearer: string, body: object, host = "127.0.0.1"): Promise<HalfSent> =>
  halfSent(
    server.url,
    [`POST ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${bearer}`, "Content-Type: application/json"],
    JSON.stringify(body),
  );

describe("a request whose body arrives after its key was revoked", () => {
  test.each([
    ["mints nothing", "/v1/tokens", { peerId: "alice" }],
    ["publishes nothing", "/v1/channels/room/publish", { data: "late" }],
    ["sends nothing", "/v1/peers/alice/send", { data: "late" }],
  ])("%s", async (_what, path, body) => {
    const app = await server.admin.createApp();
    const key = await server.admin.createKey(app.name);
    const late = await begin(path, key.credential, body);
    await server.admin.revoke(key.keyId);
    const answer = await late.finish();
    expect({ status: statusOf(answer), code: /"error":"(\w+)"/.exec(answer)?.[1] }).toEqual({
      status: 401,
      code: "unauthorized",
    });
  });

  test("may do only what the key allows by then", async () => {
    const app = await server.admin.createApp();
    const key = await server.admin.createKey(app.name);
    const late = await begin("/v1/channels/room/publish", key.credential, { data: "late" });
    await server.admin.patchKey(key.keyId, { actions: ["subscribe"] });
    expect(statusOf(await late.finish())).toBe(403);
  });

  test("a request whose key is unchanged succeeds, and counts once against the rate", async () => {
    const app = await server.admin.createApp();
    const key = await server.admin.createKey(app.name);
    expect(statusOf(await (await begin("/v1/tokens", key.credential, { peerId: "alice" })).finish())).toBe(200);
  });
});

test("a request to create a room fails if its secret key is replaced before the body is complete", async () => {
  const app = await server.admin.createApp();
  const host = `${app.name}.localhost`;
  const late = await begin("/api/v1/room", app.secretKey, { roomName: "late" }, host);
  const rotated = await server.admin.call("POST", `/apps/${app.name}/secret-key/rotate`, { graceSec: 0 });
  expect(rotated.status).toBe(200);
  const answer = await late.finish();
  expect(statusOf(answer)).toBe(400);
  expect(answer).toContain('"invalid_secret_key"');
});

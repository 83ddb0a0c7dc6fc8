/** Rotation: several previous secrets, each with its own end, and what they may still do (service.md 5.6, protocol.md 8). */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mint, mintToken } from "../support/admin.ts";
import { CONFLICT, INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import type { Document } from "../support/contract.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";
import { nowSeconds, payloadOf, selfSigned, signature } from "../support/jwt.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(60_000);

const KEYS = "/signalling/keys";
const GRACE_SECONDS = 7200;

const server = await checkedServerForTests({ env: { PARLEY_ROTATION_GRACE_SECONDS: String(GRACE_SECONDS) } });
const { admin } = server;

const newKey = async () => admin.createKey((await admin.createApp())._id);

test("the id stays, the secret is new, the old one keeps verifying for the configured grace period", async () => {
  const key = await newKey();
  const old = await mintToken(server.url, key.credential);
  const before = nowSeconds();
  const rotated = await admin.rotate(key.keyId);
  expect(Object.keys(rotated).sort()).toEqual(["keyId", "previousSecretExpiresAt", "secret"]);
  expect(rotated.keyId).toBe(key.keyId);
  expect(rotated.secret).toMatch(/^sk_secret_[A-Za-z0-9_-]{48}$/);
  expect(rotated.secret).not.toBe(key.secret);
  expect(rotated.previousSecretExpiresAt).toBeGreaterThanOrEqual(before + GRACE_SECONDS);
  expect(rotated.previousSecretExpiresAt).toBeLessThanOrEqual(nowSeconds() + GRACE_SECONDS);
  expect((await admin.check(old)).valid).toBe(true);
  expect((await admin.check(selfSigned(key.keyId, key.secret))).valid).toBe(true);
  expect((await admin.check(await mintToken(server.url, `${key.keyId}:${rotated.secret}`))).valid).toBe(true);
  const shown = await admin.key(key.keyId);
  expect(shown.rotated).toBeGreaterThanOrEqual(before);
  expect(JSON.stringify(shown)).not.toContain("sk_secret_");
});

test("an empty body, {} and no body at all mean the defaults", async () => {
  const key = await newKey();
  for (const body of [undefined, "", {}]) {
    const { status } = await admin.call("POST", `${KEYS}/${key.keyId}/rotate`, body);
    expect(status).toBe(200);
  }
});

test("graceSec 0 ends the old secret at once: its tokens say token_expired", async () => {
  const key = await newKey();
  const token = await mintToken(server.url, key.credential);
  const rotated = await admin.rotate(key.keyId, { graceSec: 0 });
  expect(rotated.previousSecretExpiresAt).toBeLessThanOrEqual(nowSeconds());
  expect(await admin.check(token)).toMatchObject({ valid: false, error: "token_expired" });
  expect((await mint(server.url, key.credential)).status).toBe(401);
});

test("the end of a grace period turns valid into token_expired, permanently", async () => {
  const key = await newKey();
  const token = selfSigned(key.keyId, key.secret);
  const { previousSecretExpiresAt: ends } = await admin.rotate(key.keyId, { graceSec: 2 });
  await until("the grace period is over", async () => {
    const asked = Date.now();
    const { valid, error } = await admin.check(token);
    const answered = Date.now();
    // The end is shown in whole seconds, so it may be up to a second later.
    if (valid) expect(asked).toBeLessThan((ends + 1) * 1000);
    else {
      expect(error).toBe("token_expired");
      expect(answered).toBeGreaterThanOrEqual(ends * 1000);
    }
    return !valid;
  });
  expect((await mint(server.url, key.credential)).status).toBe(401);
});

test("each previous secret keeps its own end; a sixth rotation is refused", async () => {
  const key = await newKey();
  const secrets = [key.secret];
  const ends: number[] = [];
  for (const graceSec of [5000, 1000, 4000, 2000, 3000]) {
    const { secret, previousSecretExpiresAt } = await admin.rotate(key.keyId, { graceSec });
    secrets.push(secret);
    ends.push(previousSecretExpiresAt);
  }
  const expectAll = async (valid: boolean): Promise<void> => {
    for (const secret of secrets.slice(0, 5))
      expect((await admin.check(selfSigned(key.keyId, secret))).valid).toBe(valid);
  };
  await expectAll(true);
  await refused(admin, CONFLICT, "POST", `${KEYS}/${key.keyId}/rotate`, { graceSec: 60 });
  await refused(admin, CONFLICT, "POST", `${KEYS}/${key.keyId}/rotate`);
  await expectAll(true);
  expect((await mint(server.url, `${key.keyId}:${secrets[5]}`)).status).toBe(200);

  // A token that a previous secret mints shows that secret's end: the later rotations have not moved it.
  for (const [i, secret] of secrets.slice(0, 5).entries()) {
    const { body } = await mint(server.url, `${key.keyId}:${secret}`, { peerId: "a" });
    expect(body.expiresAt).toBeLessThanOrEqual(Math.min(ends[i]!, nowSeconds() + 3601));
    const over = { peerId: "a", expiresInSec: ends[i]! - nowSeconds() + 1 };
    expect((await mint(server.url, `${key.keyId}:${secret}`, over)).status).toBe(400);
  }

  // Neither of these two rotations leaves another live previous secret.
  secrets.push((await admin.rotate(key.keyId, { graceSec: 0 })).secret);
  await expectAll(true);
  expect((await admin.check(selfSigned(key.keyId, secrets[5]!))).error).toBe("token_expired");
  const { secret } = await admin.rotate(key.keyId, { graceSec: 60, retirePrevious: true });
  await expectAll(false);
  for (const retired of secrets) {
    expect((await admin.check(selfSigned(key.keyId, retired))).error).toBe("token_expired");
    expect((await mint(server.url, `${key.keyId}:${retired}`)).status).toBe(401);
  }
  expect((await admin.check(selfSigned(key.keyId, secret))).valid).toBe(true);
  await admin.rotate(key.keyId);
});

test("the last 20 retired secrets are remembered, and none before them", async () => {
  const key = await newKey();
  const secrets = [key.secret];
  for (let i = 0; i < 21; i++) secrets.push((await admin.rotate(key.keyId, { graceSec: 0 })).secret);
  const current = secrets.pop()!;
  const errors = [];
  for (const secret of secrets) errors.push((await admin.check(selfSigned(key.keyId, secret))).error);
  expect(errors).toEqual(["invalid_token", ...Array<string>(20).fill("token_expired")]);
  expect((await admin.check(selfSigned(key.keyId, current))).valid).toBe(true);
});

test("a previous secret only mints: tokens are signed with it and end with its grace period", async () => {
  const key = await newKey();
  const { secret, previousSecretExpiresAt: ends } = await admin.rotate(key.keyId, { graceSec: 100 });
  const { status, body } = await mint(server.url, key.credential, { peerId: "a" });
  expect(status).toBe(200);
  expect(body.expiresAt).toBeLessThanOrEqual(ends);
  expect(body.expiresAt).toBe(payloadOf(body.token).exp as number);
  expect((await mint(server.url, key.credential, { peerId: "a", expiresInSec: 10 })).status).toBe(200);
  const over = await mint(server.url, key.credential, { peerId: "a", expiresInSec: 101 });
  expect({ status: over.status, error: over.body.error }).toEqual({ status: 400, error: "invalid_request" });
  expect((await admin.check(body.token)).valid).toBe(true);
  const signedWith = (token: string, by: string): boolean => {
    const at = token.lastIndexOf(".");
    return token.slice(at + 1) === signature(token.slice(0, at), by);
  };
  expect(signedWith(body.token, key.secret)).toBe(true);
  const fresh = await mintToken(server.url, `${key.keyId}:${secret}`);
  expect(signedWith(fresh, secret)).toBe(true);
  await admin.rotate(key.keyId, { retirePrevious: true });
  expect((await admin.check(body.token)).error).toBe("token_expired");
  expect((await admin.check(fresh)).error).toBe("token_expired");
});

test("a previous secret is refused by all other calls, and by the control plane", async () => {
  const key = await newKey();
  const { secret } = await admin.rotate(key.keyId);
  const { body: document } = await call<Document>(`${server.url}/openapi.json`);
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { security }] of Object.entries(operations)) {
      if (path === "/v1/tokens" || !security?.some((one) => "secretKey" in one)) continue;
      const url = server.url + path.replace(/\{\w+\}/g, "x");
      const statusFor = async (bearer: string): Promise<number> =>
        (await call(url, { method: method.toUpperCase(), bearer })).status;
      expect({ method, path, status: await statusFor(key.credential) }).toEqual({ method, path, status: 401 });
      expect(await statusFor(`${key.keyId}:${secret}`)).not.toBe(401);
    }
  }
  for (const bearer of [key.secret, key.credential, secret])
    expect((await call(`${server.url}/api/internal/v1/apps`, { bearer })).status).toBe(401);
});

test.each<Json>([
  { graceSec: -1 },
  { graceSec: 2_592_001 },
  { graceSec: 1.5 },
  { graceSec: "60" },
  { graceSec: null },
  { retirePrevious: "yes" },
  { retirePrevious: null },
])("refuses %j and changes nothing", async (body) => {
  const key = await newKey();
  const before = await admin.revision();
  await refused(admin, INVALID, "POST", `${KEYS}/${key.keyId}/rotate`, body);
  expect(await admin.revision()).toBe(before);
  expect((await mint(server.url, key.credential)).status).toBe(200);
});

test("the grace period is at most 30 days", async () => {
  const key = await newKey();
  const { previousSecretExpiresAt } = await admin.rotate(key.keyId, { graceSec: 2_592_000 });
  expect(previousSecretExpiresAt).toBeGreaterThan(nowSeconds() + 2_591_000);
});

test("a publishable or unknown key cannot be rotated", async () => {
  const publishable = await admin.createPublishable((await admin.createApp())._id);
  await refused(admin, CONFLICT, "POST", `${KEYS}/${publishable.keyId}/rotate`, {});
  await refused(admin, NOT_FOUND, "POST", `${KEYS}/sk_id_${"0".repeat(32)}/rotate`, {});
});

/** POST /explain: the answer is that of a real connect, and nothing that was pasted is repeated. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { mintToken } from "../support/admin.ts";
import { INVALID, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";
import { forge, nowSeconds } from "../support/jwt.ts";

setDefaultTimeout(60_000);

interface Explanation {
  readonly checks: readonly { name: string; result: string; why?: string; hint?: string }[];
  readonly allowed: boolean;
}

const server = await checkedServerForTests({ env: { PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0" } });
const { admin } = server;
const app = await admin.createApp();
const secretKey = await admin.createKey(app.name, { channelPatterns: ["chat/*"], actions: ["publish", "subscribe"] });
const { keyId } = await admin.createPublishable(app.name, { allowedOrigins: ["https://a.example"] });

const ask = (question: Json): Promise<Explanation> => admin.must("POST", "/explain", question);
const refusing = ({ checks }: Explanation) => checks.find(({ result }) => result === "refuses");

/** What GET /v1 answers: 426 where a WebSocket would be admitted. */
async function connectCode({ key, token, origin }: Json): Promise<string> {
  const query = new URLSearchParams({ ...(key ? { key: `${key}` } : {}), ...(token ? { token: `${token}` } : {}) });
  const headers: Record<string, string> = origin ? { Origin: `${origin}` } : {};
  return (await call<{ error: string }>(`${server.url}/v1?${query}`, { headers })).body.error;
}

test("it agrees with GET /v1, and names the check that refuses", async () => {
  const token = await mintToken(server.url, secretKey.credential);
  const claims = { sub: "alice", exp: nowSeconds() - 180 };
  const old = forge({ alg: "HS256", kid: secretKey.keyId }, claims, secretKey.secret);
  for (const [question, check, code] of [
    [{ key: keyId }, undefined, "upgrade_required"],
    [{ key: keyId, origin: "https://a.example" }, undefined, "upgrade_required"],
    [{ key: keyId, origin: "https://b.example" }, "origin", "origin_not_allowed"],
    [{ key: secretKey.keyId }, "key", "unauthorized"],
    [{ token }, undefined, "upgrade_required"],
    [{ token: `${token}.x` }, "token", "invalid_token"],
    [{ token: old }, "expiry", "token_expired"],
    [{ token, key: keyId }, "credential", "unauthorized"],
    [{}, "credential", "unauthorized"],
  ] as const) {
    const answer = await ask(question);
    expect([refusing(answer)?.name, answer.allowed]).toEqual([check, check === undefined]);
    expect(await connectCode(question)).toBe(code);
  }
  const expired = refusing(await ask({ token: ` ${old}\n` }));
  expect(expired?.why).toBe("The token is refused: its exp passed 3 minutes ago.");
});

test("a hint says what to change, and the change helps", async () => {
  const question = { key: keyId, origin: "https://C.example:443", channel: "", action: "send" };
  expect(refusing(await ask(question))?.hint).toBe(
    `Add https://c.example to the allowed origins of ${keyId}, but only if the page is yours.`,
  );
  await admin.patchKey(keyId, { allowedOrigins: ["https://a.example", "https://c.example"], actions: ["publish"] });
  expect(refusing(await ask(question))).toEqual({
    name: "action",
    result: "refuses",
    why: "The key lacks the action send.",
    hint: `Edit ${keyId}: add send to its actions.`,
  });
  await admin.patchKey(keyId, { actions: ["send"] });
  expect((await ask(question)).allowed).toBe(true);
});

test("plan, block and revocation are looked up as they are now", async () => {
  const own = await admin.createApp();
  const key = await admin.createKey(own.name);
  const token = await mintToken(server.url, key.credential, { peerId: "<b>eve</b>" });
  const question = { token, channel: "chat/1", action: "publish" };
  expect((await ask(question)).allowed).toBe(true);
  await admin.must("PATCH", `/apps/${own.name}`, { plan: { maxMessagesPerPeriod: 0 } });
  expect(refusing(await ask(question))?.name).toBe("message quota");
  await admin.must("PATCH", `/apps/${own.name}`, { plan: { maxConcurrentConnections: 0 } });
  expect(refusing(await ask(question))?.name).toBe("capacity");
  const path = `/v1/peers/${encodeURIComponent("<b>eve</b>")}?blockSec=3600`;
  await call(server.url + path, { method: "DELETE", bearer: key.credential });
  expect(refusing(await ask(question))?.why).toMatch(
    /^The peer "<b>eve<\/b>" is blocked for another (59|60) minutes\.$/,
  );
  await admin.revoke(key.keyId);
  const why = refusing(await ask(question))?.why ?? "";
  expect(why).toStartWith(`${key.keyId} was revoked `);
  expect(why).toMatch(/(less than a second|\d+ seconds?) ago\.$/);
});

test("nothing pasted is repeated, in answers, in errors and in the log", async () => {
  const marker = "hunter2hunter2";
  for (const question of [
    { key: `sk_secret_${marker}` },
    { key: `${secretKey.keyId}:sk_secret_${marker}` },
    { key: marker, token: marker },
    { token: `${marker}.${marker}.${marker}` },
    { token: 1, key: [`${marker}`] },
    { action: marker },
    { token: marker.repeat(20_000) },
  ]) {
    const { text } = await admin.call("POST", "/explain", question);
    expect(text).not.toContain(marker);
  }
  expect(server.output).not.toContain(marker);
  expect(await refused(admin, INVALID, "POST", "/explain", { channel: 1 })).toContain("channel");
});

/** Every row of service.md 7.1, caused by a real request, and their order (protocol.md 7). */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mint, mintToken } from "../support/admin.ts";
import { expectRefusal } from "../support/checks.ts";
import { serverForTests, wideAndNarrowKeys } from "../support/for-tests.ts";
import { call, type Json, rawCall, statusOf } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";

setDefaultTimeout(60_000);

const KIB = 1024;
const BODY_MAX_BYTES = 128 * KIB;

const server = await serverForTests({ env: { PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
const { admin } = server;
const { wide, narrow } = await wideAndNarrowKeys(server);

const post = (body: unknown, key = wide): ReturnType<typeof mint> => mint(server.url, key.credential, body);
const named = (count: number): string[] => Array.from({ length: count }, (_, i) => `c${i}`);

describe("400 invalid_request", () => {
  const cases: [string, unknown][] = [
    ["no body", ""],
    ["JSON that breaks off", '{"peerId":"a"'],
    ["JSON with something behind it", '{"peerId":"a"} x'],
    ["a list", '["peerId"]'],
    ["null", "null"],
    ["a text", '"alice"'],
    ["invalid UTF-8", Buffer.from([...Buffer.from('{"peerId":"a","metadata":{"b":"'), 0xff, ...Buffer.from('"}}')])],
    ["a key twice", '{"peerId":"a","peerId":"b"}'],
    ["a key twice, spelt differently", '{"peerId":"a","\\u0070eerId":"b"}'],
    ["a key twice, deep inside", '{"peerId":"a","metadata":{"b":[{"c":1,"c":2}]}}'],
    ["__proto__ instead of peerId", '{"__proto__":{"peerId":"eve"}}'],
    ["__proto__ twice", '{"peerId":"a","__proto__":1,"__proto__":2}'],
    ["nesting of 10,000 levels", `{"peerId":"a","metadata":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}`],
    ["peerId missing", {}],
    ["peerId null", { peerId: null }],
    ["peerId a number", { peerId: 42 }],
    ["peerId a list", { peerId: ["a"] }],
    ["peerId with a line break", { peerId: "a\nb" }],
    ["peerId with NUL", { peerId: "a\u0000" }],
    ["peerId with DEL", { peerId: "a\u007f" }],
    ["peerId beyond ASCII", { peerId: "älice" }],
    ["channels a text", { peerId: "a", channels: "chat/1" }],
    ["channels null", { peerId: "a", channels: null }],
    ["channels an object", { peerId: "a", channels: { 0: "chat/1", length: 1 } }],
    ["a channel that is a number", { peerId: "a", channels: [1] }],
    ["an empty channel", { peerId: "a", channels: [""] }],
    ["a channel with a control character", { peerId: "a", channels: ["chat/\u0007"] }],
    ["a channel with a C1 control character", { peerId: "a", channels: ["chat/\u0085"] }],
    ["a channel with half a character", { peerId: "a", channels: ["chat/\ud800"] }],
    ["a pattern with three stars", { peerId: "a", channels: ["chat/***"] }],
    ["a pattern that ends in a backslash", { peerId: "a", channels: ["chat\\"] }],
    ["a pattern that escapes a letter", { peerId: "a", channels: ["c\\hat"] }],
    ["10,000 channels", { peerId: "a", channels: named(10_000) }],
    ["permissions a text", { peerId: "a", permissions: "publish" }],
    ["permissions null", { peerId: "a", permissions: null }],
    ["a permission that is a number", { peerId: "a", permissions: [1] }],
    ["expiresInSec negative", { peerId: "a", expiresInSec: -1 }],
    ["expiresInSec a fraction", { peerId: "a", expiresInSec: 60.5 }],
    ["expiresInSec a text", { peerId: "a", expiresInSec: "60" }],
    ["expiresInSec beyond numbers", '{"peerId":"a","expiresInSec":1e999}'],
    ["metadata a list", { peerId: "a", metadata: [] }],
    ["metadata a text", { peerId: "a", metadata: "{}" }],
    ["peerMetadata a list", { peerId: "a", peerMetadata: [] }],
    ["peerMetadata a number", { peerId: "a", peerMetadata: 1 }],
  ];

  test.each(cases)("%s", async (_name, body) => {
    expectRefusal(await post(body), 400, "invalid_request");
  });

  test("ambiguous request heads are refused by the listener", async () => {
    const head = `POST /v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${wide.credential}\r\n`;
    const body = '{"peerId":"a"}';
    for (const lengths of [
      "Content-Length: 14\r\nContent-Length: 3\r\n",
      "Content-Length: 14\r\nTransfer-Encoding: chunked\r\n",
      "Content-Length: -1\r\n",
      "Content-Length: abc\r\n",
    ])
      expect(statusOf(await rawCall(server.url, `${head}${lengths}\r\n${body}`))).toBe(400);
  });

  test("a refused request changes nothing", async () => {
    const before = { revision: await admin.revision(), keys: await admin.keys() };
    for (const [, body] of cases) expect((await post(body)).status).toBe(400);
    expect({ revision: await admin.revision(), keys: await admin.keys() }).toEqual(before);
    expect((await post({ peerId: "a" })).status).toBe(200);
  });
});

describe("401 unauthorized", () => {
  test("every wrong credential gets the same response", async () => {
    const { app } = wide;
    const other = await admin.createKey((await admin.createApp()).name);
    const revoked = await admin.createKey(app);
    await admin.revoke(revoked.keyId);
    const publishable = await admin.createPublishable(app);
    const rotated = await admin.createKey(app);
    await admin.rotate(rotated.keyId, { graceSec: 0 });
    const gone = await admin.createApp();
    const orphan = await admin.createKey(gone.name);
    await admin.must("DELETE", `/apps/${gone._id}`);

    const headers: [string, string | undefined][] = [
      ["none", undefined],
      ["empty", ""],
      ["Basic", `Basic ${btoa(wide.credential)}`],
      ["Bearer alone", "Bearer"],
      ["bare pair", wide.credential],
      ["publishable key", `Bearer ${publishable.keyId}`],
      ["publishable key with a secret", `Bearer ${publishable.keyId}:${wide.secret}`],
      ["key id alone", `Bearer ${wide.keyId}`],
      ["key id with nothing behind the colon", `Bearer ${wide.keyId}:`],
      ["secret alone", `Bearer ${wide.secret}`],
      ["wrong secret", `Bearer ${wide.keyId}:sk_secret_${"A".repeat(48)}`],
      ["secret without its prefix", `Bearer ${wide.keyId}:${wide.secret.slice("sk_secret_".length)}`],
      ["secret and more", `Bearer ${wide.credential}x`],
      ["secret in other case", `Bearer ${wide.keyId}:${wide.secret.toUpperCase()}`],
      ["another key's secret", `Bearer ${wide.keyId}:${narrow.secret}`],
      ["another application's secret", `Bearer ${wide.keyId}:${other.secret}`],
      ["revoked key", `Bearer ${revoked.credential}`],
      ["rotated away", `Bearer ${rotated.credential}`],
      ["key of a deleted application", `Bearer ${orphan.credential}`],
      ["unknown key", `Bearer sk_id_${"0".repeat(32)}:${wide.secret}`],
      ["__proto__", `Bearer __proto__:${wide.secret}`],
      ["constructor", "Bearer constructor:name"],
      ["admin token", `Bearer ${server.adminToken}`],
      ["two credentials", `Bearer ${wide.credential}, Bearer ${wide.credential}`],
      ["10 KB", `Bearer sk_id_${"0".repeat(10_000)}:x`],
    ];
    const answers = await Promise.all(
      headers.map(async ([name, value]) => {
        const answer = await call(`${server.url}/v1/tokens`, {
          body: { peerId: "a" },
          headers: value === undefined ? {} : { Authorization: value },
        });
        return { name, status: answer.status, text: answer.text, names: [...answer.headers.keys()].sort().join() };
      }),
    );
    const [first] = answers;
    expect(JSON.parse(first?.text ?? "")).toEqual({ error: "unauthorized", message: expect.any(String) });
    expect(answers).toEqual(headers.map(([name]) => ({ ...first!, name, status: 401 })));
  });

  test("the case of the scheme and spaces around it are ignored", async () => {
    for (const header of [`bearer ${wide.credential}`, `BEARER  ${wide.credential} `]) {
      const headers = { Authorization: header };
      expect((await call(`${server.url}/v1/tokens`, { body: { peerId: "a" }, headers })).status).toBe(200);
    }
  });
});

describe("403", () => {
  test.each([
    ["another name", "mail/1"],
    ["a level deeper than *", "chat/1/2"],
    ["the prefix alone", "chat"],
    ["other case", "CHAT/1"],
    ["a pattern that is wider", "chat/**"],
    ["everything", "**"],
    ["a literal star is not a wildcard", "\\*"],
  ])("channel_not_authorized: %s", async (_name, channel) => {
    expectRefusal(await post({ peerId: "a", channels: ["chat/1", channel] }, narrow), 403, "channel_not_authorized");
  });

  test.each(["chat/1", "chat/*", "chat/", "chat/a*b", "news/a/b", "news/**", "news/*/x", "news/"])(
    "covered: %s",
    async (channel) => {
      expect((await post({ peerId: "a", channels: [channel] }, narrow)).status).toBe(200);
    },
  );

  test("channel_not_authorized: a reserved name, in any case, even if the key covers it", async () => {
    for (const channel of ["_metered/x", "_INTERNAL/x", "_System/**", "_parley/*"]) {
      const answer = await post({ peerId: "a", channels: ["ok", channel] });
      expect(expectRefusal(answer, 403, "channel_not_authorized").message).toBe(
        "channels.1: this name is reserved for the service.",
      );
    }
  });

  test.each(["presence", "send"])("action_not_permitted: %p, which the key does not have", async (permission) => {
    const asked = { peerId: "a", permissions: ["publish", permission] };
    const { message } = expectRefusal(await post(asked, narrow), 403, "action_not_permitted");
    expect(message).toBe("permissions.1: the key does not permit it.");
  });

  test.each(["fly", "", "Publish", "__proto__"])("action_not_permitted: %p, which is no action", async (permission) => {
    const asked = { peerId: "a", permissions: ["publish", permission] };
    const { message } = expectRefusal(await post(asked), 403, "action_not_permitted");
    expect(message).toBe("permissions.1: not an action; use publish, subscribe, presence or send.");
  });

  test("a key without patterns or actions can mint, but grants nothing", async () => {
    const none = await admin.createKey(wide.app, { channelPatterns: [], actions: [] });
    expect((await post({ peerId: "a" }, none)).status).toBe(200);
    expect((await post({ peerId: "a", channels: [], permissions: [] }, none)).status).toBe(200);
    expectRefusal(await post({ peerId: "a", channels: ["x"] }, none), 403, "channel_not_authorized");
    expectRefusal(await post({ peerId: "a", permissions: ["send"] }, none), 403, "action_not_permitted");
  });

  test("an edit of the key takes effect at once", async () => {
    const key = await admin.createKey(wide.app, { channelPatterns: ["a"] });
    await admin.patchKey(key.keyId, { channelPatterns: ["b"] });
    expectRefusal(await post({ peerId: "a", channels: ["a"] }, key), 403, "channel_not_authorized");
    expect((await post({ peerId: "a", channels: ["b"] }, key)).status).toBe(200);
  });
});

describe("order of the refusals", () => {
  const tooLarge = `{"peerId":"${"x".repeat(BODY_MAX_BYTES)}`;

  test("401, then 413, then 400, then 403 for channels, then 403 for actions", async () => {
    const wrong = { ...narrow, credential: `${narrow.keyId}:wrong` };
    expectRefusal(await post(tooLarge, wrong), 401, "unauthorized");
    expectRefusal(await post(tooLarge, narrow), 413, "invalid_request");
    const outside = { channels: ["mail/1"], permissions: ["send"] };
    expectRefusal(await post({ peerId: "", ...outside }, narrow), 400, "invalid_request");
    expectRefusal(await post({ peerId: "a", ...outside, metadata: 1 }, narrow), 400, "invalid_request");
    expectRefusal(await post({ peerId: "a", ...outside, expiresInSec: 0 }, narrow), 400, "invalid_request");
    expectRefusal(await post({ peerId: "a", ...outside }, narrow), 403, "channel_not_authorized");
    expectRefusal(await post({ ...outside, peerId: "a", channels: ["chat/1"] }, narrow), 403, "action_not_permitted");
  });

  test("503 comes last: a key whose secret the master key does not open", async () => {
    using folder = scratch();
    const data = folder.path;
    const env = { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_MASTER_KEY: randomBytes(32).toString("base64") };
    await using first = await startParley({ data, env });
    const app = await first.admin.createApp();
    const key = await first.admin.createKey(app.name, { channelPatterns: ["chat/*"], actions: ["publish"] });
    const token = await mintToken(first.url, key.credential);
    await first.stop();

    await using second = await startParley({
      data,
      env: { ...env, PARLEY_MASTER_KEY: randomBytes(32).toString("base64") },
    });
    const complaint = await second.logged((line) => line.level === "error");
    expect(complaint.msg).toContain("PARLEY_MASTER_KEY");
    expect(complaint.keys).toContain(key.keyId);
    const ask = (body: unknown, secret = key.secret): ReturnType<typeof mint> =>
      mint(second.url, `${key.keyId}:${secret}`, body);
    expectRefusal(await ask({ peerId: "a" }, "sk_secret_wrong"), 401, "unauthorized");
    expectRefusal(await ask(tooLarge), 413, "invalid_request");
    expectRefusal(await ask({ peerId: "" }), 400, "invalid_request");
    expectRefusal(await ask({ peerId: "a", channels: ["x"] }), 403, "channel_not_authorized");
    expectRefusal(await ask({ peerId: "a", permissions: ["send"] }), 403, "action_not_permitted");
    expectRefusal(await ask({ peerId: "a", channels: ["chat/1"] }), 503, "internal_error");
    expect(await second.admin.check(token)).toMatchObject({ valid: false, error: "internal_error" });

    // No secret key can be used, so this node is not ready.
    const readiness = async (): Promise<unknown[]> => {
      const { status, body } = await call<{ degraded: string[]; checks: Json }>(`${second.url}/readyz`);
      return [status, body.degraded, body.checks.keys];
    };
    const of = (sealed: number): string => `the master key cannot decrypt ${sealed} of 2 secret keys: they answer 503`;
    expect(await readiness()).toEqual([503, [], of(2)]);

    // The fix: a new secret is sealed with the current master key.
    const { secret } = await second.admin.rotate(key.keyId);
    expect((await ask({ peerId: "a" }, secret)).status).toBe(200);
    // The demo's key is still unusable: the node reports it, but stays ready.
    let found = await readiness();
    while (found[0] === 503) found = await readiness();
    expect(found).toEqual([200, ["keys"], of(1)]);
  });
});

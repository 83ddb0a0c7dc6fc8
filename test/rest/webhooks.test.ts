/** Webhooks over the control plane. Every response is also checked against /openapi.json. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Admin } from "../support/admin.ts";
import { INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import type { Json } from "../support/http.ts";
import {
  type FreshHooks,
  freshHooks,
  URL_OF_TESTS,
  WANTED,
  type Webhook,
  WHSEC,
} from "../support/webhooks/fresh-hooks.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests();
const { admin } = server;

const fresh = (): Promise<FreshHooks> => freshHooks(server);

const operator = async (role: "read" | "admin"): Promise<Admin> => {
  const { token } = await admin.must<{ token: string }>("POST", "/operators", { name: crypto.randomUUID(), role });
  return new Admin(server.url, token);
};

describe("the control plane", () => {
  test("a webhook has its fields, and shows its secret only once", async () => {
    const { root, app } = await fresh();
    const body = {
      ...WANTED,
      events: ["channel.*", "channel.*", "peer.joined"],
      channelPatterns: ["chat/*"],
      description: `for the shop ü ${"x".repeat(241)}`,
      headers: { "X-Tenant": "acme", Authorization: "Bearer of-the-receiver" },
    };
    const { secret, ...made } = await admin.must<Webhook>("POST", root, body);
    expect(secret).toMatch(WHSEC);
    expect(Buffer.from(secret.slice("whsec_".length), "base64")).toHaveLength(24);
    expect(made).toEqual({
      _id: expect.stringMatching(/^[0-9a-f]{24}$/),
      app: app._id,
      kind: "control",
      url: URL_OF_TESTS,
      events: ["channel.*", "peer.joined"],
      channelPatterns: ["chat/*"],
      description: body.description,
      headers: { "X-Tenant": "***", Authorization: "***" },
      disabled: false,
      disabledAt: null,
      disabledReason: null,
      created: expect.any(Number),
      canSign: true,
      previousSecrets: [],
      health: {
        state: "new",
        waiting: 0,
        delivered: 0,
        failed: 0,
        dropped: 0,
        lastAttempt: null,
        lastSuccess: null,
        failingSince: null,
        lastStatus: null,
        lastError: null,
        slowUntil: null,
      },
    } as never);
    expect(await admin.must("GET", `${root}/${made._id}`)).toEqual(made);
    expect(await admin.must("GET", root)).toEqual({ data: [made], next: null });
  });

  test("lists come in pages, oldest first", async () => {
    const { root, create } = await fresh();
    const ids = [(await create())._id, (await create())._id, (await create())._id];
    const first = await admin.must<{ data: Webhook[]; next: string }>("GET", `${root}?limit=2`);
    expect(first.data.map(({ _id }) => _id)).toEqual(ids.slice(0, 2));
    const rest = await admin.must<{ data: Webhook[] }>("GET", `${root}?limit=2&after=${first.next}`);
    expect(rest).toMatchObject({ data: [{ _id: ids[2] }], next: null });
  });

  test.each<[string, Json, string, string]>([
    ["no url", { url: undefined }, "url", "is missing"],
    ["another scheme", { url: "ftp://example.com" }, "url", "must be an http or https address"],
    ["a user in the address", { url: "https://user:pass@example.com/" }, "url", "send credentials in a header"],
    ["a private address", { url: "https://10.0.0.1/" }, "url", "its address 10.0.0.1 is not public"],
    ["a private address in another spelling", { url: "https://0x7f.1/" }, "url", "is not public: loopback"],
    ["another port", { url: "https://example.com:8443/" }, "url", "its port is 8443"],
    ["an own host", { url: "http://demo.localhost/" }, "url", "its host belongs to this service"],
    ["no events", { events: [] }, "events", "must name at least one event"],
    ["a long description", { description: "x".repeat(257) }, "description", "must have at most 256 characters"],
    ["an unknown event", { events: ["recording.redy"] }, "events.0", 'did you mean "recording.ready"?'],
    ["an event that is not asked for", { events: ["webhook.test"] }, "events.0", "There are: *, connection.*, "],
    ["events of channels alone", { events: ["peer.left"] }, "channelPatterns", "peer.left need it"],
    ["all events without channels", { events: ["*"] }, "channelPatterns", 'or ["**"] for all'],
    ["a pattern that is none", { channelPatterns: ["***"] }, "channelPatterns.0", "must not contain '***'"],
    ["a header of the service", { headers: { Host: "a" } }, "headers.Host", "the service sets this header itself"],
    ["a header of webhooks", { headers: { "Webhook-Id": "a" } }, "headers.Webhook-Id", "webhook-*"],
    ["a header of the body", { headers: { "content-type": "a" } }, "headers.content-type", "Content-*"],
    ["a header of the connection", { headers: { "Keep-Alive": "a" } }, "headers.Keep-Alive", "the connection does"],
    ["a name that is none", { headers: { "a b": "a" } }, "headers.a b", "this is not the name of a header"],
    ["a value with a line break", { headers: { a: "x\r\ny: z" } }, "headers.a", "printable ASCII"],
    [
      "too many headers",
      { headers: Object.fromEntries(Array.from({ length: 11 }, (_, i) => [`x-${i}`, "a"])) },
      "headers",
      "at most 10 headers",
    ],
    ["an unknown field", { secret: "whsec_mine" }, "secret", "there is no such field"],
  ])("is refused: %s", async (_name, body, field, says) => {
    const { root } = await fresh();
    const message = await refused(admin, INVALID, "POST", root, { ...WANTED, ...body });
    expect(message).toStartWith(`${field}: `);
    expect(message).toContain(says);
    expect(await admin.must("GET", root)).toEqual({ data: [], next: null });
  });

  test("an edit changes what it names; a header stays unless it is named", async () => {
    const { root, create } = await fresh();
    const { _id } = await create({ headers: { "X-A": "1", "X-B": "2" } });
    const one = `${root}/${_id}`;
    const edited = await admin.must<Webhook>("PATCH", one, {
      url: "https://other.example.com/",
      description: "now here",
      headers: { "x-a": null, "X-B": "***", "X-C": "3" },
    });
    expect(edited).toMatchObject({
      url: "https://other.example.com/",
      events: WANTED.events,
      description: "now here",
      headers: { "X-B": "***", "X-C": "***" },
    });
    expect(edited.headers).not.toHaveProperty("X-A");
    expect(await admin.must<Webhook>("PATCH", one, { description: null })).toMatchObject({ description: null });
    for (const body of [{ events: ["channel.occupied"] }, { url: "http://[::1]/" }, { headers: { "X-New": "***" } }])
      await refused(admin, INVALID, "PATCH", one, body);
    expect(await admin.must<Webhook>("GET", one)).toMatchObject({ url: "https://other.example.com/" });
  });

  test("it is switched off and on", async () => {
    const { root, create } = await fresh();
    const { _id } = await create({ disabled: true });
    const one = `${root}/${_id}`;
    expect(await admin.must("GET", one)).toMatchObject({
      disabled: true,
      disabledReason: "request",
      disabledAt: expect.any(Number),
      health: { state: "disabled" },
    } as never);
    expect(await admin.must("PATCH", one, { disabled: false })).toMatchObject({
      disabled: false,
      disabledReason: null,
      disabledAt: null,
      health: { state: "new" },
    });
  });

  test("a rotation gives another secret, and says until when the current one signs", async () => {
    const { root, create } = await fresh();
    const { _id, secret } = await create();
    const now = Math.floor(Date.now() / 1000);
    const rotated = await admin.must<{ secret: string; previousSecretExpiresAt: number }>(
      "POST",
      `${root}/${_id}/rotate`,
      { graceSec: 600 },
    );
    expect(rotated.secret).toMatch(WHSEC);
    expect(rotated.secret).not.toBe(secret);
    expect(rotated.previousSecretExpiresAt).toBeWithin(now + 599, now + 660);
    const { previousSecrets } = await admin.must<Webhook>("GET", `${root}/${_id}`);
    expect(previousSecrets).toEqual([{ endsAt: rotated.previousSecretExpiresAt }]);
    // Without a time it is that of keys, a day.
    const byDefault = await admin.must<{ previousSecretExpiresAt: number }>("POST", `${root}/${_id}/rotate`, {});
    expect(byDefault.previousSecretExpiresAt).toBeWithin(now + 86_399, now + 86_460);
    for (let i = 0; i < 3; i++) await admin.must("POST", `${root}/${_id}/rotate`, {});
    const tooMany = await admin.call("POST", `${root}/${_id}/rotate`, {});
    expect([tooMany.status, tooMany.body.message]).toEqual([409, expect.stringContaining("5 previous secrets")]);
    await admin.must("POST", `${root}/${_id}/rotate`, { graceSec: 0 });
    expect((await admin.must<Webhook>("GET", `${root}/${_id}`)).previousSecrets).toHaveLength(5);
  });

  test("an application has at most twenty, those of its backend counted", async () => {
    const { root, backend, create } = await fresh();
    for (let i = 0; i < 19; i++) await create();
    await backend.must("POST", "/webhooks", WANTED);
    const over = await admin.call("POST", root, WANTED);
    expect([over.status, over.body.error, over.body.message]).toEqual([
      409,
      "conflict",
      expect.stringContaining("at most 20 webhooks"),
    ]);
    expect((await backend.call("POST", "/webhooks", WANTED)).status).toBe(409);
  });

  test("it is deleted once", async () => {
    const { root, create } = await fresh();
    const { _id } = await create();
    expect(await admin.must<Webhook>("DELETE", `${root}/${_id}`)).toMatchObject({ _id });
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/rotate"],
      ["POST", "/test"],
      ["POST", "/replay"],
      ["GET", "/deliveries"],
      ["POST", "/deliveries/1/resend"],
    ] as const)
      await refused(admin, NOT_FOUND, method, `${root}/${_id}${path}`, path === "/replay" ? { since: 0 } : undefined);
  });

  test("a call about one application finds no webhook of another", async () => {
    const [mine, other] = [await fresh(), await fresh()];
    const { _id } = await mine.create();
    for (const [method, path] of [
      ["GET", ""],
      ["PATCH", ""],
      ["DELETE", ""],
      ["POST", "/rotate"],
      ["POST", "/test"],
      ["GET", "/deliveries"],
    ] as const)
      await refused(admin, NOT_FOUND, method, `${other.root}/${_id}${path}`);
    expect(await admin.must("GET", `${mine.root}/${_id}`)).toMatchObject({ _id });
  });

  test("the audit has every change, and neither the address's path nor a secret", async () => {
    const { app, root, create } = await fresh();
    const { _id, secret } = await create({ headers: { "X-A": "of-the-receiver" } });
    await admin.must("PATCH", `${root}/${_id}`, { url: "https://b.example.com/hidden", disabled: true });
    await admin.must("POST", `${root}/${_id}/rotate`, {});
    await admin.must("DELETE", `${root}/${_id}`);
    const { data } = await admin.must<{ data: Json[] }>("GET", `/audit?app=${app._id}`);
    expect(data.map(({ what, on }) => [what, on]).slice(0, 4)).toEqual([
      ["webhook deleted", _id],
      ["webhook rotated", _id],
      ["webhook edited", _id],
      ["webhook created", _id],
    ]);
    expect(data[2]).toMatchObject({
      before: { url: "https://hooks.example.com/…", disabled: false },
      after: { url: "https://b.example.com/…", disabled: true },
    });
    const text = JSON.stringify(data);
    for (const hidden of [secret, "only-for-its-owner", "/hidden", "of-the-receiver"])
      expect(text).not.toContain(hidden);
  });

  test("an operator with the role read sees origins and health, and changes nothing", async () => {
    const { root, create, app } = await fresh();
    const { _id } = await create();
    const reader = await operator("read");
    expect(await reader.must("GET", `${root}/${_id}`)).toMatchObject({ url: "https://hooks.example.com/…" });
    const { text } = await reader.call("GET", root);
    expect(text).toContain("https://hooks.example.com/…");
    expect(text).not.toContain("only-for-its-owner");
    expect((await reader.call("GET", `${root}/${_id}/deliveries`)).status).toBe(200);
    for (const [method, path] of [
      ["POST", root],
      ["PATCH", `${root}/${_id}`],
      ["DELETE", `${root}/${_id}`],
      ["POST", `${root}/${_id}/rotate`],
      ["POST", `${root}/${_id}/test`],
      ["POST", `${root}/${_id}/replay`],
      ["POST", `${root}/${_id}/deliveries/1/resend`],
      ["GET", `/apps/${app.name}/rooms/none/webhook-secrets`],
    ] as const)
      expect([method, path, (await reader.call(method, path)).status]).toEqual([method, path, 403]);
  });
});

test("with its application every webhook goes", async () => {
  const { root, app, create } = await fresh();
  const { _id } = await create();
  await admin.must("DELETE", `/apps/${app.name}`);
  await refused(admin, NOT_FOUND, "GET", `${root}/${_id}`);
});

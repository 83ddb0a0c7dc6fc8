/** The audit, the settings and the pages of lists on the control plane. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { sessionAt, signOut } from "../support/dashboard.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";
import { until } from "../support/wait.ts";
import { attempt } from "../support/wire/connect.ts";
import { Wire } from "../support/wire/wire.ts";
import { WORKERS } from "../support/workers.ts";

setDefaultTimeout(60_000);

const server = await checkedServerForTests({ env: { PARLEY_STORAGE_URL: "", PARLEY_LOG_LEVEL: "info" } });
const { admin, url } = server;

interface Entry {
  readonly _id: string;
  readonly at: number;
  readonly who: string;
  readonly what: string;
  readonly on: string;
  readonly app: string | null;
  readonly appName: string | null;
  readonly address: string | null;
  readonly before?: Json;
  readonly after?: Json;
}

const audit = async (query = ""): Promise<{ data: Entry[]; next: string | null }> =>
  admin.must("GET", `/audit${query}`);

describe("the audit", () => {
  test("has changes of the control plane with what they replaced, newest first", async () => {
    const app = await admin.createApp();
    await admin.must("PATCH", `/apps/${app.name}`, { plan: { maxConcurrentConnections: 5 }, consolePayloads: true });
    const key = await admin.createKey(app._id, { label: "one", channelPatterns: ["a/*"] });
    await admin.patchKey(key.keyId, { label: "two", channelPatterns: ["b/*"] });
    await admin.rotate(key.keyId, {});
    await admin.must("GET", `/apps/${app._id}/secret-key`);
    await admin.must("POST", `/apps/${app._id}/secret-key/rotate`, {});
    await admin.revoke(key.keyId);
    await admin.must("DELETE", `/apps/${app._id}`);
    const { data, next } = await audit(`?app=${app._id}`);
    expect(next).toBeNull();
    expect(data.map(({ what }) => what)).toEqual([
      "app deleted",
      "key revoked",
      "app secret rotated",
      "app secret shown",
      "key rotated",
      "key edited",
      "key created",
      "app edited",
      "app created",
    ]);
    for (const entry of data)
      expect(entry).toMatchObject({ who: "admin", app: app._id, address: "127.0.0.1", at: expect.any(Number) });
    expect(data[5]).toMatchObject({
      on: key.keyId,
      before: { label: "one", channelPatterns: ["a/*"] },
      after: { label: "two", channelPatterns: ["b/*"] },
    });
    expect(data[7]).toMatchObject({
      on: app.name,
      before: { consolePayloads: false, plan: { maxConcurrentConnections: null } },
      after: { consolePayloads: true, plan: { maxConcurrentConnections: 5 } },
    });
    const text = JSON.stringify(data);
    for (const secret of [app.secretKey, key.secret, admin.token]) expect(text).not.toContain(secret);
  });

  test("has the application and the keys that the first start made", async () => {
    const { data } = await audit("?who=first%20start");
    const all = { channelPatterns: ["**"], actions: expect.any(Array) };
    expect(data).toMatchObject([
      { what: "key created", on: expect.stringMatching(/^sk_id_/), after: { type: "secret", ...all } },
      { what: "key created", on: expect.stringMatching(/^pk_live_/), after: { type: "publishable", ...all } },
      { what: "app created", on: "demo" },
    ]);
    expect(new Set(data.map(({ appName }) => appName))).toEqual(new Set(["demo"]));
    expect(JSON.stringify(data)).not.toContain(server.keys.secretKey.split(":")[1] ?? "");
  });

  test("has changes by applications with their own secret keys", async () => {
    const app = await admin.createApp();
    const key = await admin.createKey(app._id);
    const headers = { Host: `${app.name}.localhost` };
    const rooms = (method: string, path: string, body?: object): Promise<{ status: number }> =>
      call(`${url}/api/v1/${path}?secretKey=${app.secretKey}`, { method, headers, ...(body && { body }) });
    const hook = "https://hooks.example/?key=hidden-in-the-address";
    expect((await rooms("POST", "room", { roomName: "standup", meetingJoinWebhook: hook })).status).toBe(200);
    expect((await rooms("PUT", "room/standup", { privacy: "private" })).status).toBe(200);
    expect((await rooms("DELETE", "room/standup")).status).toBe(200);
    const wire = await attempt(url, { query: `key=${(await admin.createPublishable(app._id)).keyId}&peerId=mallory` });
    if (!(wire instanceof Wire)) throw new Error("refused");
    const peer = String((await wire.frame("welcome")).peerId);
    await call(`${url}/v1/peers/${peer}`, { method: "DELETE", bearer: key.credential });
    await call(`${url}/v1/peers/mallory?blockSec=60`, { method: "DELETE", bearer: key.credential });
    const own = async (): Promise<Entry[]> =>
      (await audit(`?app=${app.name}`)).data.filter(({ who }) => who !== "admin").reverse();
    await until("all are written", async () => (await own()).length === 5);
    expect((await own()).map(({ who, what, on }) => [who, what, on])).toEqual([
      ["application secret", "room created", "standup"],
      ["application secret", "room edited", "standup"],
      ["application secret", "room archived", "standup"],
      [key.keyId, "peer kicked", peer],
      [key.keyId, "peer blocked", "mallory"],
    ]);
    expect(JSON.stringify(await own())).not.toContain("hidden-in-the-address");
    expect((await audit(`?who=${key.keyId}`)).data).toHaveLength(2);
  });

  test("has sign-ins and operators, and can be read in pages and by kind", async () => {
    const { _id, token } = await admin.must<{ _id: string; token: string }>("POST", "/operators", {
      name: "ann",
      role: "read",
    });
    await signOut(url, await sessionAt(url, token));
    await admin.must("DELETE", `/operators/${_id}`);
    const { data } = await audit("?limit=4");
    expect(data.map(({ who, what, on }) => [who, what, on])).toEqual([
      ["admin", "operator revoked", "ann"],
      ["ann", "signed out", "ann"],
      ["ann", "signed in", "ann"],
      ["admin", "operator created", "ann"],
    ]);
    const pages: Entry[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const page: { data: Entry[]; next: string | null } = await audit(`?limit=3${next && `&after=${next}`}`);
      pages.push(...page.data);
      next = page.next;
    }
    expect(pages).toEqual((await audit("?limit=1000")).data);
    expect((await audit("?what=signed%20in")).data.map(({ who }) => who)).toEqual(["ann"]);
    expect(JSON.stringify(pages)).not.toContain(token);
  });
});

test("settings have their source, default and meaning; secrets are masked", async () => {
  const { data } = await admin.must<{ data: Record<string, string>[] }>("GET", "/settings");
  const of = (name: string): Json | undefined => data.find((one) => one.name === name);
  expect(of("PARLEY_PORT")).toEqual({
    name: "PARLEY_PORT",
    // A supervisor chooses the port, and all workers have the same.
    value: WORKERS === 1 ? "0" : new URL(server.url).port,
    source: "flag",
    default: "8080",
    meaning: expect.any(String),
  });
  expect(of("PARLEY_LOG_LEVEL")).toMatchObject({ value: "info", source: "environment" });
  expect(of("PARLEY_DASHBOARD")).toMatchObject({ value: "on", source: "default", default: "on" });
  expect(of("PARLEY_ADMIN_TOKEN")).toMatchObject({ value: "(hidden)", source: "environment" });
  expect(JSON.stringify(data)).not.toContain(admin.token);
});

test("applications and keys are listed in pages, and in one page without a limit", async () => {
  const app = await admin.createApp();
  for (let i = 0; i < 3; i++) await admin.createKey(app._id);
  for (const path of ["/apps?", `/signalling/keys?app=${app._id}&`]) {
    const all = await admin.must<{ data: Json[]; next: null }>("GET", path);
    expect(all.next).toBeNull();
    const paged: Json[] = [];
    for (let next: string | null = ""; next !== null; ) {
      const page: { data: Json[]; next: string | null } = await admin.must(
        "GET",
        `${path}limit=2${next && `&after=${next}`}`,
      );
      expect(page.data.length).toBeLessThanOrEqual(2);
      paged.push(...page.data);
      next = page.next;
    }
    expect(paged).toEqual(all.data);
  }
});

test("a key shows the ends of its previous secrets and the number of its connections", async () => {
  const app = await admin.createApp();
  const secret = await admin.createKey(app._id);
  const { previousSecretExpiresAt } = await admin.rotate(secret.keyId, { graceSec: 60 });
  expect((await admin.key(secret.keyId)).previousSecrets).toEqual([{ endsAt: previousSecretExpiresAt }]);
  const { keyId } = await admin.createPublishable(app._id);
  const wire = await attempt(url, { query: `key=${keyId}` });
  if (!(wire instanceof Wire)) throw new Error("refused");
  await wire.frame("welcome");
  expect((await admin.key(keyId)).connections).toBe(1);
  wire.drop();
  await until("the connection has ended", async () => (await admin.key(keyId)).connections === 0);
});

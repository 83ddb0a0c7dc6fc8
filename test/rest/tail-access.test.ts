/** Who may read the live tail, what they see of payloads, and that it ends with their access. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { World } from "../conformance/raw/support/world.ts";
import { sessionAt, signOut } from "../support/dashboard.ts";
import { serverForTests } from "../support/for-tests.ts";
import { call } from "../support/http.ts";
import { TailReader } from "../support/tail.ts";
import { within } from "../support/wait.ts";

setDefaultTimeout(60_000);

const server = await serverForTests();
const { url, admin, adminToken } = server;
const app = await admin.createApp();
const key = await admin.createKey(app._id);
const world = new World(server, app, key);
const operator = (name: string, role: "admin" | "read"): Promise<{ _id: string; token: string }> =>
  admin.must("POST", "/operators", { name, role });

describe("payloads", () => {
  test("are shown only to admins, and only if the application allows it", async () => {
    const read = await operator("rea", "read");
    const full = await operator("ann", "admin");
    const peer = await world.guest({ sub: "ann" });
    const seenBy = async (token: string, data: unknown): Promise<unknown> => {
      await using reader = await TailReader.open(url, token, `app=${app.name}&kind=publish`);
      peer.wire.send({ type: "publish", channel: "c", data });
      return (await reader.event("the publish", () => true)).data;
    };
    const all = async (data: unknown): Promise<unknown[]> => [
      await seenBy(adminToken, data),
      await seenBy(full.token, data),
      await seenBy(read.token, data),
    ];
    expect(await all("hidden")).toEqual([undefined, undefined, undefined]);
    await admin.must("PATCH", `/apps/${app.name}`, { consolePayloads: true });
    expect(await all({ text: "shown" })).toEqual([{ text: "shown" }, { text: "shown" }, undefined]);

    await using reader = await TailReader.open(url, adminToken, `app=${app.name}&kind=publish,send`);
    peer.wire.send(`{"type":"publish","channel":"c","data":{\n"a"\r\n:1}}`);
    peer.wire.send({ type: "publish", channel: "c", data: "x".repeat(10_000) });
    const bob = await world.guest({ sub: "bob" });
    peer.wire.send({ type: "send", to: "bob", data: [1, 2] });
    await reader.until("all three", () => reader.events.length === 3);
    const [lines, long, sent] = reader.events;
    expect(lines).toMatchObject({ data: { a: 1 } });
    expect(long).toMatchObject({ truncated: true, bytes: 10_002, data: `"${"x".repeat(4095)}` });
    expect(sent).toMatchObject({ kind: "send", to: "bob", data: [1, 2] });

    await admin.must("PATCH", `/apps/${app.name}`, { consolePayloads: false });
    peer.wire.send({ type: "publish", channel: "c", data: "hidden again" });
    await reader.until("the fourth", () => reader.events.length === 4);
    expect(reader.text).not.toContain("hidden");
    for (const { wire } of [peer, bob]) wire.drop();
  });
});

describe("the stream ends", () => {
  test.each(["admin", "read"] as const)("when an operator of the role %s is revoked", async (role) => {
    const { _id, token } = await operator(`revoked-${role}`, role);
    await using reader = await TailReader.open(url, token);
    await using other = await TailReader.open(url, adminToken);
    await admin.must("DELETE", `/operators/${_id}`);
    await within("the stream ends", reader.ended);
    expect((await call(`${url}/api/internal/v1/tail`, { bearer: token })).status).toBe(401);
    expect(other.isEnded).toBe(false);
  });

  test("at sign-out, for a browser that reads it with its cookie", async () => {
    const cookie = await sessionAt(url, adminToken);
    const open = (headers: Record<string, string>): Promise<Response> =>
      fetch(`${url}/api/internal/v1/tail`, { headers: { Cookie: cookie, ...headers } });
    expect((await open({ "Sec-Fetch-Site": "same-site" })).status).not.toBe(200);
    expect((await open({ "Sec-Fetch-Site": "cross-site" })).status).not.toBe(200);
    const response = await open({ "Sec-Fetch-Site": "same-origin" });
    expect(response.status).toBe(200);
    const ended = response.text();
    await signOut(url, cookie);
    expect(await within("the stream ends", ended)).toStartWith("retry:");
  });
});

/** Webhooks over the application API, and the secrets of the URL fields of rooms. Every response is also checked against /openapi.json. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { Application } from "../support/application.ts";
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

describe("the application API", () => {
  test("a backend manages those that it has made", async () => {
    const { backend, app } = await fresh();
    const { secret, ...made } = await backend.must<Webhook>("POST", "/webhooks", WANTED);
    expect(secret).toMatch(WHSEC);
    expect(made).toMatchObject({
      app: app._id,
      kind: "application",
      url: URL_OF_TESTS,
      health: { state: "new" },
    } as never);
    expect(await backend.must("GET", "/webhooks")).toEqual({ data: [made], total: 1, limit: 20, currEndId: made._id });
    const one = `/webhooks/${made._id}`;
    expect(await backend.must("GET", one)).toEqual(made);
    expect(await backend.must("PATCH", one, { events: ["key.*"] })).toMatchObject({ events: ["key.*"] });
    const rotated = await backend.must<{ secret: string }>("POST", `${one}/rotate`, {});
    expect(rotated.secret).toMatch(WHSEC);
    expect(await backend.must("GET", `${one}/deliveries`)).toEqual({ data: [], limit: 50, currEndId: "" });
    expect(await backend.must("POST", `${one}/replay`, { since: 0 })).toEqual({ events: 0 });
    expect(await backend.must("DELETE", one)).toEqual({ success: true, message: "Webhook successfully deleted" });
    expect(await backend.call("GET", one)).toMatchObject({
      status: 404,
      body: { success: false, error: { code: "webhook_not_found" } },
    });
  });

  test("those of operators do not exist for it, nor those of other applications", async () => {
    const [mine, other] = [await fresh(), await fresh()];
    const ofOperator = await mine.create();
    const ofOther = await other.backend.must<Webhook>("POST", "/webhooks", WANTED);
    expect(await mine.backend.must("GET", "/webhooks")).toMatchObject({ data: [], total: 0 });
    for (const { _id } of [ofOperator, ofOther])
      for (const [method, path, body] of [
        ["GET", "", undefined],
        ["PATCH", "", {}],
        ["DELETE", "", undefined],
        ["POST", "/rotate", {}],
        ["POST", "/test", undefined],
        ["POST", "/replay", { since: 0 }],
        ["GET", "/deliveries", undefined],
        ["POST", "/deliveries/1/resend", undefined],
      ] as const) {
        const { status, body: answer } = await mine.backend.call(method, `/webhooks/${_id}${path}`, body);
        expect([method, path, status, answer.error.code]).toEqual([method, path, 404, "webhook_not_found"]);
      }
    expect((await admin.must<{ data: Webhook[] }>("GET", other.root)).data.map(({ _id }) => _id)).toEqual([
      ofOther._id,
    ]);
  });

  test("a refusal has its error body, with the field", async () => {
    const { backend } = await fresh();
    const answer = await backend.call("POST", "/webhooks", { ...WANTED, url: "http://169.254.169.254/latest" });
    expect(answer).toMatchObject({
      status: 400,
      body: { success: false, error: { code: "invalid_request", details: [{ field: "url" }] } },
    });
    expect(answer.body.message).toContain("169.254.169.254 is not public");
    // What operators can open to theirs is not opened to it, and is not its business.
    expect(answer.body.message).not.toContain("PARLEY_WEBHOOK_ALLOW");
  });

  test("a wrong secret key gets nothing", async () => {
    const { backend } = await fresh();
    const wrong = new Application(server.url, backend.name, "wrong");
    expect((await wrong.call("GET", "/webhooks")).body.error.code).toBe("invalid_secret_key");
  });
});

describe("the URL fields of a room", () => {
  const FIELDS = { meetingJoinWebhook: "https://a.example.com/in", meetingEndedWebhook: "https://a.example.com/over" };

  test("sign with secrets that follow from the application and the URL", async () => {
    const [one, other] = [await fresh(), await fresh()];
    for (const { backend } of [one, other]) {
      await backend.must("POST", "/room", { roomName: "first", ...FIELDS });
      await backend.must("POST", "/room", { roomName: "second", meetingLeftWebhook: FIELDS.meetingJoinWebhook });
      await backend.must("POST", "/room", { roomName: "none" });
    }
    type Secrets = { data: { field: string; event: string; url: string; secret: string; _id: string }[] };
    const secretsOf = ({ backend }: FreshHooks, room: string) =>
      backend.must<Secrets>("GET", `/room/${room}/webhook-secrets`);
    const first = await secretsOf(one, "first");
    expect(first.data.map(({ field, event, url }) => [field, event, url])).toEqual([
      ["meetingJoinWebhook", "participant.joined", FIELDS.meetingJoinWebhook],
      ["meetingEndedWebhook", "meeting.ended", FIELDS.meetingEndedWebhook],
    ]);
    for (const { secret, _id } of first.data)
      expect([secret, _id]).toEqual([expect.stringMatching(WHSEC), expect.stringMatching(/^[0-9a-f]{24}$/)]);
    const [join, ended] = first.data;
    expect(join?.secret).not.toBe(ended?.secret ?? "");
    expect((await secretsOf(one, "second")).data).toMatchObject([
      { field: "meetingLeftWebhook", event: "participant.left", secret: join?.secret, _id: join?._id },
    ] as never);
    expect((await secretsOf(other, "first")).data[0]?.secret).not.toBe(join?.secret ?? "");
    expect(await secretsOf(one, "none")).toEqual({ data: [] });
    expect(await one.backend.call("GET", "/room/absent/webhook-secrets")).toMatchObject({
      status: 404,
      body: { error: { code: "room_not_found" } },
    });
  });

  test("operators who may see secrets see them, and the audit says so", async () => {
    const { backend, app } = await fresh();
    await backend.must("POST", "/room", { roomName: "first", ...FIELDS });
    const mine = await backend.must("GET", "/room/first/webhook-secrets");
    expect(await admin.must("GET", `/apps/${app.name}/rooms/first/webhook-secrets`)).toEqual(mine);
    const { data } = await admin.must<{ data: Json[] }>(
      "GET",
      `/audit?app=${app._id}&what=room%20webhook%20secrets%20shown`,
    );
    expect(data).toMatchObject([{ on: "first" }]);
  });
});

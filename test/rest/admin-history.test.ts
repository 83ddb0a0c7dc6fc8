/** The history of a channel on the control plane. Every response is also checked against /openapi.json. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";
import { SOON_MS } from "../support/wait.ts";

setDefaultTimeout(60_000);

const { admin, url } = await checkedServerForTests();
const HISTORY = { messages: 500, seconds: 604_800 };

const { _id: app } = await admin.createApp();
const path = `/apps/${app}`;
await admin.must("PATCH", path, {
  channelRules: [
    { pattern: "chat/**", history: HISTORY },
    { pattern: "room", graceSec: 9 },
  ],
});

test("a channel in whose history nothing was stored yet is empty, however its slashes are sent", async () => {
  const empty = { channel: "chat/1/2", pos: null, messages: [], more: false };
  expect(await admin.must<Json>("GET", `${path}/channels/chat%2F1%2F2/history`)).toEqual(empty);
  // The document has one segment per name.
  const raw = `${url}/api/internal/v1${path}/channels/chat/1/2/history`;
  expect((await call(raw, { bearer: admin.token })).body).toEqual(empty);
});

test("a channel is shown with what its rule says, also one whose name ends with /history", async () => {
  const one = (channel: string): Promise<Json> => admin.must("GET", `${path}/channels/${channel}`);
  expect(await one("chat%2F1")).toMatchObject({ history: HISTORY, graceSec: 0 });
  expect(await one("room")).toMatchObject({ history: null, graceSec: 9 });
  expect(await one("chat%2Fhistory")).toMatchObject({ channel: "chat/history", history: HISTORY });
});

test("DELETE is recorded, and only for operators of the role admin", async () => {
  expect(await admin.must<Json>("DELETE", `${path}/channels/chat%2F1/history`)).toEqual({
    channel: "chat/1",
    deleted: true,
  });
  const { data } = await admin.must<{ data: Json[] }>("GET", `/audit?app=${app}&limit=1`);
  expect(data[0]).toMatchObject({ what: "history deleted", on: "chat/1", app });
  const { token } = await admin.must<{ token: string }>("POST", "/operators", { name: "historian", role: "read" });
  const asReader = (method: string) =>
    admin.call(method, `${path}/channels/chat%2F1/history`, undefined, { bearer: token });
  expect([(await asReader("GET")).status, (await asReader("DELETE")).status]).toEqual([200, 403]);
});

describe("refused", () => {
  test.each(["news", "room"])("a channel without history is 404: %s", async (channel) => {
    for (const method of ["GET", "DELETE"])
      expect(await refused(admin, NOT_FOUND, method, `${path}/channels/${channel}/history`)).toStartWith(
        "This channel has no history",
      );
  });

  test.each([
    ["/apps/unknown/channels/chat%2F1/history", 404, "not_found"],
    [`${path}/channels/chat%2Fa*/history`, 400, "invalid_request"],
    [`${path}/channels/_system%2Fchat/history`, 400, "channel_reserved"],
    [`${path}/channels/chat%2F1/history?limit=0`, 400, "invalid_request"],
    [`${path}/channels/chat%2F1/history?limit=101`, 400, "invalid_request"],
    [`${path}/channels/chat%2F1/history?before=x`, 400, "invalid_request"],
    [`${path}/channels/chat%2F1/history?after=a.1.b`, 400, "invalid_request"],
    [`${path}/channels/chat%2F1/history?before=a.1.b&after=a.1.b`, 400, "invalid_request"],
  ] as const)("GET %s: %i", async (whole, status, error) => {
    const answer = await admin.call("GET", whole);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });
});

test("history that was just switched off is switched on again only when nothing is left of it", async () => {
  const other = `/apps/${(await admin.createApp())._id}`;
  const rules = (...channelRules: Json[]): Promise<unknown> => admin.must("PATCH", other, { channelRules });
  const keeps = { pattern: "chat/*", history: HISTORY };
  const startedMs = performance.now();
  await rules(keeps);
  expect(performance.now() - startedMs).toBeLessThan(SOON_MS);
  const switchedOffMs = performance.now();
  await rules();
  expect(performance.now() - switchedOffMs).toBeLessThan(SOON_MS);
  await rules(keeps);
  expect(performance.now() - switchedOffMs).toBeWithin(1500, 10_000 + SOON_MS);
});

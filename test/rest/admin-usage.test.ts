/** Usage over the control plane. Every response is also checked against /openapi.json. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { INVALID, NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";

setDefaultTimeout(60_000);

const { url, admin } = await checkedServerForTests();

test("this period is the same as GET /v1/usage, up to the last message", async () => {
  const app = await admin.createApp();
  const key = await admin.createKey(app.name);
  await admin.must("PATCH", `/apps/${app.name}`, { plan: { name: "<b>team</b>", maxMessagesPerPeriod: 1000 } });
  for (let i = 0; i < 3; i++) await call(`${url}/v1/channels/c/publish`, { bearer: key.credential, body: { data: i } });
  const { body } = await call<Json>(`${url}/v1/usage`, { bearer: key.credential });
  const { appId, concurrentNow, plan, ...period } = body;
  expect(period).toMatchObject({ messagesUsed: 3 });
  expect(plan).toMatchObject({ name: "<b>team</b>" });
  for (const name of [app.name, app._id])
    expect(await admin.must<Json>("GET", `/apps/${name}/usage?periods=3`)).toEqual({
      appId,
      concurrentNow,
      plan,
      data: [period],
      history: { streams: 0, messages: 0, bytes: 0 },
      streams: { count: 0, messages: 0, bytes: 0 },
    });
});

test("a deleted application's usage is found by its id", async () => {
  const app = await admin.createApp();
  const key = await admin.createKey(app.name);
  await call(`${url}/v1/channels/c/publish`, { bearer: key.credential, body: { data: 1 } });
  await admin.must("DELETE", `/apps/${app.name}`);
  const used = await admin.must<Json>("GET", `/apps/${app._id}/usage?periods=1`);
  expect(used).toMatchObject({ appId: app._id, concurrentNow: 0, data: [{ messagesUsed: 1 }] });
});

test("what does not exist is said in a sentence", async () => {
  const app = await admin.createApp();
  await admin.must("DELETE", `/apps/${app.name}`);
  for (const name of [app.name, "nothing"])
    expect(await refused(admin, NOT_FOUND, "GET", `/apps/${name}/usage`)).toBe("There is no such application.");
  for (const periods of ["0", "121", "x"])
    expect(await refused(admin, INVALID, "GET", `/apps/demo/usage?periods=${periods}`)).toContain("periods:");
});

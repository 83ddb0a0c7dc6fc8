/** What is kept, over the control plane. Every response is also checked against /openapi.json. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { NOT_FOUND, refused } from "../support/checks.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { call, type Json } from "../support/http.ts";

setDefaultTimeout(60_000);

const { url, admin, data } = await checkedServerForTests();

interface Kept {
  readonly id: string;
  readonly kept: string;
  readonly limit: string;
  readonly now: { readonly count: number | null; readonly bytes: number | null; readonly isAbout: boolean };
  readonly change: readonly Json[];
}
interface WhatIsKept {
  readonly places: readonly { readonly id: string; readonly where: string; readonly bytes: number | null }[];
  readonly data: readonly Kept[];
}

const named = (found: WhatIsKept, id: string): Kept | undefined => found.data.find((one) => one.id === id);

test("an application's report has its own limits and numbers", async () => {
  const app = await admin.createApp();
  const key = await admin.createKey(app.name);
  const rule = { pattern: "chat/*", history: { messages: 5, seconds: 86_400 }, graceSec: 0 };
  await admin.must("PATCH", `/apps/${app.name}`, { retentionDays: 30, meetingRetentionDays: 7, channelRules: [rule] });
  for (let i = 0; i < 3; i++)
    await call(`${url}/v1/channels/chat%2F1/publish`, { bearer: key.credential, body: { data: i } });
  await admin.must("POST", `/apps/${app.name}/rooms`, { roomName: "standup" });
  const found = await admin.must<WhatIsKept>("GET", `/apps/${app.name}/data`);
  expect(named(found, "recordings")).toMatchObject({
    kept: "30 days after they are complete",
    limit: "100 GiB, with uploads",
    now: { count: 0, bytes: 0, isAbout: false },
    change: [
      { command: `parley apps plan ${app.name} --retention-days N`, page: "recordings" },
      { command: `parley apps plan ${app.name} --max-recording-bytes-total N`, page: "recordings" },
    ],
  });
  expect(named(found, "meetings")?.kept).toBe("7 days after their end");
  expect(named(found, "messages")).toMatchObject({
    kept: "chat/* 1 day and 5 per channel; chats of rooms 7 days",
    limit: "1 GiB",
    now: { count: 3, isAbout: false },
  });
  expect([named(found, "rooms")?.now.count, named(found, "keys")?.now.count]).toEqual([1, 1]);
  expect(named(found, "operators")).toBeUndefined();
  // A limit that was changed is shown at once, although numbers are kept for some seconds.
  await admin.must("PATCH", `/apps/${app._id}`, { retentionDays: null });
  expect(named(await admin.must("GET", `/apps/${app._id}/data`), "recordings")?.kept).toBe("until they are deleted");
});

test("the service's report says where everything lies, and an operator of the role read may see it", async () => {
  const { token } = await admin.must<{ token: string }>("POST", "/operators", { name: "looks", role: "read" });
  const { body } = await admin.call<WhatIsKept>("GET", "/data", undefined, { bearer: token });
  expect(body.places.map(({ id }) => id)).toEqual(["store", "histories", "recordings", "files"]);
  expect(body.places[0]).toMatchObject({ where: `${data}/parley.sqlite`, bytes: expect.any(Number) });
  expect(named(body, "audit")).toMatchObject({ kept: "180 days", change: [], now: { count: expect.any(Number) } });
  expect(named(body, "rooms")).toMatchObject({
    limit: "100,000 per application, without archived ones",
    change: [{ setting: "PARLEY_MAX_ROOMS_PER_APP" }],
  });
  expect(named(body, "secrets")?.now.count).toBeGreaterThan(0);
});

test("what does not exist is said in a sentence", async () => {
  expect(await refused(admin, NOT_FOUND, "GET", "/apps/nothing/data")).toBe("There is no such application.");
});

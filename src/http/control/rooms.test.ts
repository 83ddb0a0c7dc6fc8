/** What each role sees of rooms, and what is audited. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { anAppId } from "../../base/testing/ids.ts";
import { Expiry } from "../../rooms/expiry.ts";
import { Rooms } from "../../rooms/rooms.ts";
import { openStore } from "../../store/open.ts";
import type { SqlStore } from "../../store/sql/store.ts";
import { appRow } from "../../store/testing/rows.ts";
import { auditedChanges, guardOf, run } from "../testing/calls.ts";
import { adminRoomEndpoints } from "./rooms.ts";

const APP = anAppId("app");

const ALL = "/api/internal/v1/apps/:app/rooms";
const ONE = `${ALL}/:roomName`;
const HOOK = "https://user:pass@hooks.example:8443/t/secret-path?token=secret-token";
const MASKED = "https://hooks.example:8443/…";

let folder: string;
let store: SqlStore;
let rooms: Rooms;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "parley-admin-rooms-"));
  store = await openStore(folder);
  await store.change((change) => change.putApp(appRow("app")));
  const none = (): undefined => undefined;
  const guarded = (callback: () => unknown) => () => void callback();
  const expiry = new Expiry({ store: store.rooms, nowMs: Date.now, archived: none, failed: none, guarded });
  expiry.schedule = none;
  rooms = new Rooms(store.rooms, expiry, Date.now, 1000);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const sessions = { waiting: async () => [] };
const appIn = async () => appRow("app");

test("a webhook's address is shown whole to an admin, and as its host in the audit and to role read", async () => {
  const { audit, changes } = auditedChanges();
  const guards = { admin: guardOf("admin"), operator: guardOf("read") };
  const endpoints = adminRoomEndpoints(guards, { appIn, rooms, sessions, audit });
  const params = { app: APP, roomName: "one" };
  const body = { roomName: "one", meetingJoinWebhook: HOOK, enableChat: false };
  expect(await run(endpoints, { method: "POST", path: ALL, params, body })).toMatchObject(body);
  const edited = { meetingJoinWebhook: null, meetingLeftWebhook: HOOK, enableChat: false };
  await run(endpoints, { method: "PUT", path: ONE, params, body: edited });
  const seen = await run(endpoints, { method: "GET", path: ONE, params });
  expect(seen).toMatchObject({ roomName: "one", enableChat: false, meetingLeftWebhook: MASKED });
  expect(seen).not.toHaveProperty("meetingJoinWebhook");
  const { waiting, ...listed } = seen as Record<string, unknown>;
  expect(waiting).toEqual([]);
  expect(await run(endpoints, { method: "GET", path: ALL, params })).toEqual({ data: [listed], next: null, total: 1 });
  await run(endpoints, { method: "DELETE", path: ONE, params });
  expect(changes).toEqual([
    {
      what: "room created",
      on: "one",
      app: APP,
      after: { roomName: "one", enableChat: false, meetingJoinWebhook: MASKED },
    },
    {
      what: "room edited",
      on: "one",
      app: APP,
      before: { meetingJoinWebhook: MASKED, meetingLeftWebhook: null },
      after: { meetingJoinWebhook: null, meetingLeftWebhook: MASKED },
    },
    { what: "room archived", on: "one", app: APP },
  ]);
  const asAdmin = adminRoomEndpoints(
    { admin: guardOf("admin"), operator: guardOf("admin") },
    { appIn, rooms, sessions, audit },
  );
  await run(asAdmin, { method: "POST", path: ALL, params, body });
  expect(await run(asAdmin, { method: "GET", path: ONE, params })).toMatchObject(body);
});

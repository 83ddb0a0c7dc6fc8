import { expect, test } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { Recordings } from "../../recordings/recordings.ts";
import { appRow } from "../../store/testing/rows.ts";
import { FileDownloads } from "../response/file-downloads.ts";
import { auditedChanges, guardOf, run } from "../testing/calls.ts";
import { adminRecordingEndpoints } from "./recordings.ts";

const APP = anAppId("app");

const ALL = "/api/internal/v1/apps/:app/recordings";

const NOT_ASKED = { meetingOf: async () => undefined, isRoom: async () => true };

test("role read gets no bytes, whether or not there is a file", async () => {
  const { audit } = auditedChanges();
  const read = guardOf("read");
  const endpoints = adminRecordingEndpoints(
    { admin: guardOf("admin"), operator: read, stream: read },
    {
      appIn: () => Promise.reject(new Error("not reached")),
      // Nothing of it is used.
      recordings: {} as Recordings,
      ...NOT_ASKED,
      fileDownloads: { ofBucket: new FileDownloads(1), ofFolder: new FileDownloads(1) },
      audit,
      nowMs: Date.now,
      logIncomplete: () => undefined,
    },
  );
  const call = { method: "GET", path: `${ALL}/:id/file`, params: { app: APP, id: "0".repeat(24) } } as const;
  await expect(run(endpoints, call)).rejects.toMatchObject({ code: "forbidden" });
});

test("what was deleted, by which filter or ids, is audited", async () => {
  const { audit, changes } = auditedChanges();
  const admin = guardOf("admin");
  const endpoints = adminRecordingEndpoints(
    { admin, operator: admin, stream: admin },
    {
      appIn: async () => appRow("app"),
      recordings: { deleteAll: async () => 3, deleteSome: async () => 1 } as unknown as Recordings,
      ...NOT_ASKED,
      fileDownloads: { ofBucket: new FileDownloads(1), ofFolder: new FileDownloads(1) },
      audit,
      nowMs: Date.now,
      logIncomplete: () => undefined,
    },
  );
  const id = "a".repeat(24);
  for (const query of ["?type=video", `?id=${id}`])
    await run(endpoints, { method: "DELETE", path: ALL, params: { app: APP }, query });
  expect(changes).toEqual([
    { what: "recordings deleted", on: "3 recordings", app: APP, before: { filter: { type: "video" } } },
    { what: "recordings deleted", on: "1 recordings", app: APP, before: { ids: [id] } },
  ]);
});

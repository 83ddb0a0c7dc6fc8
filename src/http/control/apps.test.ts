import { expect, test } from "bun:test";
import type { AppEdit, Directory } from "../../access/keys/directory.ts";
import { Problem } from "../../protocol/codes.ts";
import { appRow } from "../../store/testing/rows.ts";
import { auditedChanges, guardOf, run } from "../testing/calls.ts";
import { appEndpoints } from "./apps.ts";

/** The edits that a PATCH has made, and the code with which it was refused. */
async function patched(body: object, isSettled: boolean): Promise<{ edits: AppEdit[]; refusal: string | undefined }> {
  const edits: AppEdit[] = [];
  const row = appRow("app");
  const directory = {
    app: async () => row,
    editApp: async (_app: string, edit: AppEdit) => {
      edits.push(edit);
      return { before: row, after: { ...row, ...edit } };
    },
  };
  const endpoints = appEndpoints(
    { admin: guardOf("admin"), operator: guardOf("admin"), lists: guardOf("admin") },
    {
      directory: directory as unknown as Directory,
      audit: auditedChanges().audit,
      nowMs: () => 0,
      rotationGraceSeconds: 0,
      clearDeleted: () => undefined,
      rulesSettled: async () => isSettled,
    },
  );
  const call = { method: "PATCH", path: "/api/internal/v1/apps/:app", params: { app: "app" }, body } as const;
  const refusal = await run(endpoints, call).then(
    () => undefined,
    (error: unknown) => (error instanceof Problem ? error.code : String(error)),
  );
  return { edits, refusal };
}

const KEEPS = { pattern: "chat/*", history: { messages: 1, seconds: 1 } };

test("history is not switched on while what earlier rules have kept cannot be removed", async () => {
  expect(await patched({ channelRules: [KEEPS] }, false)).toEqual({ edits: [], refusal: "backend_error" });
  expect((await patched({ channelRules: [KEEPS] }, true)).refusal).toBeUndefined();
});

test("history can be switched off, and everything else changed, at any time", async () => {
  for (const body of [{ channelRules: [] }, { channelRules: [{ pattern: "a", graceSec: 1 }] }, { retentionDays: 5 }]) {
    const { edits, refusal } = await patched(body, false);
    expect([edits.length, refusal]).toEqual([1, undefined]);
  }
});

import { expect, test } from "bun:test";
import type { AppEdit, Directory } from "../../access/keys/directory.ts";
import { Problem } from "../../protocol/codes.ts";
import type { ChannelRule } from "../../protocol/patterns/channel-rules.ts";
import { appRow } from "../../store/testing/rows.ts";
import { auditedChanges, guardOf, run } from "../testing/calls.ts";
import { appEndpoints } from "./apps.ts";

/** The edits that a PATCH has made, and the code with which it was refused. */
async function patched(
  body: object,
  isSettled: boolean,
  { older = [], rules = [] }: { older?: readonly string[]; rules?: readonly ChannelRule[] } = {},
): Promise<{ edits: AppEdit[]; refusal: string | undefined }> {
  const edits: AppEdit[] = [];
  const row = appRow("app", { channelRules: rules });
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
      nodesWithout: async () => older,
    },
  );
  const call = { method: "PATCH", path: "/api/internal/v1/apps/:app", params: { app: "app" }, body } as const;
  const refusal = await run(endpoints, call).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof Problem) said = error.message;
      return error instanceof Problem ? error.code : String(error);
    },
  );
  return { edits, refusal };
}

let said = "";
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

const STREAMS = { pattern: "runs/*", stream: { seconds: 60, bytes: 65_536 } };

test("streams are not switched on while a node is older, and it is named", async () => {
  const older = ["node-7 (0.1.0)", "node-9 (0.1.0)"];
  expect(await patched({ channelRules: [STREAMS] }, true, { older })).toEqual({ edits: [], refusal: "conflict" });
  expect(said).toContain("node-7 (0.1.0), node-9 (0.1.0)");
  expect((await patched({ channelRules: [STREAMS] }, true)).refusal).toBeUndefined();
  expect((await patched({ channelRules: [STREAMS] }, false)).refusal).toBe("backend_error");
});

test("rules with streams that were there already need no node", async () => {
  const rules = [{ ...STREAMS, graceSec: 0 }];
  const older = ["node-7 (0.1.0)"];
  const wider = { ...STREAMS, stream: { seconds: 120, bytes: 65_536 } };
  for (const channelRules of [[wider], [KEEPS, STREAMS], []])
    expect((await patched({ channelRules }, true, { older, rules })).refusal).toBeUndefined();
  const more = [STREAMS, { ...STREAMS, pattern: "other" }];
  expect((await patched({ channelRules: more }, true, { older, rules })).refusal).toBe("conflict");
});

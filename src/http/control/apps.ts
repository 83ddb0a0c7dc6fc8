/** Control plane: applications, their plans and their secret. */
import { z } from "zod";
import type { AppEdit, Directory } from "../../access/keys/directory.ts";
import { isLive } from "../../access/keys/keyring.ts";
import {
  APP_NAME_MAX_CHARS,
  HISTORY_LIMIT_MAX_BYTES,
  HISTORY_LIMIT_MIN_BYTES,
  MEETINGS_KEPT_MAX_DAYS,
  RECORDINGS_LIMIT_MAX_BYTES,
  STREAMS_LIMIT_MAX_BYTES,
  STREAMS_LIMIT_MIN_BYTES,
} from "../../access/limits.ts";
import type { AppId } from "../../base/ids.ts";
import { type Infer, lazily } from "../../base/lazily.ts";
import { Problem } from "../../protocol/codes.ts";
import type { AppRow } from "../../store/contract/store.ts";
import type { ListGuards } from "../guards/operator.ts";
import { type Endpoint, endpoint } from "../server/endpoint.ts";
import { type Audit, changedFields } from "../shared/audit.ts";
import {
  frameOrigins,
  graceSec,
  label,
  retirePrevious,
  toSeconds,
  toSecondsOrNull,
  unixSeconds,
  whole,
} from "../shared/schemas.ts";
import { channelRules, rulesAsText, shownRule, shownRules, toRules } from "./channel-rule-schemas.ts";
import { pageOf, paging } from "./paging.ts";

const RESERVED_NAMES = ["www", "api", "admin", "docs", "static"];

const name = lazily(() =>
  z
    .string()
    .max(APP_NAME_MAX_CHARS)
    .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/, "must be a DNS label: lower-case letters, digits and hyphens")
    .refine((text) => !RESERVED_NAMES.includes(text), `must not be one of ${RESERVED_NAMES.join(", ")}`),
);

const cap = lazily(() => z.int().min(0).nullable().describe("null: unlimited"));
const plan = lazily(() => z.object({ name: z.string(), maxConcurrentConnections: cap(), maxMessagesPerPeriod: cap() }));

const app = lazily(() =>
  z
    .object({
      _id: z.string(),
      name: z.string(),
      created: unixSeconds(),
      plan: plan(),
      retentionDays: z.int().nullable().describe("How many days recordings are kept; null: no limit"),
      consolePayloads: z.boolean().describe("Whether operators can see its messages"),
      channelRules: z.array(shownRule()).describe("The first whose pattern matches a channel's name applies"),
      maxHistoryBytes: z
        .int()
        .describe(
          "Beyond it, the oldest messages of its largest channel are removed; its rooms lose first while they have more than a quarter",
        ),
      maxStreamBytes: z.int().describe("Bytes that its streams may have together; beyond it, writes are refused"),
      allowedFrameOrigins: z.array(z.string()).describe("Origins whose pages may embed its meetings"),
      meetingRetentionDays: z.int().describe("How many days meetings are kept after they end"),
      maxRecordingBytesTotal: z.int().describe("Bytes that its recordings and open uploads may have together"),
      previousSecrets: z
        .array(z.object({ endsAt: unixSeconds() }))
        .describe("Previous secret keys that still work, and until when; newest first"),
    })
    .meta({ id: "App" }),
);
const deletedApp = lazily(() => app().extend({ deleted: unixSeconds() }).meta({ id: "DeletedApp" }));
const secretKey = lazily(() => z.object({ secretKey: z.string() }).meta({ id: "AppSecret" }));

const edit = lazily(() =>
  z.strictObject({
    plan: z
      .strictObject({
        name: label().unwrap().min(1).optional(),
        maxConcurrentConnections: cap().optional(),
        maxMessagesPerPeriod: cap().optional(),
      })
      .optional(),
    retentionDays: z.int().min(1).max(36_500).nullable().optional(),
    consolePayloads: z.boolean().describe("Whether operators can see the application's messages.").optional(),
    channelRules: channelRules()
      .describe("Replaces the list. The first rule whose pattern matches a channel's name applies.")
      .optional(),
    maxHistoryBytes: whole(HISTORY_LIMIT_MIN_BYTES, HISTORY_LIMIT_MAX_BYTES)
      .describe("Bytes of history in all channels; beyond it, the oldest messages of the largest channel are removed.")
      .optional(),
    maxStreamBytes: whole(STREAMS_LIMIT_MIN_BYTES, STREAMS_LIMIT_MAX_BYTES)
      .describe("Bytes that its streams may have together; beyond it, writes are refused. Nothing is deleted.")
      .optional(),
    allowedFrameOrigins: frameOrigins()
      .describe("Replaces the list of origins whose pages may embed the application's meetings.")
      .optional(),
    meetingRetentionDays: whole(1, MEETINGS_KEPT_MAX_DAYS)
      .describe("How many days meetings and their participants are kept after they end.")
      .optional(),
    maxRecordingBytesTotal: whole(0, RECORDINGS_LIMIT_MAX_BYTES)
      .describe("Bytes that its recordings and open uploads may have together; beyond it, uploads are refused.")
      .optional(),
  }),
);

const rotate = lazily(() =>
  z.strictObject({
    graceSec: graceSec().describe("How long the current secret still works. Absent: PARLEY_ROTATION_GRACE_SECONDS."),
    retirePrevious: retirePrevious(),
  }),
);

const appFields = (row: AppRow, nowMs: number): Infer<typeof app> => ({
  _id: row.id,
  name: row.name,
  created: toSeconds(row.created),
  plan: {
    name: row.planName,
    maxConcurrentConnections: row.maxConcurrentConnections,
    maxMessagesPerPeriod: row.maxMessagesPerPeriod,
  },
  retentionDays: row.retentionDays,
  consolePayloads: row.consolePayloads,
  channelRules: shownRules(row.channelRules),
  maxHistoryBytes: row.maxHistoryBytes,
  maxStreamBytes: row.maxStreamBytes,
  allowedFrameOrigins: [...row.allowedFrameOrigins],
  meetingRetentionDays: row.meetingRetentionDays,
  maxRecordingBytesTotal: row.maxRecordingBytesTotal,
  previousSecrets: row.previousSecrets.flatMap((one) =>
    one.ends !== null && isLive(one, nowMs) ? [{ endsAt: toSeconds(one.ends) }] : [],
  ),
});

/** Only the fields in the body are changed. */
function toEdit(body: Infer<typeof edit>): AppEdit {
  const { plan, retentionDays, consolePayloads, maxHistoryBytes, allowedFrameOrigins, meetingRetentionDays } = body;
  return {
    ...(plan?.name !== undefined && { planName: plan.name }),
    ...(plan?.maxConcurrentConnections !== undefined && { maxConcurrentConnections: plan.maxConcurrentConnections }),
    ...(plan?.maxMessagesPerPeriod !== undefined && { maxMessagesPerPeriod: plan.maxMessagesPerPeriod }),
    ...(retentionDays !== undefined && { retentionDays }),
    ...(consolePayloads !== undefined && { consolePayloads }),
    ...(body.channelRules && { channelRules: toRules(body.channelRules) }),
    ...(maxHistoryBytes !== undefined && { maxHistoryBytes }),
    ...(body.maxStreamBytes !== undefined && { maxStreamBytes: body.maxStreamBytes }),
    ...(allowedFrameOrigins && { allowedFrameOrigins: [...new Set(allowedFrameOrigins)] }),
    ...(meetingRetentionDays !== undefined && { meetingRetentionDays }),
    ...(body.maxRecordingBytesTotal !== undefined && { maxRecordingBytesTotal: body.maxRecordingBytesTotal }),
  };
}

const UNSETTLED =
  "Messages stored under earlier channel rules are still being removed, and the history store is not responding. Nothing was changed; try again.";
const UNSETTLED_RETRY_SECONDS = 5;

interface AppParts {
  readonly directory: Directory;
  readonly audit: Audit;
  readonly nowMs: () => number;
  readonly rotationGraceSeconds: number;
  /** Removes what deleted applications leave, in the background. */
  readonly clearDeleted: () => void;
  /** Resolves when the history and the streams that earlier rules have switched off are gone; false: that takes too long. */
  readonly rulesSettled: (app: AppId) => Promise<boolean>;
  /** The nodes that lack it, as an operator knows them; none: every node has it. */
  readonly nodesWithout: (feature: "streams") => Promise<readonly string[]>;
}

export function appEndpoints(guards: ListGuards, parts: AppParts): Endpoint[] {
  const { directory, audit, rotationGraceSeconds, clearDeleted } = parts;
  const base = { tag: "applications", guard: guards.admin, scope: "app" } as const;
  const reading = { tag: "applications", guard: guards.operator, scope: "app" } as const;
  const fieldsOf = (row: AppRow): Infer<typeof app> => appFields(row, parts.nowMs());
  const auditedFields = (row: AppRow) => ({ ...fieldsOf(row), channelRules: rulesAsText(row.channelRules) });
  const root = "/api/internal/v1/apps";
  const one = `${root}/:app`;
  /** History that is switched on again must begin anew, so what is left of it has to go first. */
  const settle = async (idOrName: string): Promise<void> => {
    const { id } = await directory.app(idOrName);
    if (!(await parts.rulesSettled(id))) throw new Problem("backend_error", UNSETTLED, UNSETTLED_RETRY_SECONDS);
  };
  /** An older node would take the channels of such a rule for ones that store nothing. */
  const refuseOlderNodes = async (idOrName: string, rules: Infer<typeof channelRules>) => {
    const row = await directory.app(idOrName);
    const before = new Set(row.channelRules.flatMap(({ pattern, stream }) => (stream ? [pattern] : [])));
    if (!rules.some(({ pattern, stream }) => stream && !before.has(pattern))) return;
    const older = await parts.nodesWithout("streams");
    if (older.length === 0) return;
    throw new Problem(
      "conflict",
      `Streams need a newer version on every node. Not there yet: ${older.join(", ")}. Nothing was changed; upgrade first, then try again.`,
    );
  };
  const appOf = (call: { params: Readonly<Record<string, string>> }): string => call.params.app ?? "";
  return [
    endpoint({
      ...base,
      method: "POST",
      path: root,
      scope: "service",
      summary: "Create an application",
      body: () => z.strictObject({ name: name() }),
      response: () => app().extend({ secretKey: z.string() }).meta({ id: "CreatedApp" }),
      problems: ["conflict"],
      handle: async (call, { caller, body }) => {
        const made = await directory.createApp(body.name);
        await audit(call, caller, { what: "app created", on: made.app.name, app: made.app.id });
        return { ...fieldsOf(made.app), secretKey: made.secret };
      },
    }),
    endpoint({
      ...reading,
      guard: guards.lists,
      method: "GET",
      path: root,
      scope: "service",
      summary: "List applications in order of creation",
      query: paging,
      response: () => z.object({ data: z.array(app()), next: z.string().nullable() }),
      handle: async (_call, { query: { limit, after } }) =>
        pageOf(await directory.appsPage(limit + 1, after), limit, (row) => row.id, fieldsOf),
    }),
    endpoint({
      ...reading,
      method: "GET",
      path: one,
      summary: "One application, by id or name",
      response: app,
      problems: ["not_found"],
      handle: async (call) => fieldsOf(await directory.app(appOf(call))),
    }),
    endpoint({
      ...base,
      method: "PATCH",
      path: one,
      summary:
        "Change the plan, retention, channel rules, who sees messages, and who embeds meetings; lowering a cap does not close connections",
      body: edit,
      response: app,
      problems: ["not_found", "conflict", "backend_error"],
      handle: async (call, { caller, body }) => {
        if (body.channelRules) await refuseOlderNodes(appOf(call), body.channelRules);
        if (body.channelRules?.some(({ history, stream }) => history ?? stream)) await settle(appOf(call));
        const { before, after } = await directory.editApp(appOf(call), toEdit(body));
        await audit(call, caller, {
          what: "app edited",
          on: after.name,
          app: after.id,
          ...changedFields(auditedFields(before), auditedFields(after)),
        });
        return fieldsOf(after);
      },
    }),
    endpoint({
      ...base,
      method: "DELETE",
      path: one,
      summary:
        "Delete an application: revokes its keys and removes its secrets; its rooms, meetings, histories, streams and recordings are deleted in the background",
      response: deletedApp,
      problems: ["not_found"],
      handle: async (call, { caller }) => {
        const deleted = await directory.deleteApp(appOf(call));
        await audit(call, caller, { what: "app deleted", on: deleted.name, app: deleted.id });
        clearDeleted();
        return { ...fieldsOf(deleted), deleted: toSecondsOrNull(deleted.deleted) };
      },
    }),
    endpoint({
      ...base,
      method: "GET",
      path: `${one}/secret-key`,
      summary: "The application's secret key",
      response: secretKey,
      problems: ["not_found", "internal_error"],
      handle: async (call, { caller }) => {
        const { id, name } = await directory.app(appOf(call));
        const secret = await directory.appSecret(id);
        await audit(call, caller, { what: "app secret shown", on: name, app: id });
        return { secretKey: secret };
      },
    }),
    endpoint({
      ...base,
      method: "POST",
      path: `${one}/secret-key/rotate`,
      summary: "Replace the application's secret key; the previous one works for a grace period",
      body: rotate,
      response: secretKey,
      problems: ["not_found", "conflict"],
      handle: async (call, { caller, body }) => {
        const rotated = await directory.rotateAppSecret(appOf(call), {
          graceSeconds: body.graceSec ?? rotationGraceSeconds,
          retirePrevious: body.retirePrevious ?? false,
        });
        const previousEnds = new Date(rotated.previousEndsMs).toISOString();
        await audit(call, caller, {
          what: "app secret rotated",
          on: rotated.app.name,
          app: rotated.app.id,
          after: { previousEnds },
        });
        return { secretKey: rotated.secret };
      },
    }),
  ];
}

/** `parley apps …`: manages applications through the control plane. */
import { controlPlane } from "../../calls/client.ts";
import { forgetCredentials } from "../../calls/found-credentials.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { endsNow, rotation } from "../../line/rotation.ts";
import { confirm } from "../../terminal/confirm.ts";
import { exactBytes } from "../../terminal/exact-bytes.ts";
import { fields, table, time } from "../../terminal/output.ts";
import { changesLimits, deletedBy } from "./lower-limits.ts";

interface App {
  readonly _id: string;
  readonly name: string;
  readonly created: number;
  readonly plan: {
    readonly name: string;
    readonly maxConcurrentConnections: number | null;
    readonly maxMessagesPerPeriod: number | null;
  };
  readonly retentionDays: number | null;
  readonly consolePayloads?: boolean;
  /** Absent from servers of earlier versions, like consolePayloads. */
  readonly channelRules?: readonly object[];
  readonly maxHistoryBytes?: number;
  readonly maxStreamBytes?: number;
  readonly allowedFrameOrigins?: readonly string[];
  readonly meetingRetentionDays?: number;
  readonly maxRecordingBytesTotal?: number;
  readonly deleted?: number;
  /** Only in the response to create. */
  readonly secretKey?: string;
}

const limitText = (limit: number | null): string | number => limit ?? "unlimited";
const retention = (days: number | null): string => (days === null ? "forever" : `${days} days`);

const appPath = (input: Input): string => `/apps/${input.id(0, "the id or name of an application")}`;

const describe = (app: App): string =>
  fields({
    id: app._id,
    name: app.name,
    created: time(app.created),
    deleted: time(app.deleted),
    plan: app.plan.name,
    connections: limitText(app.plan.maxConcurrentConnections),
    "messages per month": limitText(app.plan.maxMessagesPerPeriod),
    "recordings kept": retention(app.retentionDays),
    "recordings at most": exactBytes(app.maxRecordingBytesTotal),
    "messages shown": app.consolePayloads === undefined ? undefined : app.consolePayloads ? "to operators" : "no",
    "channel rules": app.channelRules?.length,
    "history at most": exactBytes(app.maxHistoryBytes),
    "streams at most": exactBytes(app.maxStreamBytes),
    "meetings kept": app.meetingRetentionDays === undefined ? undefined : retention(app.meetingRetentionDays),
    "meetings framed by": app.allowedFrameOrigins && (app.allowedFrameOrigins.join(", ") || "none"),
    "app secret": app.secretKey,
  });

export async function create(input: Input): Promise<CommandResult> {
  const app = await controlPlane(input).post<App>("/apps", { name: input.operand(0) });
  return {
    value: app,
    text: describe(app),
    notes: [
      `Keep the app secret to yourself; "parley apps secret ${app.name}" prints it. It is for rooms and recordings (PARLEY_APP_SECRET).`,
      `For messages, make a key; see "parley help keys create".`,
    ],
  };
}

export async function list(input: Input): Promise<CommandResult> {
  const response = await controlPlane(input).getAll<App>("/apps");
  if (response.data.length === 0) return { value: response.data, text: "", notes: ["There are no applications yet."] };
  const rows = response.data.map((app) => [
    app.name,
    app._id,
    app.plan.name,
    limitText(app.plan.maxConcurrentConnections),
    limitText(app.plan.maxMessagesPerPeriod),
    retention(app.retentionDays),
    time(app.created),
  ]);
  return {
    value: response.data,
    text: table(["NAME", "ID", { prose: "PLAN" }, "CONNECTIONS", "MESSAGES", "KEPT", "CREATED"], rows),
  };
}

export async function show(input: Input): Promise<CommandResult> {
  const app = await controlPlane(input).get<App>(appPath(input));
  return { value: app, text: describe(app) };
}

export async function remove(input: Input): Promise<CommandResult> {
  const server = controlPlane(input);
  const path = appPath(input);
  await confirm(input, `delete the application ${input.operand(0)} and revoke its keys`, () => server.get(path));
  const app = await server.delete<App>(path);
  forgetCredentials(input, [input.operand(0), app.name, app._id]);
  return {
    value: app,
    text: describe(app),
    notes: ["Its keys are revoked. Its rooms, meetings, histories, streams and recordings are removed within an hour."],
  };
}

export async function plan(input: Input): Promise<CommandResult> {
  const name = input.text("name");
  const maxConcurrentConnections = input.wholeOrNone("max-connections");
  const maxMessagesPerPeriod = input.wholeOrNone("max-messages");
  const retentionDays = input.daysOrNone("retention-days");
  const payloads = input.oneOf("console-payloads", ["on", "off"]);
  const consolePayloads = payloads === undefined ? undefined : payloads === "on";
  const maxHistoryBytes = input.whole("max-history-bytes");
  const maxStreamBytes = input.whole("max-stream-bytes");
  const allowedFrameOrigins = input.list("frame-origins");
  const meetingRetentionDays = input.days("meeting-retention-days");
  const maxRecordingBytesTotal = input.whole("max-recording-bytes-total");
  // JSON leaves out undefined fields, so these stay unchanged.
  const plan = { name, maxConcurrentConnections, maxMessagesPerPeriod };
  const others = {
    retentionDays,
    consolePayloads,
    maxHistoryBytes,
    maxStreamBytes,
    allowedFrameOrigins,
    meetingRetentionDays,
    maxRecordingBytesTotal,
  };
  const edit = { plan, ...others };
  if ([...Object.values(plan), ...Object.values(others)].every((one) => one === undefined))
    throw new UsageError(
      "nothing to change: pass --max-connections, --max-messages, --max-history-bytes, --max-stream-bytes, --name, --retention-days, --max-recording-bytes-total, --meeting-retention-days, --frame-origins or --console-payloads",
    );
  const server = controlPlane(input);
  const path = appPath(input);
  const deleted = changesLimits(others) ? deletedBy(others, await server.get<App>(path)) : [];
  if (deleted.length > 0) await confirm(input, `delete from ${input.operand(0)}: ${deleted.join(", and ")}`);
  const app = await server.patch<App>(path, edit);
  return { value: app, text: describe(app) };
}

export async function secret(input: Input): Promise<CommandResult> {
  const response = await controlPlane(input).get<{ secretKey: string }>(`${appPath(input)}/secret-key`);
  return { value: response, text: `${response.secretKey}\n` };
}

export async function rotateSecret(input: Input): Promise<CommandResult> {
  const options = rotation(input);
  const server = controlPlane(input);
  const path = appPath(input);
  const hasEnded = endsNow(options);
  if (hasEnded)
    await confirm(
      input,
      `end the current app secret of ${input.operand(0)}, and the access tokens made with it, now`,
      () => server.get(path),
    );
  const response = await server.post<{ secretKey: string }>(`${path}/secret-key/rotate`, options);
  const note = hasEnded
    ? "The old app secret no longer works, nor do the access tokens made under it."
    : "The old app secret, and access tokens made under it, work until the grace period ends.";
  return { value: response, text: `${response.secretKey}\n`, notes: [note] };
}

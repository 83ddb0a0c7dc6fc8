/** Converts database rows to the rows of the contract. PostgreSQL returns BIGINT as text, SQLite as number: both become numbers. */
import { type AppId, asAppId } from "../../base/ids.ts";
import type { Action } from "../../protocol/actions.ts";
import type { ChannelRule } from "../../protocol/patterns/channel-rules.ts";
import type { AuditRow, OperatorRow, SessionRow } from "../contract/operators.ts";
import type {
  RecordingFormat,
  RecordingRow,
  RecordingSource,
  RecordingType,
  UploadRow,
} from "../contract/recordings.ts";
import type { RoomRow } from "../contract/rooms.ts";
import type { AppRow, BlockRow, KeyRow, PreviousAppSecret, SecretRow, UsageRow } from "../contract/store.ts";

export type DbRow = Readonly<Record<string, string | number | bigint | null>>;

export const text = (value: DbRow[string] | undefined): string => String(value);
export const textOrNull = (value: DbRow[string] | undefined): string | null => (value == null ? null : String(value));
export const appId = (value: DbRow[string] | undefined): AppId => asAppId(String(value));
export const number = (value: DbRow[string] | undefined): number => Number(value);
export const numberOrNull = (value: DbRow[string] | undefined): number | null => (value == null ? null : Number(value));

/** A text that can be searched for: no id or name contains U+0000, and PostgreSQL rejects it in a statement. */
export const searchable = (name: string): string => name.replaceAll("\0", "\uFFFD");

export const toApp = (row: DbRow): AppRow => ({
  id: appId(row.id),
  name: text(row.name),
  secretSealed: text(row.secret_sealed),
  secretDigest: text(row.secret_digest),
  secretSeq: number(row.secret_seq),
  previousSecrets: JSON.parse(text(row.previous_secrets)) as PreviousAppSecret[],
  planName: text(row.plan_name),
  maxConcurrentConnections: numberOrNull(row.max_concurrent_connections),
  maxMessagesPerPeriod: numberOrNull(row.max_messages_per_period),
  retentionDays: numberOrNull(row.retention_days),
  consolePayloads: number(row.console_payloads) === 1,
  channelRules: JSON.parse(text(row.channel_rules)) as ChannelRule[],
  maxHistoryBytes: number(row.max_history_bytes),
  maxStreamBytes: number(row.max_stream_bytes),
  allowedFrameOrigins: JSON.parse(text(row.allowed_frame_origins)) as string[],
  meetingRetentionDays: number(row.meeting_retention_days),
  maxRecordingBytesTotal: number(row.max_recording_bytes_total),
  created: number(row.created),
  deleted: numberOrNull(row.deleted),
});

export const toKey = (row: DbRow): KeyRow => {
  const origins = textOrNull(row.allowed_origins);
  return {
    id: text(row.id),
    app: appId(row.app),
    type: row.type === "secret" ? "secret" : "publishable",
    label: textOrNull(row.label),
    channelPatterns: JSON.parse(text(row.channel_patterns)) as string[],
    actions: JSON.parse(text(row.actions)) as Action[],
    allowedOrigins: origins === null ? null : (JSON.parse(origins) as string[]),
    turn: number(row.turn) === 1,
    created: number(row.created),
    rotated: numberOrNull(row.rotated),
    revoked: numberOrNull(row.revoked),
  };
};

export const toSecret = (row: DbRow): SecretRow => ({
  keyId: text(row.key_id),
  seq: number(row.seq),
  sealed: text(row.sealed),
  digest: text(row.digest),
  created: number(row.created),
  ends: numberOrNull(row.ends),
});

export const toUsage = (row: DbRow): UsageRow => ({
  app: appId(row.app),
  period: number(row.period),
  messages: number(row.messages),
  guestMessages: number(row.guest_messages),
  peakConnections: number(row.peak_connections),
});

export const toBlock = (row: DbRow): BlockRow => ({
  app: appId(row.app),
  peerId: text(row.peer_id),
  untilMs: number(row.until_ms),
});

export const toOperator = (row: DbRow): OperatorRow => ({
  id: text(row.id),
  name: text(row.name),
  role: row.role === "admin" ? "admin" : "read",
  digest: text(row.digest),
  created: number(row.created),
  lastUsed: numberOrNull(row.last_used),
  revoked: numberOrNull(row.revoked),
});

export const toSession = (row: DbRow): SessionRow => ({
  digest: text(row.digest),
  operator: textOrNull(row.operator),
  credential: text(row.credential),
  created: number(row.created),
  ends: number(row.ends),
});

const jsonOrNull = (value: DbRow[string] | undefined): Record<string, unknown> | null =>
  value == null ? null : (JSON.parse(String(value)) as Record<string, unknown>);

export const toAudit = (row: DbRow): AuditRow => ({
  id: text(row.id),
  at: number(row.at),
  who: text(row.who),
  what: text(row.what),
  on: text(row.target),
  app: row.app == null ? null : appId(row.app),
  address: textOrNull(row.address),
  before: jsonOrNull(row.before_json),
  after: jsonOrNull(row.after_json),
  byApp: number(row.by_app) === 1,
});

export const toRoom = (row: DbRow): RoomRow => ({
  id: text(row.id),
  app: appId(row.app),
  name: text(row.name),
  fields: JSON.parse(text(row.fields)) as Record<string, unknown>,
  created: number(row.created),
  archiveAt: numberOrNull(row.archive_at),
  version: number(row.version),
});

/** SQLite has its code in `code`, PostgreSQL its SQLSTATE in `errno`. */
const hasCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error &&
  [Reflect.get(error, "code"), Reflect.get(error, "errno")].some((code) => codes.includes(String(code)));

/** The disk of the database is full. PostgreSQL's error is the cause of one that says "try later". */
export const isStoreFull = (error: unknown): boolean =>
  hasCode(error, "SQLITE_FULL", "53100") || (error instanceof Error && hasCode(error.cause, "53100"));

/** Another row has that value already. */
export const isUniqueViolation = (error: unknown): boolean => hasCode(error, "SQLITE_CONSTRAINT_UNIQUE", "23505");

const commonFields = (row: DbRow) => ({
  id: text(row.id),
  app: appId(row.app),
  room: text(row.room),
  participantSession: text(row.participant_session),
  meetingSession: text(row.meeting_session),
  participantUsername: text(row.participant_username),
  type: text(row.type) as RecordingType,
  startTime: number(row.start_time),
  startedMs: numberOrNull(row.started_ms),
});

export const toUpload = (row: DbRow): UploadRow => ({
  ...commonFields(row),
  locator: text(row.ticket),
  total: numberOrNull(row.total),
  touched: number(row.touched),
  stay: textOrNull(row.stay),
  source: textOrNull(row.source) as RecordingSource | null,
  bytes: number(row.bytes),
  finished: numberOrNull(row.finished),
  mendedAs: textOrNull(row.mended_as),
  tries: number(row.tries),
  sender: textOrNull(row.sender),
  byGuest: number(row.by_guest) === 1,
  isClosed: number(row.is_closed ?? 0) > 0,
  ...(row.stay_ended != null && { stayEnded: number(row.stay_ended) }),
});

export const toRecording = (row: DbRow): RecordingRow => ({
  ...commonFields(row),
  seq: number(row.seq),
  endTime: number(row.end_time),
  fileName: text(row.file_name),
  format: text(row.format) as RecordingFormat,
  sizeInBytes: number(row.size_in_bytes),
  completed: number(row.completed),
  file: textOrNull(row.file),
  mended: row.mended == null ? null : number(row.mended) === 1,
  hasThumbnail: number(row.has_thumbnail) === 1,
  speechMs: numberOrNull(row.speech_ms),
});

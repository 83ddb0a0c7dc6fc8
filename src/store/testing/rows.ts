/** For tests: rows of the store, with a value for everything that a test does not name. */
import { anAppId } from "../../base/testing/ids.ts";
import type { RecordingFormat, UploadRow } from "../contract/recordings.ts";
import type { RoomRow } from "../contract/rooms.ts";
import type { AppRow, KeyRow } from "../contract/store.ts";

const A = anAppId("a");

const CREATED_MS = 1_800_000_000_123;

export const appRow = (id: string, fields: Partial<AppRow> = {}): AppRow => ({
  id: anAppId(id),
  name: `name-${id}`,
  secretSealed: "sealed",
  secretDigest: "digest",
  secretSeq: 1,
  previousSecrets: [],
  planName: "default",
  maxConcurrentConnections: null,
  maxMessagesPerPeriod: null,
  retentionDays: null,
  consolePayloads: false,
  channelRules: [],
  maxHistoryBytes: 1_073_741_824,
  maxStreamBytes: 1_073_741_824,
  allowedFrameOrigins: [],
  meetingRetentionDays: 90,
  maxRecordingBytesTotal: 107_374_182_400,
  created: CREATED_MS,
  deleted: null,
  ...fields,
});

/** A publishable key has the origin `*`, as every publishable key has some. */
export const keyRow = (id: string, fields: Partial<KeyRow> = {}): KeyRow => ({
  id,
  app: A,
  type: "secret",
  label: null,
  channelPatterns: ["**"],
  actions: ["publish", "subscribe", "presence"],
  allowedOrigins: fields.type === "publishable" ? ["*"] : null,
  turn: false,
  created: CREATED_MS,
  rotated: null,
  revoked: null,
  ...fields,
});

export const roomRow = (id: string, fields: Partial<RoomRow> = {}): RoomRow => ({
  id,
  app: A,
  name: `name-${id}`,
  fields: {},
  created: CREATED_MS,
  archiveAt: null,
  version: 1,
  ...fields,
});

export const uploadRow = (id: string, fields: Partial<UploadRow> = {}): UploadRow => ({
  id,
  app: A,
  room: "r1",
  participantSession: "p1",
  meetingSession: "m1",
  participantUsername: "ann",
  type: "video",
  startTime: 100,
  startedMs: null,
  locator: "t",
  total: null,
  touched: 1000,
  stay: null,
  source: null,
  bytes: 0,
  finished: null,
  mendedAs: null,
  tries: 0,
  sender: null,
  byGuest: false,
  isClosed: false,
  ...fields,
});

export const COMPLETION = {
  endTime: 200,
  fileName: "f.webm",
  format: "webm" satisfies RecordingFormat,
  sizeInBytes: 10,
  completed: 5000,
} as const;

/** For tests: recordings, and many of them. */
import { expect } from "bun:test";
import type { Database } from "../database.ts";
import type { RecordingRow, RecordingStore, RecordingType, UploadRow } from "../recordings.ts";
import type { SqlStore } from "../sql.ts";

export const upload = (id: string, fields: Partial<UploadRow> = {}): UploadRow => ({
  id,
  app: "a",
  room: "r1",
  participantSession: "p1",
  meetingSession: "m1",
  participantUsername: "ann",
  type: "video",
  startTime: 100,
  ticket: "t",
  total: null,
  touched: 1000,
  ...fields,
});

export const COMPLETION = {
  endTime: 200,
  fileName: "f.webm",
  format: "webm",
  sizeInBytes: 10,
  completed: 5000,
} as const;

export async function record(
  store: RecordingStore,
  id: string,
  fields: Partial<UploadRow> = {},
): Promise<RecordingRow> {
  expect(await store.addUpload(upload(id, fields), 1e9)).toBe(true);
  const row = await store.complete(id, 0, COMPLETION);
  if (!row) throw new Error("it was not open");
  return row;
}

export const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);

const ROWS_AT_ONCE = 500;

const inDatabase = (row: RecordingRow) => ({
  id: row.id,
  app: row.app,
  seq: row.seq,
  room: row.room,
  participant_session: row.participantSession,
  meeting_session: row.meetingSession,
  participant_username: row.participantUsername,
  type: row.type,
  start_time: row.startTime,
  end_time: row.endTime,
  file_name: row.fileName,
  format: row.format,
  size_in_bytes: row.sizeInBytes,
  completed: row.completed,
});

/** Written directly: the way through uploads would take a sync for each. */
export async function fill(store: SqlStore, count: number): Promise<RecordingRow[]> {
  const types: RecordingType[] = ["video", "audio", "screen", "composition"];
  const names = ["u0", "u1", "ü'; DROP"];
  // The first in the list of types are rare, so that one filter has a short way and another a long one.
  const rows = Array.from(
    { length: count },
    (_, i): RecordingRow => ({
      ...COMPLETION,
      id: `id${i}`,
      app: "a",
      seq: i + 1,
      room: `r${(i * 7) % 3}`,
      participantSession: `p${i % 400}`,
      meetingSession: `m${i % 300}`,
      participantUsername: names[(i * i) % 3] as string,
      type: types[i % 50 === 0 ? 0 : 1 + (i % 3)] as RecordingType,
      startTime: (i * 37) % 41,
    }),
  );
  const { database } = store as unknown as { database: Database };
  await database.transaction(async (tx) => {
    await tx`INSERT INTO recording_counters (app, last_seq, live) VALUES ('a', ${count}, ${count})`;
    for (let at = 0; at < count; at += ROWS_AT_ONCE)
      await tx`INSERT INTO recordings ${tx(rows.slice(at, at + ROWS_AT_ONCE).map(inDatabase))}`;
  });
  return rows;
}

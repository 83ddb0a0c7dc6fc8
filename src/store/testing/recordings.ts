/** For tests: completes recordings, and fills a store with many of them. */
import { expect } from "bun:test";
import { anAppId } from "../../base/testing/ids.ts";
import type { RecordingRow, RecordingStore, RecordingType, UploadRow } from "../contract/recordings.ts";
import type { Store } from "../contract/store.ts";
import type { Database } from "../engines/database.ts";
import { COMPLETION, uploadRow } from "./rows.ts";

export async function record(
  store: RecordingStore,
  id: string,
  fields: Partial<UploadRow> = {},
): Promise<RecordingRow> {
  expect(await store.addUpload(uploadRow(id, fields), 1e9)).toBe(true);
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
  file: row.file,
  mended: row.mended === null ? null : Number(row.mended),
});

export const databaseOf = (store: Store): Database => (store as unknown as { database: Database }).database;

/** Writes rows directly: through uploads, each would wait for the disk. */
export async function fill(store: Store, count: number): Promise<RecordingRow[]> {
  const types: RecordingType[] = ["video", "audio", "screen", "composition"];
  const names = ["u0", "u1", "ü'; DROP"];
  // The first type is rare, so that filters by type differ in how many recordings they match.
  const rows = Array.from(
    { length: count },
    (_, i): RecordingRow => ({
      ...COMPLETION,
      file: null,
      mended: null,
      hasThumbnail: false,
      speechMs: null,
      startedMs: null,
      id: `id${i}`,
      app: anAppId("a"),
      seq: i + 1,
      room: `r${(i * 7) % 3}`,
      participantSession: `p${i % 400}`,
      meetingSession: `m${i % 300}`,
      participantUsername: names[(i * i) % 3] as string,
      type: types[i % 50 === 0 ? 0 : 1 + (i % 3)] as RecordingType,
      startTime: (i * 37) % 41,
    }),
  );
  await databaseOf(store).transaction(async (tx) => {
    await tx`INSERT INTO recording_counters (app, last_seq, live) VALUES ('a', ${count}, ${count})`;
    for (let at = 0; at < count; at += ROWS_AT_ONCE)
      await tx`INSERT INTO recordings ${tx(rows.slice(at, at + ROWS_AT_ONCE).map(inDatabase))}`;
  });
  return rows;
}

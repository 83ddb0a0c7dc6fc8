/** Stores full of recordings: rows alone, written as a restore would, with the indexes made afterwards. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SQL } from "bun";
import { openSqlite, openStore, sqliteFile } from "../../src/store/open.ts";
import type { RecordingFilter } from "../../src/store/recordings.ts";
import type { SqlStore } from "../../src/store/sql.ts";
import { appRow } from "../../src/store/testing/rows.ts";

export const APP = "a".repeat(24);
const DAY_SECONDS = 86_400;
const BEGINNING = 1_700_000_000;

/** In 24 hex digits, spread: ids of one kind must not stand in the order of the rows. */
export const hexId = (kind: number, n: number): string =>
  kind.toString(16).padStart(2, "0") +
  (Math.imul(n + 1, 2654435761) >>> 0).toString(16).padStart(8, "0") +
  n.toString(16).padStart(14, "0");

export interface Filled extends AsyncDisposable {
  readonly store: SqlStore;
  readonly folder: string;
  readonly sql: SQL;
}

/**
 * `rows` recordings. Each of the rare values has exactly `rare` of them, spread over all: a room, a username, a type in one day …;
 * what is not rare is common: 4 rooms, 4 usernames, 3 types for everything else.
 */
export async function filled(rows: number, rare: number): Promise<Filled> {
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  const empty = await openStore(folder);
  await empty.change((change) => change.putApp(appRow(APP, "bench")));
  await empty.close();
  const sql = await openSqlite(sqliteFile(folder));
  await fill(sql, rows, rare);
  await sql.close();
  const store = await openStore(folder);
  const inside = (store as unknown as { database: { sql: SQL } }).database.sql;
  return {
    store,
    folder,
    sql: inside,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function fill(sql: SQL, rows: number, rare: number): Promise<void> {
  const indexes: { sql: string; name: string }[] =
    await sql`SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'recordings' AND sql IS NOT NULL`;
  for (const { name } of indexes) await sql.unsafe(`DROP INDEX ${name}`);
  const every = Math.max(1, Math.floor(rows / rare));
  const types = ["video", "audio", "screen"];
  await sql.begin(async (tx) => {
    await tx`INSERT INTO recording_counters (app, last_seq, live) VALUES (${APP}, ${rows}, ${rows})`;
    for (let from = 0; from < rows; from += 500) {
      const some = Array.from({ length: Math.min(500, rows - from) }, (_, i) => {
        const n = from + i;
        const isRare = n % every === 0 && n / every < rare;
        return {
          id: hexId(1, n),
          app: APP,
          seq: n + 1,
          room: hexId(2, isRare ? 9 : n % 4),
          participant_session: isRare ? "rare" : hexId(3, n),
          meeting_session: isRare ? "rare" : hexId(4, n >> 2),
          participant_username: isRare ? "rare" : `user-${(n >> 2) % 4}`,
          type: isRare ? "composition" : (types[n % 3] as string),
          start_time: isRare ? BEGINNING - DAY_SECONDS : BEGINNING + n,
          end_time: BEGINNING + n + 60,
          file_name: `${crypto.randomUUID()}.webm`,
          format: "webm",
          size_in_bytes: 1000,
          completed: (BEGINNING + n) * 1000,
        };
      });
      await tx`INSERT INTO recordings ${tx(some)}`;
    }
  });
  for (const { sql: text } of indexes) await sql.unsafe(text);
}

/** Each alone, and pairs of fields that are common each and rare together. */
export const FILTERS = {
  room: { room: hexId(2, 9) },
  meetingSession: { meetingSession: "rare" },
  participantSession: { participantSession: "rare" },
  participantUsername: { participantUsername: "rare" },
  type: { type: "composition" },
  "startedAfter, startedBefore": { startedAfter: BEGINNING - 2 * DAY_SECONDS, startedBefore: BEGINNING },
  "room, type": { room: hexId(2, 9), type: "composition" },
  "meetingSession, type": { meetingSession: "rare", type: "composition" },
  "participantSession, start": { participantSession: "rare", startedBefore: BEGINNING },
  "room, username, type, start": {
    room: hexId(2, 9),
    participantUsername: "rare",
    type: "composition",
    startedBefore: BEGINNING,
  },
} as const;

/** Both match a quarter or more of all rows, and 1,000 at most together: what only a pair's index finds. */
export const commonPair = (rows: number): Readonly<Record<string, RecordingFilter>> => ({
  "room (common), start": { room: hexId(2, 1), startedAfter: BEGINNING + rows - 4000 },
  "username (common), start": { participantUsername: "user-1", startedAfter: BEGINNING + rows - 4000 },
  "type (common), start": { type: "audio", startedAfter: BEGINNING + rows - 3000 },
});

/** Stores full of recordings: rows without bytes. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SQL } from "bun";
import { anAppId } from "../../src/base/testing/ids.ts";
import type { RecordingFilter } from "../../src/store/contract/recordings.ts";
import { openSqlite, openStore, sqliteFile } from "../../src/store/open.ts";
import type { SqlStore } from "../../src/store/sql/store.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { appRow } from "../../src/store/testing/rows.ts";

export const APP = anAppId("a".repeat(24));
const DAY_SECONDS = 86_400;
const BEGINNING = 1_700_000_000;

/** 24 hex digits, spread: ids of one kind must not be in the order of the rows, or an index would be read from one end. */
const hexId = (kind: number, n: number): string =>
  kind.toString(16).padStart(2, "0") +
  (Math.imul(n + 1, 2654435761) >>> 0).toString(16).padStart(8, "0") +
  n.toString(16).padStart(14, "0");

export interface Filled extends AsyncDisposable {
  readonly store: SqlStore;
}

export type DatabaseName = "SQLite" | "PostgreSQL";

/**
 * `rows` recordings. Each rare value has exactly `rare` of them, spread over all: a room, a username, a type in one day, …; everything
 * else has common values: 4 rooms, 4 usernames, 3 types.
 */
export async function filled(database: DatabaseName, rows: number, rare: number): Promise<Filled> {
  const place = database === "SQLite" ? sqlitePlace() : await postgresPlace();
  const empty = await place.open();
  await empty.change((change) => change.putApp(appRow(APP, { name: "bench" })));
  await empty.close();
  const sql = await place.connect();
  await fill(sql, place.indexes, rows, rare);
  await sql.unsafe(place.analyse);
  await sql.close();
  const store = await place.open();
  return {
    store,
    [Symbol.asyncDispose]: async () => {
      await store.close();
      await place.remove();
    },
  };
}

interface Place {
  readonly open: () => Promise<SqlStore>;
  readonly connect: () => Promise<SQL>;
  readonly remove: () => Promise<void>;
  /** A statement for the names of the indexes of recordings, and how to create each. */
  readonly indexes: string;
  /** What keeps the planner's statistics up to date: PostgreSQL does it in the background, a while after the rows were written. */
  readonly analyse: string;
}

function sqlitePlace(): Place {
  const folder = mkdtempSync(join(tmpdir(), "parley-bench-"));
  return {
    open: () => openStore(folder),
    connect: () => openSqlite(sqliteFile(folder)),
    remove: async () => rmSync(folder, { recursive: true }),
    indexes: "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'recordings' AND sql IS NOT NULL",
    analyse: "SELECT 1",
  };
}

async function postgresPlace(): Promise<Place> {
  const server = await PostgresServer.start();
  const url = await server.newDatabase();
  return {
    open: () => openStore("", url),
    connect: async () => new SQL({ url, max: 1 }),
    remove: () => server.stop(),
    indexes:
      "SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE tablename = 'recordings' AND indexname <> 'recordings_pkey'",
    analyse: "VACUUM ANALYZE recordings",
  };
}

/** Writes the rows first and creates the indexes afterwards, which is faster. */
async function fill(sql: SQL, indexesOf: string, rows: number, rare: number): Promise<void> {
  const indexes: { sql: string; name: string }[] = await sql.unsafe(indexesOf);
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

/** Filters that match 1,000 recordings, in a store of any size. */
export const COMMON: Readonly<Record<string, RecordingFilter>> = {
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
};

/** A value that a quarter or a third of all recordings have, in the last `SPAN_ROWS` of them. */
export const SPAN_ROWS = 4000;
export const inSpan = (rows: number): Readonly<Record<string, RecordingFilter>> => {
  const startedAfter = BEGINNING + rows - SPAN_ROWS;
  return {
    "room (common), start": { room: hexId(2, 1), startedAfter },
    "username (common), start": { participantUsername: "user-1", startedAfter },
    "type (common), start": { type: "audio", startedAfter },
  };
};

/** Filters that read many recordings of a million: common values that never meet, wide time spans, values that very many have. */
export const RARE: Readonly<Record<string, RecordingFilter>> = {
  "room (250,000)": { room: hexId(2, 1) },
  "type (333,000)": { type: "audio" },
  "startedAfter (1,000,000)": { startedAfter: 0 },
  "room (250,000), username (250,000)": { room: hexId(2, 1), participantUsername: "user-2" },
  "room (250,000), type that never meets it": { room: hexId(2, 1), type: "composition" },
  "username (250,000), type that never meets it": { participantUsername: "user-1", type: "composition" },
  "room, username, type that never meet": { room: hexId(2, 1), participantUsername: "user-1", type: "composition" },
  "room (250,000), narrow start (4,000)": { room: hexId(2, 1), startedBefore: BEGINNING + 4000 },
  "narrow start (4,000, oldest)": { startedAfter: BEGINNING, startedBefore: BEGINNING + 4000 },
  "narrow start (4,000, newest)": { startedAfter: BEGINNING + 996_000 },
  "wide start (50,000, oldest)": { startedAfter: BEGINNING, startedBefore: BEGINNING + 50_000 },
  "wide start (50,000, newest)": { startedAfter: BEGINNING + 950_000 },
  "type (333,000), wide start (500,000)": { type: "audio", startedAfter: BEGINNING + 500_000 },
};

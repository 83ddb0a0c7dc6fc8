/**
 * Statistics for SQLite's planner about the indexes of recordings.
 *
 * Without statistics the planner considers all indexes equally good, and reads all recordings of a type to find those of a room. ANALYZE would have
 * to run again whenever the store has grown. So a typical distribution is written instead, and plans are the same in every installation
 * (https://sqlite.org/optoverview.html, "Manual Control Of Query Plans Using SQLITE_STAT Tables").
 */
import type { SQL } from "bun";

const ROWS = 1_000_000;

/** In the format of sqlite_stat1: how many rows have the same value in the first column, in the first two columns, and further on. */
const STATISTICS: Readonly<Record<string, readonly number[]>> = {
  recordings_order: [ROWS, 1],
  recordings_participant: [ROWS, 2, 1, 1, 1],
  recordings_meeting: [ROWS, 10, 1, 1, 1],
  recordings_username: [ROWS, 100, 1, 1, 1, 1],
  recordings_room: [ROWS, 1000, 1, 1, 1, 1],
  recordings_type: [ROWS, ROWS / 4, 1, 1],
  recordings_start: [ROWS, 2, 1, 1, 1, 1],
};

/** Written only where it differs: a store on a full disk must still open. */
export async function ensureStatistics(sql: SQL): Promise<void> {
  const wanted = Object.entries(STATISTICS).map(([index, rows]) => [index, [ROWS, ...rows].join(" ")] as const);
  const present = await readStatistics(sql);
  if (present.size === wanted.length && wanted.every(([index, stat]) => present.get(index) === stat)) return;
  // Creates the table sqlite_stat1, which is not possible in another way. With this limit it reads a few rows per index.
  await sql`PRAGMA analysis_limit = 1`;
  await sql`ANALYZE recordings`;
  await sql`DELETE FROM sqlite_stat1 WHERE tbl = 'recordings'`;
  for (const [index, stat] of wanted)
    await sql`INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('recordings', ${index}, ${stat})`;
  // Makes the planner read the table, as it does whenever the file is opened.
  await sql`ANALYZE sqlite_schema`;
}

async function readStatistics(sql: SQL): Promise<ReadonlyMap<string, string>> {
  const tables: unknown[] = await sql`SELECT name FROM sqlite_schema WHERE name = 'sqlite_stat1'`;
  if (tables.length === 0) return new Map();
  const rows: { idx: string; stat: string }[] = await sql`SELECT idx, stat FROM sqlite_stat1 WHERE tbl = 'recordings'`;
  return new Map(rows.map(({ idx, stat }) => [idx, stat]));
}

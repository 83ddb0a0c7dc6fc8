/** For tests: a database as an earlier version of Parley has left it. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SQL } from "bun";

const FOLDER = join(import.meta.dir, "../migrations");

/** Runs the first migrations on an empty database, and writes the application `old` with a room. */
export async function fillAsVersion(sql: SQL, version: number): Promise<void> {
  await sql`CREATE TABLE IF NOT EXISTS migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)`;
  for (const file of readdirSync(FOLDER).sort().slice(0, version)) {
    await sql.unsafe(readFileSync(join(FOLDER, file), "utf8"));
    await sql`INSERT INTO migrations (version, applied) VALUES (${Number(file.slice(0, 4))}, 1)`;
  }
  await sql`
    INSERT INTO apps (id, name, secret_sealed, secret_digest, plan_name, created)
    VALUES ('old', 'name-old', 'sealed', 'digest', 'default', 1800000000123)`;
  await sql`
    INSERT INTO rooms (id, app, name, fields, created, version) VALUES ('r', 'old', 'standup', '{}', 1, 1)`;
}

/** Rooms on SQL: each call is one statement, or reads of which each stands by itself. */
import type { SQL } from "bun";
import type { Database } from "./database.ts";
import type { RoomPage, RoomRow, RoomStore } from "./rooms.ts";
import { type DbRow, isUniqueViolation, sought, toRoom } from "./rows.ts";

export class SqlRooms implements RoomStore {
  constructor(private readonly database: Database) {}

  async room(app: string, name: string, nowMs: number): Promise<RoomRow | undefined> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        SELECT * FROM rooms WHERE app = ${app} AND name = ${sought(name)} AND archived IS NULL
          AND (archive_at IS NULL OR archive_at > ${nowMs})`,
    );
    return rows.map(toRoom)[0];
  }

  async roomById(app: string, id: string, nowMs: number): Promise<RoomRow | undefined> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        SELECT * FROM rooms WHERE id = ${sought(id)} AND app = ${app} AND archived IS NULL
          AND (archive_at IS NULL OR archive_at > ${nowMs})`,
    );
    return rows.map(toRoom)[0];
  }

  async rooms(app: string, nowMs: number): Promise<RoomRow[]> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        SELECT * FROM rooms WHERE app = ${app} AND archived IS NULL AND (archive_at IS NULL OR archive_at > ${nowMs})
        ORDER BY id DESC`,
    );
    return rows.map(toRoom);
  }

  roomPage(app: string, limit: number, endId: string | undefined, nowMs: number): Promise<RoomPage | undefined> {
    return this.database.run(async (sql) => {
      if (endId !== undefined && !(await everWas(sql, app, endId))) return undefined;
      // Ids are lower-case hex: "g" is behind them all.
      const rows: DbRow[] = await sql`
        SELECT * FROM rooms WHERE app = ${app} AND id < ${endId ?? "g"} AND archived IS NULL
          AND (archive_at IS NULL OR archive_at > ${nowMs})
        ORDER BY id DESC LIMIT ${limit}`;
      const counts: DbRow[] = await sql`
        SELECT COUNT(*) AS total FROM rooms WHERE app = ${app} AND archived IS NULL
          AND (archive_at IS NULL OR archive_at > ${nowMs})`;
      return { rows: rows.map(toRoom), total: Number(counts[0]?.total) };
    });
  }

  addRoom(row: RoomRow): Promise<"added" | "taken"> {
    return orTaken<"added">(async () => {
      await this.database.run(
        (sql) => sql`
          INSERT INTO rooms (id, app, name, fields, created, archive_at, archived, version)
          VALUES (${row.id}, ${row.app}, ${row.name}, ${JSON.stringify(row.fields)}, ${row.created}, ${row.archiveAt},
            ${null}, ${row.version})`,
      );
      return "added";
    });
  }

  replaceRoom(row: RoomRow): Promise<"replaced" | "taken" | "changed"> {
    return orTaken<"replaced" | "changed">(async () => {
      const rows: DbRow[] = await this.database.run(
        (sql) => sql`
          UPDATE rooms SET name = ${row.name}, fields = ${JSON.stringify(row.fields)}, archive_at = ${row.archiveAt},
            version = version + 1
          WHERE id = ${row.id} AND version = ${row.version} AND archived IS NULL RETURNING id`,
      );
      return rows.length > 0 ? "replaced" : "changed";
    });
  }

  async archiveRoom(app: string, name: string, nowMs: number): Promise<boolean> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        UPDATE rooms SET archived = ${nowMs}, version = version + 1
        WHERE app = ${app} AND name = ${sought(name)} AND archived IS NULL AND (archive_at IS NULL OR archive_at > ${nowMs})
        RETURNING id`,
    );
    return rows.length > 0;
  }

  async archiveDue(nowMs: number, limit: number): Promise<number> {
    // The outer condition decides: of two nodes that have found the same room, the second changes nothing.
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`
        UPDATE rooms SET archived = ${nowMs}, version = version + 1
        WHERE archived IS NULL AND archive_at <= ${nowMs} AND id IN (
          SELECT id FROM rooms WHERE archived IS NULL AND archive_at IS NOT NULL AND archive_at <= ${nowMs}
          ORDER BY archive_at LIMIT ${limit})
        RETURNING id`,
    );
    return rows.length;
  }

  async nextDue(): Promise<number | undefined> {
    const rows: DbRow[] = await this.database.run(
      (sql) => sql`SELECT MIN(archive_at) AS due FROM rooms WHERE archived IS NULL AND archive_at IS NOT NULL`,
    );
    return rows[0]?.due == null ? undefined : Number(rows[0].due);
  }
}

/** Archived ones too: a cursor stays good when its room goes. */
async function everWas(sql: SQL, app: string, id: string): Promise<boolean> {
  const rows: DbRow[] = await sql`SELECT id FROM rooms WHERE id = ${sought(id)} AND app = ${app}`;
  return rows.length > 0;
}

async function orTaken<T>(work: () => Promise<T>): Promise<T | "taken"> {
  try {
    return await work();
  } catch (error) {
    if (isUniqueViolation(error)) return "taken";
    throw error;
  }
}

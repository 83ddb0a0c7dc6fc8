/** Recordings and uploads on SQL. Lists are in sql-listing.ts. */
import type { Database } from "./database.ts";
import type {
  Completion,
  PageRequest,
  RecordingFilter,
  RecordingRow,
  RecordingStore,
  UploadRow,
} from "./recordings.ts";
import { type DbRow, searchable, toRecording, toUpload } from "./rows.ts";
import { RecordingLists } from "./sql-listing.ts";

export class SqlRecordings implements RecordingStore {
  private readonly lists: RecordingLists;

  constructor(private readonly database: Database) {
    this.lists = new RecordingLists(database);
  }

  addUpload(row: UploadRow, max: number): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      // Locks the application's counter first, so that a second node counts the upload that the first one adds.
      await tx`
        INSERT INTO recording_counters (app, last_seq, live) VALUES (${row.app}, 0, 0)
        ON CONFLICT (app) DO UPDATE SET live = recording_counters.live`;
      const open: DbRow[] = await tx`SELECT COUNT(*) AS n FROM uploads WHERE app = ${row.app} AND ended IS NULL`;
      if (Number(open[0]?.n) >= max) return false;
      await tx`
        INSERT INTO uploads (id, app, room, participant_session, meeting_session, participant_username, type,
          start_time, ticket, total, touched, ended, kept)
        VALUES (${row.id}, ${row.app}, ${row.room}, ${row.participantSession}, ${row.meetingSession},
          ${row.participantUsername}, ${row.type}, ${row.startTime}, ${row.ticket}, ${row.total}, ${row.touched}, ${null}, 0)`;
      return true;
    });
  }

  upload(app: string, id: string): Promise<UploadRow | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT * FROM uploads WHERE id = ${searchable(id)} AND app = ${app} AND ended IS NULL`;
      return rows.map(toUpload)[0];
    });
  }

  touchUpload(id: string, generation: number, total: number | null, nowMs: number): Promise<UploadRow | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        UPDATE uploads SET touched = ${nowMs}, total = COALESCE(NULLIF(total, 0), ${total}, total)
        WHERE id = ${id} AND generation = ${generation} AND ended IS NULL
          AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
        RETURNING *`;
      return rows.map(toUpload)[0];
    });
  }

  moveUpload(id: string, generation: number, ticket: string): Promise<boolean> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        UPDATE uploads SET ticket = ${ticket}
        WHERE id = ${id} AND generation = ${generation} AND ended IS NULL
          AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
        RETURNING id`;
      return rows.length > 0;
    });
  }

  complete(id: string, generation: number, made: Completion): Promise<RecordingRow | undefined> {
    return this.database.transaction(async (tx) => {
      const uploads: DbRow[] = await tx`
        DELETE FROM uploads WHERE id = ${id} AND generation = ${generation} AND ended IS NULL
          AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
        RETURNING *`;
      const [upload] = uploads.map(toUpload);
      if (!upload) return undefined;
      const counters: DbRow[] = await tx`
        UPDATE recording_counters SET last_seq = last_seq + 1, live = live + 1, bytes = bytes + ${made.sizeInBytes}
        WHERE app = ${upload.app}
        RETURNING last_seq`;
      const rows: DbRow[] = await tx`
        INSERT INTO recordings (id, app, seq, room, participant_session, meeting_session, participant_username, type,
          start_time, end_time, file_name, format, size_in_bytes, completed)
        VALUES (${id}, ${upload.app}, ${Number(counters[0]?.last_seq)}, ${upload.room}, ${upload.participantSession},
          ${upload.meetingSession}, ${upload.participantUsername}, ${upload.type}, ${upload.startTime}, ${made.endTime},
          ${made.fileName}, ${made.format}, ${made.sizeInBytes}, ${made.completed})
        RETURNING *`;
      return rows.map(toRecording)[0];
    });
  }

  endUpload(
    id: string,
    nowMs: number,
    touchedBy = Number.MAX_SAFE_INTEGER,
    generation: number | null = null,
  ): Promise<boolean> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        UPDATE uploads SET ended = ${nowMs} WHERE id = ${id} AND ended IS NULL AND touched < ${touchedBy}
          AND generation = COALESCE(${generation}, generation) RETURNING id`;
      return rows.length > 0;
    });
  }

  uploadsTouchedBefore(ms: number, limit: number): Promise<UploadRow[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT * FROM uploads WHERE ended IS NULL AND touched < ${ms} ORDER BY touched LIMIT ${limit}`;
      return rows.map(toUpload);
    });
  }

  endedUploads(limit: number, skipped = 0): Promise<UploadRow[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT * FROM uploads WHERE ended IS NOT NULL ORDER BY ended, id LIMIT ${limit} OFFSET ${skipped}`;
      return rows.map(toUpload);
    });
  }

  hasRecordings(): Promise<boolean> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT app FROM recording_counters WHERE live > 0 LIMIT 1`;
      return rows.length > 0;
    });
  }

  forgetUpload(id: string): Promise<void> {
    return this.database.run(async (sql) => {
      await sql`DELETE FROM uploads WHERE id = ${id} AND ended IS NOT NULL`;
    });
  }

  recording(app: string, id: string): Promise<RecordingRow | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT * FROM recordings WHERE id = ${searchable(id)} AND app = ${app}`;
      return rows.map(toRecording)[0];
    });
  }

  seqOf(app: string, id: string): Promise<number | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT seq FROM recordings WHERE id = ${searchable(id)} AND app = ${app}
        UNION ALL SELECT seq FROM deleted_recordings WHERE id = ${searchable(id)} AND app = ${app}`;
      return rows[0] === undefined ? undefined : Number(rows[0].seq);
    });
  }

  page(app: string, wanted: PageRequest): Promise<RecordingRow[]> {
    return this.lists.page(app, wanted);
  }

  totalOf(app: string, filter: RecordingFilter): Promise<number> {
    return this.lists.totalOf(app, filter);
  }

  lastSeq(app: string): Promise<number> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT last_seq FROM recording_counters WHERE app = ${app}`;
      return Number(rows[0]?.last_seq ?? 0);
    });
  }

  stored(app: string): Promise<{ recordings: number; bytes: number }> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT live, bytes FROM recording_counters WHERE app = ${app}`;
      return { recordings: Number(rows[0]?.live ?? 0), bytes: Number(rows[0]?.bytes ?? 0) };
    });
  }

  recount(): Promise<void> {
    return this.database.transaction(async (tx) => {
      // Locks all counters first, so that recordings completed meanwhile are either counted below or wait.
      await tx`UPDATE recording_counters SET bytes = 0`;
      await tx`
        UPDATE recording_counters
        SET bytes = COALESCE((SELECT SUM(r.size_in_bytes) FROM recordings r WHERE r.app = recording_counters.app), 0)`;
    });
  }

  deleteRecordings(app: string, ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return Promise.resolve([]);
    return this.database.transaction(async (tx) => {
      const rows: DbRow[] = await tx`
        DELETE FROM recordings WHERE app = ${app} AND id IN ${tx(ids)} RETURNING id, seq, size_in_bytes`;
      const bytes = rows.reduce((sum, row) => sum + Number(row.size_in_bytes), 0);
      for (const { id, seq } of rows)
        await tx`
          INSERT INTO deleted_recordings (id, app, seq, removed) VALUES (${String(id)}, ${app}, ${Number(seq)}, ${null})`;
      if (rows.length > 0)
        await tx`
          UPDATE recording_counters SET live = live - ${rows.length}, bytes = bytes - ${bytes} WHERE app = ${app}`;
      return rows.map(({ id }) => String(id));
    });
  }

  deletedRecordings(limit: number): Promise<{ app: string; id: string }[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT app, id FROM deleted_recordings WHERE removed IS NULL ORDER BY id LIMIT ${limit}`;
      return rows.map(({ app, id }) => ({ app: String(app), id: String(id) }));
    });
  }

  markRemoved(ids: readonly string[], nowMs: number): Promise<void> {
    if (ids.length === 0) return Promise.resolve();
    return this.database.run(async (sql) => {
      await sql`UPDATE deleted_recordings SET removed = ${nowMs} WHERE id IN ${sql(ids)}`;
    });
  }

  knownIds(ids: readonly string[]): Promise<ReadonlyMap<string, "upload" | "recording">> {
    if (ids.length === 0) return Promise.resolve(new Map());
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT id, 1 AS is_whole FROM recordings WHERE id IN ${sql(ids)}
        UNION ALL SELECT id, 0 AS is_whole FROM uploads WHERE id IN ${sql(ids)}`;
      return new Map(rows.map((row) => [String(row.id), Number(row.is_whole) === 1 ? "recording" : "upload"]));
    });
  }

  deletedApps(): Promise<string[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT a.id FROM apps a WHERE a.deleted IS NOT NULL AND (
          EXISTS (SELECT 1 FROM recording_counters c WHERE c.app = a.id AND c.live > 0)
          OR EXISTS (SELECT 1 FROM uploads u WHERE u.app = a.id AND u.ended IS NULL))`;
      return rows.map(({ id }) => String(id));
    });
  }

  uploadsOf(app: string): Promise<UploadRow[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT * FROM uploads WHERE app = ${app} AND ended IS NULL`;
      return rows.map(toUpload);
    });
  }

  roomIdOf(app: string, idOrName: string): Promise<string | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT id FROM rooms WHERE id = ${searchable(idOrName)} AND app = ${app}
        UNION ALL SELECT id FROM rooms WHERE name = ${searchable(idOrName)} AND app = ${app} AND archived IS NULL`;
      // An id takes precedence, in whatever order the database returns the rows.
      const ids = rows.map(({ id }) => String(id));
      return ids.find((id) => id === idOrName) ?? ids[0];
    });
  }

  async roomNames(app: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT id, name FROM rooms WHERE app = ${app} AND id IN ${sql(ids)}`;
      return new Map(rows.map(({ id, name }) => [String(id), String(name)]));
    });
  }
}

/** Recordings on SQL. Lists are in listing.ts, uploads in uploads.ts. */
import type { SQL } from "bun";
import type { FairQueue } from "../../../base/fair-queue.ts";
import type { AppId } from "../../../base/ids.ts";
import type {
  Completion,
  PageRequest,
  RecordingFilter,
  RecordingRow,
  RecordingStore,
  Stored,
} from "../../contract/recordings.ts";
import { GUEST_RECORDING_MIN_BYTES as LEAST } from "../../contract/uploads.ts";
import type { Database } from "../../engines/database.ts";
import { appId, type DbRow, searchable, toRecording, toUpload } from "../../engines/rows.ts";
import { Outbox } from "../webhooks/outbox.ts";
import { extrasOf, removeExtras } from "./extra-rows.ts";
import { SqlRecordingExtras } from "./extras.ts";
import { RecordingLists } from "./listing.ts";
import { addFileToRemove } from "./uploads.ts";

export class SqlRecordings extends SqlRecordingExtras implements RecordingStore {
  private readonly lists: RecordingLists;

  constructor(
    database: Database,
    queue: FairQueue,
    private readonly outbox = new Outbox(database.isShared),
  ) {
    super(database);
    this.lists = new RecordingLists(database, undefined, queue);
  }

  complete(id: string, generation: number, made: Completion): Promise<RecordingRow | undefined> {
    return this.changing(
      id,
      this.database.transaction(async (tx) => {
        const uploads: DbRow[] = await tx`
          DELETE FROM uploads WHERE id = ${id} AND generation = ${generation} AND ended IS NULL
            AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
          RETURNING *`;
        const [upload] = uploads.map(toUpload);
        if (!upload) return undefined;
        const extras = await extrasOf(tx, id);
        const bytes = made.sizeInBytes + extras.bytes;
        const guestBytes = upload.byGuest ? Math.max(bytes, LEAST) : 0;
        const counters: DbRow[] = await tx`
          UPDATE recording_counters SET last_seq = last_seq + 1, live = live + 1, bytes = bytes + ${bytes},
            guest_bytes = guest_bytes + ${guestBytes}
          WHERE app = ${upload.app}
          RETURNING last_seq`;
        const rows: DbRow[] = await tx`
          INSERT INTO recordings (id, app, seq, room, participant_session, meeting_session, participant_username, type,
            start_time, end_time, file_name, format, size_in_bytes, completed, file, mended, by_guest,
            started_ms, extra_bytes, has_thumbnail, speech_ms)
          VALUES (${id}, ${upload.app}, ${Number(counters[0]?.last_seq)}, ${upload.room}, ${upload.participantSession},
            ${upload.meetingSession}, ${upload.participantUsername}, ${upload.type}, ${upload.startTime}, ${made.endTime},
            ${made.fileName}, ${made.format}, ${made.sizeInBytes}, ${made.completed}, ${made.file ?? null},
            ${made.mended === undefined ? null : Number(made.mended)}, ${upload.byGuest ? 1 : 0},
            ${upload.startedMs}, ${extras.bytes}, ${extras.hasThumbnail ? 1 : 0}, ${extras.speechMs})
          RETURNING *, (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = ${upload.app}) AS is_hooked`;
        await this.tell(tx, "recording.ready", rows, made.completed);
        // The file of the upload, if the recording has another one; else the file that mending has begun.
        const unused = made.file === undefined ? upload.mendedAs : upload.id;
        if (unused !== null) await addFileToRemove(tx, upload.app, unused);
        if (made.file !== undefined && upload.mendedAs !== null && upload.mendedAs !== made.file)
          await addFileToRemove(tx, upload.app, upload.mendedAs);
        return rows.map(toRecording)[0];
      }),
    );
  }

  hasRecordings(): Promise<boolean> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT app FROM recording_counters WHERE live > 0 LIMIT 1`;
      return rows.length > 0;
    });
  }

  recording(app: AppId, id: string): Promise<RecordingRow | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT * FROM recordings WHERE id = ${searchable(id)} AND app = ${app}`;
      return rows.map(toRecording)[0];
    });
  }

  seqOf(app: AppId, id: string): Promise<number | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT seq FROM recordings WHERE id = ${searchable(id)} AND app = ${app}
        UNION ALL SELECT seq FROM deleted_recordings WHERE id = ${searchable(id)} AND app = ${app}`;
      return rows[0] === undefined ? undefined : Number(rows[0].seq);
    });
  }

  page(app: AppId, wanted: PageRequest): Promise<RecordingRow[]> {
    return this.lists.page(app, wanted);
  }

  totalOf(app: AppId, filter: RecordingFilter): Promise<number> {
    return this.lists.totalOf(app, filter);
  }

  lastSeq(app: AppId): Promise<number> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT last_seq FROM recording_counters WHERE app = ${app}`;
      return Number(rows[0]?.last_seq ?? 0);
    });
  }

  stored(app: AppId): Promise<Stored> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT live, bytes,
          (SELECT COALESCE(SUM(u.bytes), 0) FROM uploads u WHERE u.app = ${app} AND u.ended IS NULL) AS uploading
        FROM recording_counters WHERE app = ${app}`;
      const { live = 0, bytes = 0, uploading = 0 } = rows[0] ?? {};
      return { recordings: Number(live), bytes: Number(bytes), uploading: Number(uploading) };
    });
  }

  recount(): Promise<void> {
    return this.database.transaction(async (tx) => {
      // Locks all counters first, so that recordings completed meanwhile are either counted below or wait.
      await tx`UPDATE recording_counters SET bytes = 0, guest_bytes = 0`;
      await tx`
        UPDATE recording_counters
        SET bytes = COALESCE((SELECT SUM(r.size_in_bytes + r.extra_bytes) FROM recordings r WHERE r.app = recording_counters.app), 0),
          guest_bytes = COALESCE((
            SELECT SUM(r.by_guest * CASE WHEN r.size_in_bytes + r.extra_bytes < ${LEAST} THEN ${LEAST}
              ELSE r.size_in_bytes + r.extra_bytes END) FROM recordings r WHERE r.app = recording_counters.app), 0)`;
    });
  }

  deleteRecordings(app: AppId, ids: readonly string[], nowMs: number = this.outbox.nowMs()): Promise<string[]> {
    if (ids.length === 0) return Promise.resolve([]);
    return this.database.transaction(async (tx) => {
      const rows: DbRow[] = await tx`
        DELETE FROM recordings WHERE app = ${app} AND id IN ${tx(ids)}
        RETURNING *, (SELECT COUNT(*) FROM webhook_apps w WHERE w.app = ${app}) AS is_hooked`;
      const bytesOf = (row: DbRow): number => Number(row.size_in_bytes) + Number(row.extra_bytes);
      const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0);
      const guestBytes = rows.reduce((sum, row) => sum + Math.max(bytesOf(row), LEAST) * Number(row.by_guest), 0);
      await removeExtras(
        tx,
        rows.map(({ id }) => String(id)),
      );
      for (const { id, seq, file } of rows) {
        await tx`
          INSERT INTO deleted_recordings (id, app, seq, removed) VALUES (${String(id)}, ${app}, ${Number(seq)}, ${null})`;
        if (file != null) await addFileToRemove(tx, app, String(file));
      }
      if (rows.length > 0)
        await tx`
          UPDATE recording_counters
          SET live = live - ${rows.length}, bytes = bytes - ${bytes}, guest_bytes = guest_bytes - ${guestBytes}
          WHERE app = ${app}`;
      await this.tell(tx, "recording.deleted", rows, nowMs);
      return rows.map(({ id }) => String(id));
    });
  }

  private tell(
    tx: SQL,
    type: "recording.ready" | "recording.deleted",
    rows: readonly DbRow[],
    happened: number,
  ): Promise<void> {
    const events = rows
      .filter((row) => Number(row.is_hooked) === 1)
      .map(toRecording)
      .map((recording) => ({
        app: recording.app,
        subject: recording.id,
        happened,
        webhook: null,
        fact: { type, recording },
      }));
    return this.outbox.add(tx, ...events);
  }

  deletedRecordings(limit: number): Promise<{ app: AppId; id: string }[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT app, id FROM deleted_recordings WHERE removed IS NULL ORDER BY id LIMIT ${limit}`;
      return rows.map(({ app, id }) => ({ app: appId(app), id: String(id) }));
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
        SELECT id, 0 AS is_whole FROM uploads WHERE id IN ${sql(ids)}
        UNION ALL SELECT mended_as AS id, 0 AS is_whole FROM uploads WHERE mended_as IN ${sql(ids)}
        UNION ALL SELECT id, 0 AS is_whole FROM files_to_remove WHERE id IN ${sql(ids)}
        UNION ALL SELECT file AS id, 1 AS is_whole FROM recordings WHERE file IN ${sql(ids)}
        UNION ALL SELECT id, 1 AS is_whole FROM recordings WHERE id IN ${sql(ids)}`;
      return new Map(rows.map((row) => [String(row.id), Number(row.is_whole) === 1 ? "recording" : "upload"]));
    });
  }

  deletedApps(): Promise<AppId[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT a.id FROM apps a WHERE a.deleted IS NOT NULL AND (
          EXISTS (SELECT 1 FROM recording_counters c WHERE c.app = a.id AND c.live > 0)
          OR EXISTS (SELECT 1 FROM uploads u WHERE u.app = a.id AND u.ended IS NULL))`;
      return rows.map(({ id }) => appId(id));
    });
  }

  roomIdOf(app: AppId, idOrName: string): Promise<string | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT id FROM rooms WHERE id = ${searchable(idOrName)} AND app = ${app}
        UNION ALL SELECT id FROM rooms WHERE name = ${searchable(idOrName)} AND app = ${app} AND archived IS NULL`;
      // An id takes precedence, in whatever order the database returns the rows.
      const ids = rows.map(({ id }) => String(id));
      return ids.find((id) => id === idOrName) ?? ids[0];
    });
  }

  async roomNames(app: AppId, ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (ids.length === 0) return new Map();
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT id, name FROM rooms WHERE app = ${app} AND id IN ${sql(ids)}`;
      return new Map(rows.map(({ id, name }) => [String(id), String(name)]));
    });
  }
}

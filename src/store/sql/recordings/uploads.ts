/** Uploads on SQL. */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import {
  type BytesUsed,
  type FilePlace,
  GUEST_RECORDING_MIN_BYTES as LEAST,
  type StayUploadRow,
  type UploadRow,
  type UploadStore,
  type WaitingUpload,
} from "../../contract/uploads.ts";
import type { Database } from "../../engines/database.ts";
import { appId, type DbRow, searchable, toUpload } from "../../engines/rows.ts";
import { removeExtras } from "./extra-rows.ts";
import { UploadCache } from "./upload-cache.ts";

export class SqlUploads implements UploadStore {
  private readonly cache: UploadCache | undefined;

  constructor(protected readonly database: Database) {
    this.cache = database.isShared ? undefined : new UploadCache();
  }

  /** Everything that changes or removes the row of an upload goes through this. */
  protected async changing<T>(id: string, change: Promise<T>): Promise<T> {
    try {
      return await change;
    } finally {
      this.cache?.drop(id);
    }
  }

  /** A lease has changed the row. */
  forget(id: string): void {
    this.cache?.drop(id);
  }

  /** People were removed: what is said of their uploads may be another thing now. */
  forgetAll(): void {
    this.cache?.clear();
  }

  addUpload(row: UploadRow, max: number): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      await lockCounter(tx, row.app);
      const open: DbRow[] = await tx`
        SELECT COUNT(*) AS n FROM uploads WHERE app = ${row.app} AND ended IS NULL AND stay IS NULL`;
      if (Number(open[0]?.n) >= max) return false;
      await insertUpload(tx, row);
      return true;
    });
  }

  addStayUpload(row: StayUploadRow, max: number): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      await lockCounter(tx, row.app);
      const open: DbRow[] = await tx`
        SELECT COUNT(*) AS n FROM uploads
        WHERE stay = ${row.stay} AND app = ${row.app} AND ended IS NULL AND finished IS NULL`;
      if (Number(open[0]?.n) >= max) return false;
      await insertUpload(tx, row);
      return true;
    });
  }

  async upload(app: AppId, id: string): Promise<UploadRow | undefined> {
    const cached = this.cache?.get(app, id);
    if (cached) return cached;
    const epoch = this.cache?.epoch;
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT u.*, (SELECT COUNT(*) FROM barred_stays b WHERE b.id = u.stay) AS is_closed,
          (SELECT s.ended FROM stays s WHERE s.id = u.stay) AS stay_ended
        FROM uploads u WHERE u.id = ${searchable(id)} AND u.app = ${app} AND u.ended IS NULL`;
      const [row] = rows.map(toUpload);
      // Read before people were removed, it must not be found later.
      if (row && epoch === this.cache?.epoch) this.cache?.set(row);
      return row;
    });
  }

  touchUpload(id: string, generation: number, total: number | null, nowMs: number): Promise<UploadRow | undefined> {
    return this.changing(
      id,
      this.database.run(async (sql) => {
        const rows: DbRow[] = await sql`
          UPDATE uploads SET touched = ${nowMs}, total = COALESCE(NULLIF(total, 0), ${total}, total)
          WHERE id = ${id} AND generation = ${generation} AND ended IS NULL AND finished IS NULL
            AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
          RETURNING *`;
        return rows.map(toUpload)[0];
      }),
    );
  }

  noteBytes(id: string, generation: number, bytes: number, nowMs: number): Promise<boolean> {
    return this.changing(
      id,
      this.database.run(async (sql) => {
        const rows: DbRow[] = await sql`
          UPDATE uploads SET touched = ${nowMs}, bytes = ${bytes}
          WHERE id = ${id} AND generation = ${generation} AND ended IS NULL AND finished IS NULL
            AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
          RETURNING id`;
        return rows.length > 0;
      }),
    );
  }

  moveUpload(id: string, generation: number, locator: string): Promise<boolean> {
    return this.changing(
      id,
      this.database.run(async (sql) => {
        const rows: DbRow[] = await sql`
          UPDATE uploads SET ticket = ${locator}
          WHERE id = ${id} AND generation = ${generation} AND ended IS NULL
            AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
          RETURNING id`;
        return rows.length > 0;
      }),
    );
  }

  finish(id: string, generation: number, size: number, nowMs: number): Promise<UploadRow | undefined> {
    return this.changing(
      id,
      this.database.run(async (sql) => {
        const rows: DbRow[] = await sql`
          UPDATE uploads SET finished = ${nowMs}, total = ${size}, bytes = ${size}
          WHERE id = ${id} AND generation = ${generation} AND ended IS NULL AND finished IS NULL
            AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
          RETURNING *`;
        return rows.map(toUpload)[0];
      }),
    );
  }

  finishedUploads(limit: number): Promise<WaitingUpload[]> {
    return this.database.run(async (sql) => {
      // Ranked without the other columns: very many may wait, and whole rows take twice as long to sort.
      const rows: DbRow[] = await sql`
        WITH waiting AS (
          SELECT u.id, u.app, u.room, u.sender, u.stay, u.finished,
            ROW_NUMBER() OVER (PARTITION BY u.app, u.stay ORDER BY u.finished, u.id) AS of_stay
          FROM uploads u WHERE u.finished IS NOT NULL AND u.ended IS NULL
        ), senders AS (
          SELECT s.id, s.app, s.room, s.finished, s.of_stay, ROW_NUMBER() OVER (
            PARTITION BY s.app, COALESCE(s.sender, s.stay) ORDER BY s.of_stay, s.finished, s.id) AS of_sender
          FROM waiting s
        ), alternating AS (
          SELECT n.id, n.finished, n.of_stay,
            ROW_NUMBER() OVER (PARTITION BY n.app, n.room ORDER BY n.of_sender, n.finished, n.id) AS of_room,
            ROW_NUMBER() OVER (PARTITION BY n.app ORDER BY n.of_sender, n.finished, n.id) AS of_app
          FROM senders n
        ), first_waiting AS (
          SELECT * FROM alternating ORDER BY of_app, finished, id LIMIT ${limit}
        )
        SELECT u.*, t.of_stay, t.of_room FROM first_waiting t JOIN uploads u ON u.id = t.id
        ORDER BY t.of_app, t.finished, t.id`;
      return rows.map((row) => ({
        ...toUpload(row),
        nthOfStay: Number(row.of_stay),
        nthOfRoom: Number(row.of_room),
      }));
    });
  }

  noteMending(id: string, generation: number, mendedAs: string): Promise<UploadRow | undefined> {
    return this.changing(
      id,
      this.database.transaction(async (tx) => {
        const before: DbRow[] = await tx`SELECT app, mended_as FROM uploads WHERE id = ${id}`;
        const rows: DbRow[] = await tx`
          UPDATE uploads SET mended_as = ${mendedAs}, tries = tries + 1
          WHERE id = ${id} AND generation = ${generation} AND ended IS NULL AND finished IS NOT NULL
            AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
          RETURNING *`;
        const [row] = rows.map(toUpload);
        const earlier = before[0]?.mended_as;
        if (row && earlier != null && earlier !== mendedAs) await addFileToRemove(tx, row.app, String(earlier));
        return row;
      }),
    );
  }

  dueStayUploads(endedBeforeMs: number, limit: number, touchedBeforeMs = 0, after = ""): Promise<UploadRow[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT u.* FROM uploads u LEFT JOIN stays s ON s.id = u.stay
        WHERE u.stay IS NOT NULL AND u.ended IS NULL AND u.finished IS NULL AND u.id > ${after}
          AND (s.id IS NULL OR s.ended < ${endedBeforeMs} OR u.touched < ${touchedBeforeMs}
            OR EXISTS (SELECT 1 FROM barred_stays b WHERE b.id = u.stay))
        ORDER BY u.id LIMIT ${limit}`;
      return rows.map(toUpload);
    });
  }

  openUploadsOfStay(app: AppId, stay: string): Promise<UploadRow[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT * FROM uploads WHERE stay = ${stay} AND app = ${app} AND ended IS NULL AND finished IS NULL ORDER BY id`;
      return rows.map(toUpload);
    });
  }

  bytesUsed(app: AppId, stay: string | null): Promise<BytesUsed> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT a.max_recording_bytes_total AS max_of_app, o.uploads_of_stays, o.uploads_of_guests,
          (SELECT COALESCE(SUM(c.bytes), 0) FROM recording_counters c WHERE c.app = a.id) + o.bytes AS of_app,
          (SELECT COALESCE(SUM(c.guest_bytes), 0) FROM recording_counters c WHERE c.app = a.id) + o.guest_bytes AS of_guests,
          (SELECT COALESCE(SUM(u.bytes), 0) FROM uploads u
              WHERE u.stay = ${stay ?? ""} AND u.app = a.id AND u.ended IS NULL)
            + (SELECT COALESCE(SUM(r.size_in_bytes), 0) FROM recordings r
              WHERE r.app = a.id AND r.participant_session = ${stay ?? ""} AND r.mended IS NOT NULL) AS of_stay,
          (SELECT COUNT(*) FROM uploads u WHERE u.stay = ${stay ?? ""} AND u.app = a.id AND u.ended IS NULL)
            + (SELECT COUNT(*) FROM recordings r
              WHERE r.app = a.id AND r.participant_session = ${stay ?? ""} AND r.mended IS NOT NULL) AS count_of_stay
        FROM apps a CROSS JOIN (
          SELECT COALESCE(SUM(u.bytes), 0) AS bytes, COUNT(u.stay) AS uploads_of_stays,
            COALESCE(SUM(u.by_guest * CASE WHEN u.bytes < ${LEAST} THEN ${LEAST} ELSE u.bytes END), 0) AS guest_bytes,
            COALESCE(SUM(u.by_guest), 0) AS uploads_of_guests
          FROM uploads u WHERE u.app = ${app} AND u.ended IS NULL) AS o
        WHERE a.id = ${app}`;
      const used = rows[0];
      return {
        maxOfApp: Number(used?.max_of_app ?? 0),
        ofApp: Number(used?.of_app ?? 0),
        ofGuests: Number(used?.of_guests ?? 0),
        uploadsOfStays: Number(used?.uploads_of_stays ?? 0),
        uploadsOfGuests: Number(used?.uploads_of_guests ?? 0),
        ofStay: Number(used?.of_stay ?? 0),
        countOfStay: Number(used?.count_of_stay ?? 0),
      };
    });
  }

  discardUpload(
    id: string,
    nowMs: number,
    touchedBy = Number.MAX_SAFE_INTEGER,
    generation: number | null = null,
  ): Promise<boolean> {
    return this.changing(
      id,
      this.database.transaction(async (tx) => {
        const rows: DbRow[] = await tx`
          UPDATE uploads SET ended = ${nowMs} WHERE id = ${id} AND ended IS NULL AND touched < ${touchedBy}
            AND generation = COALESCE(${generation}, generation) RETURNING *`;
        const [row] = rows.map(toUpload);
        if (!row) return false;
        await removeExtras(tx, [row.id]);
        // A finished file would be treated as a stray, because it may be that of a recording which a restored backup does not know.
        if (row.finished !== null) await addFileToRemove(tx, row.app, row.id);
        if (row.mendedAs !== null) await addFileToRemove(tx, row.app, row.mendedAs);
        return true;
      }),
    );
  }

  uploadsTouchedBefore(ms: number, limit: number): Promise<UploadRow[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT * FROM uploads WHERE ended IS NULL AND stay IS NULL AND touched < ${ms} ORDER BY touched LIMIT ${limit}`;
      return rows.map(toUpload);
    });
  }

  discardedUploads(limit: number, skipped = 0): Promise<UploadRow[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT * FROM uploads WHERE ended IS NOT NULL ORDER BY ended, id LIMIT ${limit} OFFSET ${skipped}`;
      return rows.map(toUpload);
    });
  }

  forgetUpload(id: string): Promise<void> {
    return this.changing(
      id,
      this.database.run(async (sql) => {
        await sql`DELETE FROM uploads WHERE id = ${id} AND ended IS NOT NULL`;
      }),
    );
  }

  uploadsOf(app: AppId): Promise<UploadRow[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`SELECT * FROM uploads WHERE app = ${app} AND ended IS NULL`;
      return rows.map(toUpload);
    });
  }

  filesToRemove(limit: number, after = ""): Promise<FilePlace[]> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT app, id FROM files_to_remove WHERE id > ${after} ORDER BY id LIMIT ${limit}`;
      return rows.map(({ app, id }) => ({ app: appId(app), id: String(id) }));
    });
  }

  fileRemoved(app: AppId, id: string): Promise<void> {
    return this.database.run(async (sql) => {
      await sql`DELETE FROM files_to_remove WHERE app = ${app} AND id = ${id}`;
    });
  }
}

export async function addFileToRemove(tx: SQL, app: AppId, id: string): Promise<void> {
  await tx`INSERT INTO files_to_remove (app, id) VALUES (${app}, ${id}) ON CONFLICT (app, id) DO NOTHING`;
}

/** Locked before uploads are counted, so that a second node counts the upload that the first one adds. */
async function lockCounter(tx: SQL, app: AppId): Promise<void> {
  await tx`
    INSERT INTO recording_counters (app, last_seq, live) VALUES (${app}, 0, 0)
    ON CONFLICT (app) DO UPDATE SET live = recording_counters.live`;
}

async function insertUpload(tx: SQL, row: UploadRow): Promise<void> {
  await tx`
    INSERT INTO uploads (id, app, room, participant_session, meeting_session, participant_username, type, start_time,
      ticket, total, touched, ended, kept, stay, source, sender, by_guest, started_ms)
    VALUES (${row.id}, ${row.app}, ${row.room}, ${row.participantSession}, ${row.meetingSession},
      ${row.participantUsername}, ${row.type}, ${row.startTime}, ${row.locator}, ${row.total}, ${row.touched}, ${null}, 0,
      ${row.stay}, ${row.source}, ${row.sender}, ${row.byGuest ? 1 : 0}, ${row.startedMs})`;
}

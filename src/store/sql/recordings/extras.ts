/** What belongs to recordings beside their files, on SQL. Binary values are base64: a move between databases copies texts and numbers. */
import type { SQL } from "bun";
import type { AppId } from "../../../base/ids.ts";
import type { RecordingExtraStore } from "../../contract/recording-extras.ts";
import { type DbRow, searchable } from "../../engines/rows.ts";
import { SqlUploads } from "./uploads.ts";

export class SqlRecordingExtras extends SqlUploads implements RecordingExtraStore {
  putThumbnail(app: AppId, upload: string, jpeg: Uint8Array): Promise<boolean> {
    const text = Buffer.from(jpeg).toString("base64");
    return this.putting(
      app,
      upload,
      (tx) => tx`
        INSERT INTO recording_extras (id, app, thumbnail) VALUES (${upload}, ${app}, ${text})
        ON CONFLICT (id) DO UPDATE SET thumbnail = excluded.thumbnail`,
    );
  }

  putSpeech(app: AppId, upload: string, intervals: string, totalMs: number): Promise<boolean> {
    return this.putting(
      app,
      upload,
      (tx) => tx`
        INSERT INTO recording_extras (id, app, speech, speech_ms) VALUES (${upload}, ${app}, ${intervals}, ${totalMs})
        ON CONFLICT (id) DO UPDATE SET speech = excluded.speech, speech_ms = excluded.speech_ms`,
    );
  }

  private putting(app: AppId, upload: string, write: (tx: SQL) => Promise<unknown>): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      // Changes nothing, and locks the row: the upload cannot become a recording between the two statements.
      const open: DbRow[] = await tx`
        UPDATE uploads SET tries = tries WHERE id = ${upload} AND app = ${app} AND ended IS NULL AND finished IS NULL
          AND EXISTS (SELECT 1 FROM apps a WHERE a.id = uploads.app AND a.deleted IS NULL)
        RETURNING id`;
      if (open.length > 0) await write(tx);
      return open.length > 0;
    });
  }

  thumbnail(app: AppId, recording: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT e.thumbnail FROM recording_extras e JOIN recordings r ON r.id = e.id
        WHERE e.id = ${searchable(recording)} AND r.app = ${app} AND e.thumbnail IS NOT NULL`;
      return rows[0] === undefined ? undefined : new Uint8Array(Buffer.from(String(rows[0].thumbnail), "base64"));
    });
  }

  speech(app: AppId, recordings: readonly string[]): Promise<ReadonlyMap<string, string>> {
    if (recordings.length === 0) return Promise.resolve(new Map());
    return this.database.run(async (sql) => {
      const rows: DbRow[] = await sql`
        SELECT e.id, e.speech FROM recording_extras e JOIN recordings r ON r.id = e.id
        WHERE e.id IN ${sql(recordings.map(searchable))} AND r.app = ${app} AND e.speech IS NOT NULL`;
      return new Map(rows.map(({ id, speech }) => [String(id), String(speech)]));
    });
  }
}

/**
 * Which files of recordings a backup needs: those that the rows of its store name. They are read from the copy of the store, so that files and rows
 * are of the same moment. Columns that an earlier schema does not have are left out.
 */
import { Database } from "bun:sqlite";
import { asAppId } from "../../base/ids.ts";
import type { Place } from "../../recordings/storage/storage.ts";
import type { Store } from "../../store/contract/store.ts";

export interface ListedFile {
  readonly kind: "recording" | "upload";
  readonly place: Place;
  /** What the row says; an upload may have more by now. */
  readonly bytes: number;
}

/** Rows that are read at once. */
const PAGE_ROWS = 500;

interface RecordingRow {
  readonly id: string;
  readonly app: string;
  readonly file: string | null;
  readonly bytes: number;
}

interface UploadRow {
  readonly id: string;
  readonly app: string;
  readonly ticket: string;
  readonly bytes: number;
}

/** The files of a copy of the embedded store. */
export function* filesInCopy(path: string): Generator<ListedFile> {
  using db = new Database(path, { readonly: true });
  const has = columnsOf(db);
  // Schemas before 4 have no recordings.
  if (!has("recordings", "id")) return;
  const file = has("recordings", "file") ? "file" : "NULL";
  const recordings = db.query<RecordingRow, [string]>(
    `SELECT id, app, ${file} AS file, size_in_bytes AS bytes FROM recordings WHERE id > ? ORDER BY id LIMIT ${PAGE_ROWS}`,
  );
  for (const { id, app, file, bytes } of inPages(recordings))
    yield { kind: "recording", place: { app: asAppId(app), id: file ?? id, locator: "" }, bytes };
  const noted = has("uploads", "bytes") ? "bytes" : "0";
  const uploads = db.query<UploadRow, [string]>(
    `SELECT id, app, ticket, ${noted} AS bytes FROM uploads WHERE ended IS NULL AND id > ? ORDER BY id LIMIT ${PAGE_ROWS}`,
  );
  for (const { id, app, ticket, bytes } of inPages(uploads))
    yield { kind: "upload", place: { app: asAppId(app), id, locator: ticket }, bytes };
}

/** The files of recordings of a store that is in use. Open uploads are left out: there is no moment that they could be of. */
export async function* filesInStore(store: Pick<Store, "apps" | "recordings">): AsyncGenerator<ListedFile> {
  for (const { id: app } of await store.apps())
    for (let after = 0; ; ) {
      const page = await store.recordings.page(app, {
        filter: {},
        order: "asc",
        limit: PAGE_ROWS,
        after,
        isPatient: true,
      });
      for (const { id, file, sizeInBytes } of page)
        yield { kind: "recording", place: { app, id: file ?? id, locator: "" }, bytes: sizeInBytes };
      if (page.length < PAGE_ROWS) break;
      after = page.at(-1)?.seq ?? after;
    }
}

function columnsOf(db: Database): (table: string, column: string) => boolean {
  const query = db.query<{ name: string }, [string]>("SELECT name FROM pragma_table_info(?)");
  return (table, column) => query.all(table).some(({ name }) => name === column);
}

/** Pages instead of one long read: nothing of a statement is open while a file is copied. */
function* inPages<Row extends { readonly id: string }>(query: { all(after: string): Row[] }): Generator<Row> {
  for (let after = ""; ; ) {
    const rows = query.all(after);
    yield* rows;
    if (rows.length < PAGE_ROWS) return;
    after = rows.at(-1)?.id ?? after;
  }
}

/** The history of a backup, before it is used: is it whole, and not newer than this version? */
import { Database } from "bun:sqlite";
import { HISTORY_SCHEMA } from "../../history/sqlite/file.ts";
import { StoreError } from "../../store/contract/store.ts";
import { HISTORY_ENTRY } from "../backup/manifest.ts";
import { checkCopy } from "../backup/staging.ts";

/** `name` is that of the backup, for messages. `path` is a copy of its history, which may be written to. Throws StoreError. */
export function checkHistory(path: string, name: string): void {
  checkCopy(path, HISTORY_ENTRY);
  using db = new Database(path, { readonly: true });
  const schema = db.query<{ user_version: number }, []>("PRAGMA user_version").get()?.user_version ?? 0;
  if (schema > HISTORY_SCHEMA)
    throw new StoreError(
      `${name} was made by a newer Parley (the schema of its messages is ${schema}, this version knows ${HISTORY_SCHEMA}); nothing was changed`,
    );
}

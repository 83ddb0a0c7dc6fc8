/** The store of a backup, before it is used: is it one of ours, whole, not newer than this version, and does the master key open it? */
import { Database } from "bun:sqlite";
import { appSecretIdentity, Vault } from "../../access/keys/vault.ts";
import type { AppId } from "../../base/ids.ts";
import { StoreError } from "../../store/contract/store.ts";
import { schemaVersion } from "../../store/migrate.ts";
import { APPLICATION_ID } from "../../store/open.ts";

export type MasterKeyState = "fits" | "does not fit" | "missing" | "not needed";

export interface CheckedStore {
  readonly schema: number;
  readonly storeId: string | undefined;
  /** Whether the master key is the one of the backup shows only when it opens a secret. */
  readonly opensWith: (masterKey: Buffer | undefined) => MasterKeyState;
}

/** `name` is that of the backup, for messages. `path` is a copy of its store, which may be written to. Throws StoreError. */
export function checkStore(path: string, name: string): CheckedStore {
  try {
    using db = new Database(path, { readwrite: true, create: false });
    const id = db.query<{ application_id: number }, []>("PRAGMA application_id").get()?.application_id;
    if (id !== APPLICATION_ID) throw new StoreError(`${name} is not a Parley backup; nothing was changed`);
    // Leaves WAL mode, so that closing leaves one file.
    db.run("PRAGMA journal_mode = DELETE");
    const flaw = db.query<{ integrity_check: string }, []>("PRAGMA integrity_check(1)").get()?.integrity_check;
    if (flaw !== "ok")
      throw new StoreError(`${name} is damaged: ${flaw ?? "it cannot be checked"}; nothing was changed`);
    const schema = db.query<{ v: number | null }, []>("SELECT MAX(version) AS v FROM migrations").get()?.v ?? 0;
    if (schema > schemaVersion())
      throw new StoreError(
        `${name} was made by a newer Parley (its schema is ${schema}, this version knows ${schemaVersion()}); nothing was changed`,
      );
    const sealed = schema === 0 ? undefined : sealedSecret(db);
    return { schema, storeId: schema === 0 ? undefined : idOf(db), opensWith: (key) => stateOf(sealed, key) };
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw new StoreError(`${name} is damaged: ${(error as Error).message}; nothing was changed`);
  }
}

interface Sealed {
  readonly app: AppId;
  readonly secret: string;
}

const sealedSecret = (db: Database): Sealed | undefined =>
  db
    .query<Sealed, []>(
      "SELECT id AS app, secret_sealed AS secret FROM apps WHERE deleted IS NULL ORDER BY id DESC LIMIT 1",
    )
    .get() ?? undefined;

const idOf = (db: Database): string | undefined =>
  db.query<{ value: string }, []>("SELECT value FROM meta WHERE name = 'store_id'").get()?.value;

function stateOf(sealed: Sealed | undefined, key: Buffer | undefined): MasterKeyState {
  if (!sealed) return "not needed";
  if (!key) return "missing";
  return new Vault(key).open(sealed.secret, appSecretIdentity(sealed.app)) === undefined ? "does not fit" : "fits";
}

/** A store is worth nothing without the master key that its secrets are sealed with: the key at hand must open one of them. */
import { appSecretIdentity, masterKeyFile, readMasterKey, Vault } from "../../access/keys/vault.ts";
import { asAppId } from "../../base/ids.ts";
import { StoreError } from "../../store/contract/store.ts";
import { hasTable, type Side } from "./side.ts";

/** Where the master key is. "none needed": the store has no secrets. */
export type MasterKeyPlace = "setting" | "file" | "none needed";

/** `setting` is PARLEY_MASTER_KEY, or "". Throws a StoreError if there is no key, or one of another store. */
export async function findMasterKey(source: Side, data: string, setting: string): Promise<MasterKeyPlace> {
  const app = (await hasTable(source, "apps"))
    ? await source.store.value("SELECT id FROM apps WHERE deleted IS NULL ORDER BY id DESC LIMIT 1")
    : undefined;
  const sealed = app && (await source.store.value("SELECT secret_sealed FROM apps WHERE id = $1", app));
  if (app === undefined || !sealed) return "none needed";
  const key = setting === "" ? readMasterKey(data) : Buffer.from(setting, "base64");
  const path = masterKeyFile(data);
  if (!key)
    throw new StoreError(
      `there is no master key, so the secrets of ${source.place} cannot be read: put it at ${path}, or set PARLEY_MASTER_KEY`,
    );
  if (new Vault(key).open(sealed, appSecretIdentity(asAppId(app))) === undefined)
    throw new StoreError(
      `the master key ${setting === "" ? `at ${path}` : "in PARLEY_MASTER_KEY"} does not open the secrets of ${source.place}: use the one that its servers use`,
    );
  return setting === "" ? "file" : "setting";
}

/** Commands that work on the store itself. A running server holds the embedded one locked: then they say so, and stop. */
import { existsSync } from "node:fs";
import { appSecretIdentity, masterKeyFile, readMasterKey, Vault } from "../access/vault.ts";
import { loadConfig } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import { hadFirstRun, resetAdminToken } from "../node/first-run.ts";
import { backupStore, type Restored, restoreStore } from "../store/backup.ts";
import { openStore, sqliteFile } from "../store/open.ts";
import { StoreError } from "../store/store.ts";
import type { Answer } from "./command.ts";
import type { Given } from "./given.ts";
import { fields } from "./output.ts";

export async function resetToken({ flags, env }: Given): Promise<Answer> {
  const { config } = loadConfig(flags, env);
  const isEmbedded = config.databaseUrl === "";
  // Opening would make an empty one.
  if (isEmbedded && !existsSync(sqliteFile(config.data)))
    throw new StoreError(`there is no store in ${config.data}; name the data folder with --data`);
  const store = await openStore(config.data, config.databaseUrl);
  try {
    // The first start makes one of its own.
    if (!isEmbedded && !(await hadFirstRun(store)))
      throw new StoreError("PARLEY_DATABASE_URL: no server has been started on this database yet");
    const adminToken = await resetAdminToken(store);
    const notes = ["The admin token is shown this once: keep it now."];
    if (config.adminToken !== "")
      notes.push("PARLEY_ADMIN_TOKEN is set: a server started with it takes that one, and not this.");
    if (!isEmbedded) notes.push("Servers that run take it within a second.");
    return { value: { adminToken }, text: `${adminToken}\n`, notes };
  } finally {
    await store.close();
  }
}

export async function backup(given: Given): Promise<Answer> {
  const { config } = loadConfig(given.flags, given.env);
  refuseServer(config, "back it up with pg_dump --format=custom --file=FILE");
  const file = given.word(0);
  const { bytes } = await backupStore(config.data, file, given.on("force"));
  const where = config.masterKey === "" ? masterKeyFile(config.data) : "PARLEY_MASTER_KEY";
  return {
    value: { file, bytes, masterKeyIncluded: false },
    text: fields({ file, bytes }),
    notes: [
      `The master key is NOT in it: keep ${where} in another place. Without it the secrets in this backup are lost.`,
    ],
  };
}

export async function restore(given: Given): Promise<Answer> {
  const { config } = loadConfig(given.flags, given.env);
  refuseServer(config, "put a file of pg_dump back with pg_restore, all servers stopped");
  const file = given.word(0);
  const restored = await restoreStore(config.data, file, given.on("force"));
  const store = sqliteFile(config.data);
  const masterKey = masterKeyState(config, restored);
  return {
    value: { file, store, schema: restored.schema, masterKey },
    text: fields({ store, schema: restored.schema, "master key": masterKey }),
    notes: masterKeyNotes(masterKey, masterKeyFile(config.data)),
  };
}

/** The server has tools of its own, and better ones. */
function refuseServer({ databaseUrl }: Config, instead: string): void {
  if (databaseUrl !== "")
    throw new StoreError(`PARLEY_DATABASE_URL is set, and this command is for the embedded store: ${instead}`);
}

type MasterKeyState = "fits" | "does not fit" | "missing" | "not needed";

/** Only a try shows whether this is the key of the time of the backup. */
function masterKeyState(config: Config, { sealed }: Restored): MasterKeyState {
  if (!sealed) return "not needed";
  try {
    const key = config.masterKey === "" ? readMasterKey(config.data) : Buffer.from(config.masterKey, "base64");
    if (!key) return "missing";
    return new Vault(key).open(sealed.secret, appSecretIdentity(sealed.app)) === undefined ? "does not fit" : "fits";
  } catch {
    // A file that is no key at all. The restore is done by now: this is a warning, not a failure.
    return "does not fit";
  }
}

function masterKeyNotes(state: MasterKeyState, path: string): string[] {
  const mend = `put the one of the time of the backup at ${path}, or set PARLEY_MASTER_KEY, before you start the server.`;
  if (state === "missing") return [`Warning: there is no master key: ${mend}`];
  if (state === "does not fit") return [`Warning: the master key does not open the secrets of this backup: ${mend}`];
  return [];
}

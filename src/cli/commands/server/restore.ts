/** `parley restore`: replaces what a stopped service keeps with a backup. */
import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { masterKeyFile, readMasterKey } from "../../../access/keys/vault.ts";
import { systemClock } from "../../../base/clock.ts";
import { humanBytes } from "../../../base/human-bytes.ts";
import { loadForDataFolder } from "../../../config/load.ts";
import type { Config } from "../../../config/settings.ts";
import type { CheckedStore, MasterKeyState } from "../../../durable/restore/checked-store.ts";
import {
  isStoreFile,
  type Restored,
  type RestoreParts,
  restoreBackup,
  restoreStoreFile,
} from "../../../durable/restore/restore.ts";
import type { BackupSource } from "../../../durable/restore/source.ts";
import { openTarget } from "../../../durable/targets/open.ts";
import { shownName } from "../../../durable/targets/shown-name.ts";
import { openStorage } from "../../../recordings/open-storage.ts";
import { StoreError } from "../../../store/contract/store.ts";
import { foundPostgres } from "../../../store/found.ts";
import { schemaVersion } from "../../../store/migrate.ts";
import { openStore, sqliteFile } from "../../../store/open.ts";
import { REPLACED_FOLDER } from "../../../store/pending-restore.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { Interrupt } from "../../terminal/interrupt.ts";
import { fields } from "../../terminal/output.ts";
import { StatusLine } from "../../terminal/status-line.ts";
import { audit } from "./audited.ts";

export async function restore(input: Input): Promise<CommandResult> {
  const { config } = loadForDataFolder(input.flags, input.env);
  const file = input.operand(0);
  using interrupt = new Interrupt();
  using line = new StatusLine(input.isOn("quiet"));
  const state: { masterKey: MasterKeyState; notes: string[] } = { masterKey: "not needed", notes: [] };
  const replaces = existsSync(sqliteFile(config.data));
  const isOfFolder = config.databaseUrl === "";
  const parts: RestoreParts = {
    dataFolder: config.data,
    key: config.backupKey === "" ? undefined : Buffer.from(config.backupKey, "base64"),
    minFreeBytes: config.minFreeDiskBytes,
    storage: () => openStorage(config, input.env),
    checked: (store, keyFile) => {
      if (!isOfFolder)
        throw new StoreError(
          `PARLEY_DATABASE_URL is set, and ${file} has an embedded store: restore it without that setting, then "parley move" moves it to PostgreSQL; nothing was changed`,
        );
      state.masterKey = masterKeyOf(config, store, keyFile);
      if (!input.isOn("without-master-key")) requireMasterKey(state.masterKey, config.data);
    },
    confirmed: async () => {
      line.end();
      if (!isOfFolder) await refuseNodes(config.databaseUrl);
      if (replaces && isOfFolder && !input.isOn("force"))
        await confirm(
          input,
          `replace the store in ${config.data}; its files are kept in ${REPLACED_FOLDER} until the next restore`,
        );
    },
    prepared: async (folder, schema) => {
      if (schema === schemaVersion()) state.notes.push(...(await beginAnew(folder, file)));
    },
    progress: (doing, bytes, total) => line.at(`${doing}: ${humanBytes(bytes)} of about ${humanBytes(total)}`),
    signal: interrupt.signal,
  };
  try {
    const source = await sourceOf(file, input);
    const restored = source === undefined ? await restoreStoreFile(file, parts) : await restoreBackup(source, parts);
    line.end();
    return resultOf(restored, { config, file, replaces, masterKey: state.masterKey, notes: state.notes });
  } catch (error) {
    if (!interrupt.happened) throw error;
    return {
      value: { file, interrupted: true },
      text: "",
      notes: [
        "Interrupted: the store is unchanged. Recordings that were already written stay; the next restore writes them again.",
      ],
      interrupted: true,
    };
  }
}

/** Recordings are replaced beneath them otherwise. An embedded store is locked. */
async function refuseNodes(databaseUrl: string): Promise<void> {
  const { connections } = await foundPostgres(databaseUrl);
  if (connections > 0)
    throw new StoreError(
      `Parley is running on the database of PARLEY_DATABASE_URL (${connections} connections): stop every node first; nothing was changed`,
    );
}

/** The newest backup, if a folder or a bucket is named. undefined: it is the file of a store. */
async function sourceOf(text: string, input: Input): Promise<BackupSource | undefined> {
  const target = await openTarget(text, { env: input.env, nowMs: systemClock.wallMs });
  if (target.isSingle && !text.startsWith("s3:") && isStoreFile(text)) return undefined;
  const newest = (await target.list()).at(-1);
  if (!newest) throw new StoreError(`there is no backup in ${target.label}; nothing was changed`);
  return { name: shownName(target, text, newest.name), read: () => target.read(newest.name) };
}

/**
 * Ends the sessions of the dashboard that the backup holds: their operators may have signed out since. Webhooks go on with other numbers. A backup of an earlier version
 * has neither sessions nor an audit, and only a start migrates it.
 */
async function beginAnew(folder: string, file: string): Promise<string[]> {
  const store = await openStore(folder, "");
  try {
    await store.change(async (change) => {
      for (const { digest } of await change.sessions()) await change.removeSession(digest);
    });
    await store.webhooks.restored();
    return await audit(store, "store restored", basename(file));
  } finally {
    await store.close();
  }
}

function masterKeyOf(config: Config, store: CheckedStore, keyFile: string | undefined): MasterKeyState {
  try {
    if (keyFile !== undefined) return store.opensWith(Buffer.from(readFileSync(keyFile, "utf8").trim(), "base64"));
    const given = config.masterKey === "" ? readMasterKey(config.data) : Buffer.from(config.masterKey, "base64");
    return store.opensWith(given);
  } catch {
    // The file is not a key.
    return "does not fit";
  }
}

function requireMasterKey(state: MasterKeyState, data: string): void {
  if (state !== "missing" && state !== "does not fit") return;
  const found = state === "missing" ? "there is no master key" : "the master key is a different one";
  throw new StoreError(
    `${found}, so the secrets in this backup cannot be read. Nothing was changed. Put the master key that was in use when the backup was made at ${masterKeyFile(data)}, or set PARLEY_MASTER_KEY. If it is lost, --without-master-key restores everything else; you then have to replace the keys`,
  );
}

interface Outcome {
  readonly config: Config;
  readonly file: string;
  readonly replaces: boolean;
  readonly masterKey: MasterKeyState;
  readonly notes: readonly string[];
}

function resultOf(restored: Restored, { config, file, replaces, masterKey, notes }: Outcome): CommandResult {
  const { manifest, store, recordings } = restored;
  const value = {
    file,
    data: config.data,
    at: manifest?.at ?? null,
    schema: store?.schema ?? null,
    history: restored.names.includes("history.sqlite"),
    recordings: recordings.written,
    masterKey,
  };
  const shown = {
    data: config.data,
    ...(manifest && { at: manifest.at }),
    ...(store && { schema: store.schema, "master key": masterKey }),
    messages: value.history ? "restored" : "not in this backup",
    recordings: manifest?.recordings === "referenced" ? "not in this backup" : recordings.written,
  };
  const all = [...notes];
  if (!store)
    all.push(
      "This backup does not contain the database: restore the dump that was made with it, using pg_restore (docs/backups.md).",
    );
  if (store && (masterKey === "missing" || masterKey === "does not fit"))
    all.push(
      `Warning: the secrets cannot be read: put the right master key at ${masterKeyFile(config.data)} before you start the server, or rotate the keys.`,
    );
  if (store && replaces)
    all.push(`The replaced files are in ${config.data}/${REPLACED_FOLDER}: delete them when you no longer need them.`);
  if (recordings.left > 0)
    all.push(`${recordings.left} open uploads cannot be resumed in a bucket: their clients start over.`);
  return { value, text: fields(shown), notes: all };
}

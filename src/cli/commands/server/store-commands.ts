/** Commands that open the store itself. They fail while a server is running on the embedded store, because it is locked. */
import { existsSync } from "node:fs";
import { basename } from "node:path";
import { appSecretIdentity, masterKeyFile, readMasterKey, Vault } from "../../../access/keys/vault.ts";
import { AuditTrail } from "../../../access/operators/audit-trail.ts";
import { loadForDataFolder } from "../../../config/load.ts";
import type { Config } from "../../../config/settings.ts";
import { hadFirstRun, hasAdminToken, resetAdminToken } from "../../../node/parts/first-run.ts";
import { backupStore, checkBackup, type Restored, restoreStore } from "../../../store/backup.ts";
import { type Store, StoreError } from "../../../store/contract/store.ts";
import { CopyInterrupted } from "../../../store/copy-store.ts";
import { schemaVersion } from "../../../store/migrate.ts";
import { openStore, sqliteFile } from "../../../store/open.ts";
import type { CommandResult } from "../../line/command.ts";
import type { Input } from "../../line/input.ts";
import { confirm } from "../../terminal/confirm.ts";
import { Interrupt } from "../../terminal/interrupt.ts";
import { fields } from "../../terminal/output.ts";
import { humanBytes } from "../../terminal/progress.ts";
import { StatusLine } from "../../terminal/status-line.ts";

/** As the audit names changes by these commands. */
const COMMAND_LINE = "command line";

export async function resetToken(input: Input): Promise<CommandResult> {
  const { config } = loadForDataFolder(input.flags, input.env);
  const isEmbedded = config.databaseUrl === "";
  // Opening a missing store would create an empty one.
  if (isEmbedded && !existsSync(sqliteFile(config.data)))
    throw new StoreError(`there is no store in ${config.data}; name the data folder with --data`);
  const store = await openStore(config.data, config.databaseUrl);
  try {
    // The first start of a server makes an admin token.
    if (!isEmbedded && !(await hadFirstRun(store)))
      throw new StoreError("PARLEY_DATABASE_URL: no server has been started on this database yet");
    if (await hasAdminToken(store)) await confirm(input, "replace the admin token, and end the present one");
    const adminToken = await resetAdminToken(store);
    const notes = [
      "The admin token is shown only this once: save it now.",
      ...(await audit(store, "admin token reset", "admin")),
    ];
    if (config.adminToken !== "")
      notes.push("PARLEY_ADMIN_TOKEN is set: a server started with it uses that token instead of this one.");
    if (!isEmbedded) notes.push("Running servers accept it within a second.");
    return { value: { adminToken }, text: `${adminToken}\n`, notes };
  } finally {
    await store.close();
  }
}

/** Returns a note if it cannot be written: the change was made, and the output of the command must not be lost. */
async function audit(store: Store, what: string, on: string): Promise<string[]> {
  const notes: string[] = [];
  const failed = (error: unknown): void => void notes.push(`The audit could not be written: ${String(error)}`);
  const trail = new AuditTrail({ store, nowMs: Date.now, retentionMs: Date.now, failed, dropped: () => undefined });
  await trail.record({ who: COMMAND_LINE, what, on });
  return notes;
}

export async function backup(input: Input): Promise<CommandResult> {
  const { config } = loadForDataFolder(input.flags, input.env);
  refusePostgres(config, "back it up with pg_dump --format=custom --file=FILE");
  const file = input.operand(0);
  const outcome = await watched(config.data, file, input);
  if ("reached" in outcome)
    return {
      value: { file, interrupted: true, copiedBytes: outcome.reached, bytes: null },
      text: "",
      notes: [
        `Interrupted after ${humanBytes(outcome.reached)}: what was copied is removed, and ${file} was not written.`,
      ],
      interrupted: true,
    };
  const { bytes } = outcome;
  const where = config.masterKey === "" ? masterKeyFile(config.data) : "PARLEY_MASTER_KEY";
  return {
    value: { file, bytes, masterKeyIncluded: false },
    text: fields({ file, bytes }),
    notes: [
      `The master key is NOT in it: keep ${where} in another place. Without it the secrets in this backup are lost.`,
      "Messages of channels with history are not in it either: with the server stopped, copy history.sqlite if you need them.",
    ],
  };
}

/** `reached`: how many bytes there were when Ctrl-C ended it. */
async function watched(data: string, file: string, input: Input): Promise<{ bytes: number } | { reached: number }> {
  using interrupt = new Interrupt();
  const line = new StatusLine(input.isOn("quiet"));
  const progress = (bytes: number, total: number): void =>
    line.at(`copying: ${humanBytes(bytes)} of about ${humanBytes(total)}`);
  try {
    return await backupStore(data, file, input.isOn("force"), { progress, signal: interrupt.signal });
  } catch (error) {
    if (error instanceof CopyInterrupted) return { reached: error.bytes };
    throw error;
  } finally {
    line.end();
  }
}

export async function restore(input: Input): Promise<CommandResult> {
  const { config } = loadForDataFolder(input.flags, input.env);
  refusePostgres(config, "restore a file of pg_dump with pg_restore, with all servers stopped");
  const file = input.operand(0);
  checkBackup(file);
  const replaces = existsSync(sqliteFile(config.data));
  if (replaces && !input.isOn("force")) await confirm(input, `replace the store in ${config.data}, which is lost then`);
  const restored = await restoreStore(config.data, file, replaces);
  const auditNotes = restored.schema === schemaVersion() ? await endSessionsAndAudit(config, file) : [];
  const store = sqliteFile(config.data);
  const masterKey = masterKeyState(config, restored);
  return {
    value: { file, store, schema: restored.schema, masterKey },
    text: fields({ store, schema: restored.schema, "master key": masterKey }),
    notes: [...masterKeyNotes(masterKey, masterKeyFile(config.data)), ...auditNotes],
  };
}

/**
 * Ends the sessions of the dashboard that the backup holds: their operators may have signed out since. A backup of an earlier version
 * has neither sessions nor an audit, and only a start migrates it.
 */
async function endSessionsAndAudit(config: Config, file: string): Promise<string[]> {
  const store = await openStore(config.data, "");
  try {
    await store.change(async (change) => {
      for (const { digest } of await change.sessions()) await change.removeSession(digest);
    });
    return await audit(store, "store restored", basename(file));
  } finally {
    await store.close();
  }
}

/** PostgreSQL has better tools for this. */
function refusePostgres({ databaseUrl }: Config, instead: string): void {
  if (databaseUrl !== "")
    throw new StoreError(`PARLEY_DATABASE_URL is set, and this command is for the embedded store: ${instead}`);
}

type MasterKeyState = "fits" | "does not fit" | "missing" | "not needed";

/** Whether the master key is the one of the backup shows only when it opens a secret. */
function masterKeyState(config: Config, { sealed }: Restored): MasterKeyState {
  if (!sealed) return "not needed";
  try {
    const key = config.masterKey === "" ? readMasterKey(config.data) : Buffer.from(config.masterKey, "base64");
    if (!key) return "missing";
    return new Vault(key).open(sealed.secret, appSecretIdentity(sealed.app)) === undefined ? "does not fit" : "fits";
  } catch {
    // The file is not a key. This is only a warning, because the restore is complete already.
    return "does not fit";
  }
}

function masterKeyNotes(state: MasterKeyState, path: string): string[] {
  const fix = `put the master key of the time of the backup at ${path}, or set PARLEY_MASTER_KEY, before you start the server.`;
  if (state === "missing") return [`Warning: there is no master key: ${fix}`];
  if (state === "does not fit") return [`Warning: the master key does not open the secrets of this backup: ${fix}`];
  return [];
}

/** `parley backup`: of a running service through its control plane, of a stopped one from its data folder. */
import { existsSync } from "node:fs";
import { masterKeyFile, readMasterKey } from "../../../access/keys/vault.ts";
import { systemClock } from "../../../base/clock.ts";
import { humanBytes } from "../../../base/human-bytes.ts";
import { loadForDataFolder } from "../../../config/load.ts";
import type { Config } from "../../../config/settings.ts";
import { type ReadEntry, readArchive } from "../../../durable/archive/read.ts";
import { type ArchiveEntry, writeArchive } from "../../../durable/archive/write.ts";
import { MASTER_KEY_ENTRY, type Manifest, manifestIn } from "../../../durable/backup/manifest.ts";
import { type RunningBackup, startBackup } from "../../../durable/backup/run.ts";
import { holdStopped } from "../../../durable/backup/stopped.ts";
import { openTarget } from "../../../durable/targets/open.ts";
import { shownName } from "../../../durable/targets/shown-name.ts";
import { historyFile } from "../../../history/sqlite/file.ts";
import { Removals } from "../../../recordings/removals.ts";
import { StoreError } from "../../../store/contract/store.ts";
import { openStore, sqliteFile } from "../../../store/open.ts";
import { finishRestore } from "../../../store/pending-restore.ts";
import { VERSION } from "../../../version.ts";
import { foundServer } from "../../calls/address.ts";
import { bytesOf, controlPlane } from "../../calls/client.ts";
import { givenAddress } from "../../calls/given-address.ts";
import { dataPath } from "../../calls/running-server.ts";
import type { CommandResult } from "../../line/command.ts";
import { UsageError } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { Interrupt } from "../../terminal/interrupt.ts";
import { fields } from "../../terminal/output.ts";
import { StatusLine } from "../../terminal/status-line.ts";

/** The archive as it is made; only if `done` resolves is it whole. */
interface Making {
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly done: Promise<unknown>;
  stop(): void;
}

export async function backup(input: Input): Promise<CommandResult> {
  const { config } = loadForDataFolder(input.flags, input.env);
  const masterKey = input.isOn("with-master-key") ? includedKey(input, config) : undefined;
  const { wallMs: nowMs } = systemClock;
  const target = await openTarget(input.operand(0), { env: input.env, nowMs, force: input.isOn("force") });
  using interrupt = new Interrupt();
  using line = new StatusLine(input.isOn("quiet"));
  const rewriting = new Rewriting(input, config, masterKey, line, interrupt.signal);
  try {
    const { name, bytes } = await target.write(target.nameAt(nowMs()), rewriting.bytes(), { signal: interrupt.signal });
    return rewriting.result(shownName(target, input.operand(0), name), bytes);
  } catch (error) {
    if (interrupt.happened) return interrupted(target.label, rewriting.copied);
    throw error;
  } finally {
    rewriting.stop();
  }
}

/** The archive that is made, with the master key added, encrypted. */
class Rewriting {
  private making: Making | undefined;
  private manifest: Manifest | undefined;
  copied = 0;

  constructor(
    private readonly input: Input,
    private readonly config: Config,
    private readonly masterKey: string | undefined,
    private readonly line: StatusLine,
    private readonly signal: AbortSignal,
  ) {}

  /** Begins when the target asks for the first bytes: one that cannot be written to costs the service nothing. */
  async *bytes(): AsyncGenerator<Uint8Array> {
    const making = await begin(this.input, this.config, this.signal);
    this.making = making;
    making.done.catch(() => undefined);
    try {
      const archive = await readArchive(making.bytes, {});
      const manifest = manifestIn(archive);
      this.manifest = manifest;
      yield* writeArchive({
        manifest: archive.manifest,
        entries: this.entries(archive.entries),
        nowMs: Date.parse(manifest.at),
        key: keyOf(this.config),
      });
    } catch (error) {
      // Why it could not be made explains more than that its bytes end early.
      if (!this.signal.aborted) await making.done;
      throw error;
    }
    await making.done;
  }

  stop(): void {
    this.making?.stop();
  }

  result(file: string, bytes: number): CommandResult {
    const { config, manifest, input } = this;
    if (!manifest) throw new Error("a backup was written without its manifest");
    return resultOf({ config, manifest, file, bytes, hasKey: this.masterKey !== undefined, input });
  }

  /** The master key first: a restore checks it against the store that follows. */
  private async *entries(entries: AsyncIterable<ReadEntry>): AsyncGenerator<ArchiveEntry> {
    if (this.masterKey !== undefined) {
      const content = Buffer.from(`${this.masterKey}\n`);
      const bytes = new Blob([content]).stream();
      yield { name: MASTER_KEY_ENTRY, size: content.length, modifiedMs: systemClock.wallMs(), bytes };
    }
    for await (const entry of entries) {
      const { name, size, modifiedMs, bytes } = entry;
      yield { name, size, modifiedMs, bytes: this.counted(bytes), digest: () => entry.digest() };
    }
  }

  private async *counted(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      this.copied += chunk.length;
      this.line.at(`copying: ${humanBytes(this.copied)} of about ${humanBytes(this.manifest?.bytes ?? 0)}`);
      yield chunk;
    }
  }
}

const keyOf = ({ backupKey }: Config): Buffer | undefined =>
  backupKey === "" ? undefined : Buffer.from(backupKey, "base64");

async function begin(input: Input, config: Config, signal: AbortSignal): Promise<Making> {
  const withRecordings = !input.isOn("no-recordings");
  if (givenAddress(input) || foundServer(input)) return ofServer(input, withRecordings, signal);
  finishRestore(config.data);
  return config.databaseUrl === "" ? ofFolder(config, withRecordings) : ofDatabase(config, withRecordings);
}

async function ofServer(input: Input, withRecordings: boolean, signal: AbortSignal): Promise<Making> {
  const ended = new AbortController();
  const path = `/backups/stream?recordings=${withRecordings ? "copied" : "referenced"}`;
  const either = AbortSignal.any([signal, ended.signal]);
  const type = "application/octet-stream";
  const response = await controlPlane(input).stream(path, either, { method: "POST", type });
  return { bytes: bytesOf(response, either), done: Promise.resolve(), stop: () => ended.abort() };
}

function ofFolder(config: Config, withRecordings: boolean): RunningBackup {
  const { data } = config;
  if (!existsSync(sqliteFile(data)))
    throw new StoreError(`${data} has no store, and no server is running on it; pass the data folder with --data`);
  const holdStill = holdStopped([sqliteFile(data), historyFile(data)], systemClock.wallMs);
  return started(config, withRecordings, { holdStill, removals: undefined });
}

/** Servers may be running: what they would remove has to stay. */
async function ofDatabase(config: Config, withRecordings: boolean): Promise<Making> {
  const store = await openStore(config.data, config.databaseUrl);
  const removals = new Removals(store, systemClock.wallMs);
  const running = started(config, withRecordings, { holdStill: undefined, removals });
  return { ...running, done: running.done.finally(() => store.close()) };
}

function started(
  config: Config,
  withRecordings: boolean,
  held: Pick<Parameters<typeof startBackup>[0], "holdStill" | "removals">,
): RunningBackup {
  const { databaseUrl, storageUrl, data, minFreeDiskBytes, maxRecordingBytes } = config;
  const storage = { storageUrl, data, minFreeDiskBytes, maxRecordingBytes };
  const failed = (error: unknown): void => console.error(`parley: ${(error as Error).message}`);
  const parts = { parley: VERSION, databaseUrl, storage, nowMs: systemClock.wallMs, failed, ...held };
  return startBackup(parts, { withRecordings, target: null });
}

/** Read here, and never sent: a service gives its master key to no caller. */
function includedKey(input: Input, config: Config): string {
  if (config.masterKey !== "") return config.masterKey;
  const given = givenAddress(input);
  const key = given ? undefined : readMasterKey(dataPath(input));
  if (key) return key.toString("base64");
  throw new UsageError(
    given
      ? "--with-master-key reads the key of a service on this machine: set PARLEY_MASTER_KEY to the key of the service at this address, or leave the flag out"
      : `there is no master key at ${masterKeyFile(dataPath(input))}: set PARLEY_MASTER_KEY, or pass the data folder with --data`,
  );
}

interface Written {
  readonly config: Config;
  readonly manifest: Manifest;
  readonly file: string;
  readonly bytes: number;
  readonly hasKey: boolean;
  readonly input: Input;
}

function resultOf({ config, manifest, file, bytes, hasKey, input }: Written): CommandResult {
  const isSealed = config.backupKey !== "";
  const value = {
    file,
    bytes,
    at: manifest.at,
    schema: manifest.schema,
    recordings: manifest.recordings,
    encrypted: isSealed,
    masterKeyIncluded: hasKey,
  };
  const { masterKeyIncluded: _, schema: __, ...shown } = value;
  return { value, text: fields({ ...shown, encrypted: isSealed ? "yes" : "no" }), notes: notesOf() };

  function notesOf(): string[] {
    const where =
      config.masterKey === "" && !givenAddress(input) ? masterKeyFile(dataPath(input)) : "PARLEY_MASTER_KEY";
    const notes = [
      hasKey
        ? "It contains the master key: this file alone is enough to read all secrets. Protect it as you protect the key."
        : `It does not contain the master key: store ${where} separately. Without it, the secrets in this backup are lost.`,
    ];
    if (isSealed) notes.push("It is encrypted: you need PARLEY_BACKUP_KEY to restore it.");
    if (manifest.recordings === "referenced")
      notes.push("It contains the list of recordings but not their files: back up the recording storage too.");
    if (manifest.schema === null)
      notes.push(
        "It does not contain the database: back that up with pg_dump --format=custom --file=FILE just before.",
      );
    return notes;
  }
}

const interrupted = (target: string, reached: number): CommandResult => ({
  value: { interrupted: true, copiedBytes: reached, bytes: null },
  text: "",
  notes: [
    `Interrupted after ${humanBytes(reached)}: the partial copy was removed, and nothing was written to ${target}.`,
  ],
  interrupted: true,
});

/** Builds recordings: the storage that the settings name, and the services that work on it. */
import { join } from "node:path";
import { Repeating } from "../access/repeating.ts";
import type { Vault } from "../access/vault.ts";
import { ConfigError } from "../config/load.ts";
import { type Config, SETTINGS } from "../config/settings.ts";
import { systemClock as clock } from "../realtime/clock.ts";
import { Folder } from "../recordings/folder.ts";
import { STAY_UPLOADS_SWEEP_EVERY_MS } from "../recordings/limits.ts";
import { Links } from "../recordings/links.ts";
import { MendOne } from "../recordings/mending/mend-one.ts";
import { MendingFolder } from "../recordings/mending/mending-folder.ts";
import { MendingQueue } from "../recordings/mending/mending-queue.ts";
import { MEND_COMMAND, ProcessMender } from "../recordings/mending/process-mender.ts";
import { RecordingMetrics } from "../recordings/metrics.ts";
import { Ownership } from "../recordings/ownership.ts";
import { Recordings } from "../recordings/recordings.ts";
import { Bucket } from "../recordings/s3.ts";
import { parseS3Address } from "../recordings/s3-address.ts";
import { StayUploads } from "../recordings/stay-uploads.ts";
import { type Storage, StorageError, StorageFull } from "../recordings/storage.ts";
import { Strays } from "../recordings/strays.ts";
import { Sweep } from "../recordings/sweep.ts";
import { UploadLocks } from "../recordings/upload-locks.ts";
import { Uploads } from "../recordings/uploads.ts";
import { findRoom } from "../rooms/rooms.ts";
import { hasMarkedStorage, noteMarkedStorage, storeId } from "../store/identity.ts";
import type { NodeContext } from "./context.ts";

export type StorageState = "ok" | "full" | "missing";

export interface RecordingService {
  readonly uploads: Uploads;
  readonly recordings: Recordings;
  readonly links: Links;
  readonly stayUploads: StayUploads;
  /** Whether the storage accepts bytes now. */
  readonly state: () => Promise<StorageState>;
  /** Sweeps, and what is left to be finished or mended. One of several workers does it for all. */
  start(): void;
  /** Removes the recordings of deleted applications in the background. */
  clearDeleted(): void;
  /** To be called after the last request: resolves when running writes have ended. */
  stop(): Promise<void>;
}

export interface RecordingParts extends NodeContext {
  readonly vault: Vault;
}

export function buildRecordings(context: RecordingParts): RecordingService {
  const { config, log, store, vault, metrics, faults } = context;
  const { nowMs } = clock;
  const storage = openStorage(config);
  const locks = new UploadLocks({ store: store.recordings, leases: store.leases, storage, log });
  const recordingMetrics = new RecordingMetrics(metrics, () => locks.count);
  const links = new Links(vault.derive("links to recordings"));
  const ownership = new Ownership({
    store: store.recordings,
    storage,
    storeId: () => storeId(store),
    hasMarked: () => hasMarkedStorage(store),
    noteMarked: () => noteMarkedStorage(store),
    isAdopted: config.sweepStrays === "on",
  });
  const common = { ownership, store: store.recordings, storage, locks, metrics: recordingMetrics, log, nowMs };
  const uploads = new Uploads({
    ...common,
    maxBytes: config.maxRecordingBytes,
    findRoom: async (app, idOrName) => (await findRoom(store.rooms, app, idOrName, nowMs()))?.id,
  });
  const recordings = new Recordings({ ...common, uploads, links });
  const one = new MendOne({
    ...common,
    mender: new ProcessMender({ command: MEND_COMMAND }),
    folder: new MendingFolder(join(config.data, "mending"), config.minFreeDiskBytes),
    removeUnused: () => recordings.removeUnused(),
    isAlone: !store.isShared,
  });
  const mending = new MendingQueue({ ...common, one, faults });
  const stayUploads = new StayUploads({ ...common, uploads, wake: () => mending.wake() });
  const finishing = new Repeating(
    STAY_UPLOADS_SWEEP_EVERY_MS,
    async () => void (await stayUploads.sweep()),
    (err) => log.error({ err }, "uploads of meetings could not be finished; trying again in a minute"),
  );
  const strays = new Strays({ ...common, sweepStrays: config.sweepStrays });
  const sweep = new Sweep({ ...common, faults, recordings, strays, apps: () => store.apps() });
  return {
    uploads,
    recordings,
    links,
    stayUploads,
    state: () => stateOf(storage, ownership),
    start: () => {
      storage.check().catch((err) => log.error({ err }, `recordings cannot be kept: ${storage.name} does not answer`));
      sweep.start();
      finishing.start();
      // A node that is restarted often would otherwise never come to it.
      finishing.runNow();
      mending.start();
      // Without a shared store no node of an earlier version can have written to it.
      if (store.isShared)
        store.recordings
          .recount()
          .catch((err) =>
            log.error({ err }, "the bytes of recordings could not be counted; the next start tries again"),
          );
    },
    clearDeleted: () => sweep.soon(),
    stop: async () => {
      await Promise.all([sweep.stop(), finishing.stop(), mending.stop()]);
      await locks.idle();
    },
  };
}

/** A storage that does not answer counts as ok: the log reports it, and other nodes use the same storage. */
async function stateOf(storage: Storage, ownership: Ownership): Promise<StorageState> {
  try {
    if (await ownership.isMissing()) return "missing";
    await storage.checkSpace(0);
    return "ok";
  } catch (error) {
    return error instanceof StorageFull ? "full" : "ok";
  }
}

function openStorage(config: Config): Storage {
  const { storageUrl, data, minFreeDiskBytes, maxRecordingBytes } = config;
  // In a folder of its own, each node would not find recordings that were uploaded to another.
  if (storageUrl === "" && config.natsUrl !== "" && !config.storageShared)
    throw new ConfigError(
      `with several nodes (${SETTINGS.natsUrl.env}) recordings need a bucket (${SETTINGS.storageUrl.env}), or a folder that all nodes share: then set ${SETTINGS.storageShared.env}=on`,
    );
  if (storageUrl === "") return new Folder(join(data, "recordings"), minFreeDiskBytes);
  try {
    return new Bucket(parseS3Address(storageUrl, process.env), maxRecordingBytes, clock.nowMs);
  } catch (error) {
    throw error instanceof StorageError ? new ConfigError(`${SETTINGS.storageUrl.env}: ${error.message}`) : error;
  }
}

/** Builds recordings: the storage that the settings name, and the services that work on it. */
import { join } from "node:path";
import type { Vault } from "../../access/keys/vault.ts";
import { systemClock as clock } from "../../base/clock.ts";
import { Repeating } from "../../base/repeating.ts";
import { ConfigError } from "../../config/load.ts";
import { type Config, SETTINGS } from "../../config/settings.ts";
import { STAY_UPLOADS_SWEEP_EVERY_MS } from "../../recordings/budgets/limits.ts";
import { RecordingMetrics } from "../../recordings/budgets/metrics.ts";
import { RecordingExtras } from "../../recordings/extras/extras.ts";
import { Links } from "../../recordings/files/links.ts";
import { MendingFolder } from "../../recordings/mending/folder.ts";
import { MendOne } from "../../recordings/mending/mend-one.ts";
import { MEND_COMMAND, ProcessMender } from "../../recordings/mending/process-mender.ts";
import { MendingQueue } from "../../recordings/mending/queue.ts";
import { RecentMendings } from "../../recordings/mending/recent-mendings.ts";
import { MendingTrial } from "../../recordings/mending/trial.ts";
import { openStorage } from "../../recordings/open-storage.ts";
import { Recordings } from "../../recordings/recordings.ts";
import { Removals } from "../../recordings/removals.ts";
import { StorageHealth, type StorageState } from "../../recordings/storage/health.ts";
import { Ownership } from "../../recordings/storage/ownership.ts";
import { type Storage, StorageError } from "../../recordings/storage/storage.ts";
import { Strays } from "../../recordings/strays.ts";
import { Sweep } from "../../recordings/sweep.ts";
import { UploadLocks } from "../../recordings/uploads/locks.ts";
import { StayUploads } from "../../recordings/uploads/stay-uploads.ts";
import { Uploads } from "../../recordings/uploads/uploads.ts";
import { findRoom } from "../../rooms/rooms.ts";
import type { StayRow } from "../../store/contract/meetings.ts";
import { hasMarkedStorage, noteMarkedStorage, storeId } from "../../store/identity.ts";
import type { NodeContext } from "./context.ts";

/** `waiting`: finished ones could not even be listed. */
export type MendingsState = "ok" | "failing" | "waiting";

export interface RecordingService {
  /** Names the storage, without credentials. */
  readonly storageName: string;
  readonly uploads: Uploads;
  readonly recordings: Recordings;
  readonly extras: RecordingExtras;
  readonly links: Links;
  readonly stayUploads: StayUploads;
  /** Whether the storage can be used now. */
  readonly state: () => Promise<StorageState>;
  /** Whether a recording could be mended now. */
  readonly canMend: () => Promise<boolean>;
  /** What became of the last recordings. */
  readonly mendings: () => MendingsState;
  /** Sweeps, and what is left to be finished or mended. One of several workers does it for all. */
  start(): void;
  /** A person was removed from a meeting: what came of their recordings is finished in the background. */
  stayRemoved(stay: Pick<StayRow, "app" | "id">): void;
  /** Holds removals while a backup copies recordings. */
  readonly removals: Removals;
  /** Removes the recordings of deleted applications in the background. */
  clearDeleted(): void;
  /** To be called after the last request: resolves when running writes have ended. */
  stop(): Promise<void>;
}

interface RecordingParts extends NodeContext {
  readonly vault: Vault;
}

export function buildRecordings(context: RecordingParts): RecordingService {
  const { config, log, store, vault, metrics: allMetrics, faults } = context;
  const { wallMs: nowMs, retentionMs } = clock;
  const rows = store.recordings;
  const storage = storageOf(config);
  const locks = new UploadLocks({ store: rows, leases: store.leases, storage, log });
  const metrics = new RecordingMetrics(allMetrics, () => locks.count);
  const links = new Links(vault.derive("links to recordings"));
  const ownership = new Ownership({
    store: rows,
    storage,
    storeId: () => storeId(store),
    hasMarked: () => hasMarkedStorage(store),
    noteMarked: () => noteMarkedStorage(store),
    isAdopted: config.sweepStrays === "on",
  });
  const uploads = new Uploads({
    store: rows,
    storage,
    locks,
    ownership,
    metrics,
    log,
    nowMs,
    maxBytes: config.maxRecordingBytes,
    findRoom: async (app, idOrName) => (await findRoom(store.rooms, app, idOrName, nowMs()))?.id,
  });
  const removals = new Removals(store, nowMs);
  const recordings = new Recordings({
    store: rows,
    storage,
    uploads,
    links,
    locks,
    ownership,
    removals,
    metrics,
    log,
    nowMs,
  });
  const health = watchStorage(context, storage, ownership);
  const folder = new MendingFolder(join(config.data, "mending"), config.minFreeDiskBytes);
  const trial = watchMending(context, folder);
  const recent = new RecentMendings(clock.monotonicMs);
  const one = new MendOne({
    store: rows,
    storage,
    mender: new ProcessMender({ command: MEND_COMMAND }),
    folder,
    ownership,
    removeUnused: () => recordings.removeUnused(),
    metrics,
    recent,
    log,
    nowMs,
    isAlone: !store.isShared,
  });
  const mending = new MendingQueue({ store: rows, locks, one, faults, log });
  const wake = (): void => mending.wake();
  const stayUploads = new StayUploads({ store: rows, uploads, locks, metrics, log, nowMs, wake });
  const finishing = new Repeating(
    STAY_UPLOADS_SWEEP_EVERY_MS,
    async () => void (await stayUploads.sweep()),
    (err) => log.error({ err }, "uploads of meetings could not be finished; trying again in a minute"),
  );
  const { sweepStrays } = config;
  const strays = new Strays({ store: rows, storage, sweepStrays, metrics, log, nowMs, retentionMs });
  const sweep = new Sweep({
    store: rows,
    storage,
    recordings,
    strays,
    ownership,
    removals,
    locks,
    metrics,
    faults,
    log,
    nowMs,
    retentionMs,
    apps: () => store.apps(),
  });
  return {
    storageName: storage.name,
    uploads,
    recordings,
    extras: new RecordingExtras({ store: rows, nowMs }),
    links,
    stayUploads,
    state: health.state,
    canMend: trial.works,
    mendings: () => (mending.waiting > 0 ? "waiting" : recent.areFailing ? "failing" : "ok"),
    start: () => {
      // Logs what is wrong with it.
      void health.state();
      sweep.start();
      finishing.start();
      // A node that is restarted often would otherwise never come to it.
      finishing.runNow();
      mending.start();
      // Without a shared store no node of an earlier version can have written to it.
      if (store.isShared)
        rows
          .recount()
          .catch((err) => log.error({ err }, "recording sizes could not be counted; the next start tries again"));
    },
    stayRemoved: (stay) =>
      void stayUploads
        .stayRemoved(stay)
        .catch((err) => log.error({ err }, "a removed person's recording will be completed in a minute")),
    removals,
    clearDeleted: () => sweep.soon(),
    stop: async () => {
      await Promise.all([sweep.stop(), finishing.stop(), mending.stop(), trial.stop()]);
      await locks.idle();
    },
  };
}

const STORAGE_FAULTS: Readonly<Record<Exclude<StorageState, "ok">, string>> = {
  full: "has too little space",
  missing: "is missing; is its volume mounted?",
  unwritable: "cannot be written to",
  unreachable: "does not answer",
};

function watchStorage({ log, metrics }: NodeContext, storage: Storage, ownership: Ownership): StorageHealth {
  const health = new StorageHealth({
    storage,
    ownership,
    monotonicMs: clock.monotonicMs,
    changed: (state, err) =>
      state === "ok"
        ? log.info(`recordings can be stored again: ${storage.name} works`)
        : log.error({ err }, `recordings cannot be stored: ${storage.name} ${STORAGE_FAULTS[state]}`),
  });
  metrics.gauge("parley_storage_up", "Whether the storage of recordings can be used.", () => Number(health.isUp));
  return health;
}

function watchMending({ log, metrics }: NodeContext, folder: MendingFolder): MendingTrial {
  const trial = new MendingTrial({
    mender: new ProcessMender({ command: MEND_COMMAND }),
    folder,
    monotonicMs: clock.monotonicMs,
    changed: (works, err) =>
      works
        ? log.info("recordings can be mended again")
        : log.error({ err }, "recordings cannot be mended; they are listed unchanged"),
  });
  metrics.gauge("parley_mending_up", "Whether recordings can be mended.", () => Number(trial.hasWorked));
  return trial;
}

/** Throws a ConfigError. To be called before anything is written: a refused start must leave no half-made first run. */
export function checkStorageSettings({ storageUrl, natsUrl, storageShared }: Config): void {
  // In a folder of its own, each node would not find recordings that were uploaded to another.
  if (storageUrl === "" && natsUrl !== "" && !storageShared)
    throw new ConfigError(
      `with several nodes (${SETTINGS.natsUrl.env}) recordings need a bucket (${SETTINGS.storageUrl.env}), or a folder that all nodes share: then set ${SETTINGS.storageShared.env}=on`,
    );
}

function storageOf(config: Config): Storage {
  try {
    return openStorage(config, process.env);
  } catch (error) {
    throw error instanceof StorageError ? new ConfigError(`${SETTINGS.storageUrl.env}: ${error.message}`) : error;
  }
}

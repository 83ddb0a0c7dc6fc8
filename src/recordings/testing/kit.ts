/** For tests: recordings with a real store, a real folder, and a clock that the test sets. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newObjectId } from "../../access/keys/ids.ts";
import type { AppId } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import type { Leases } from "../../store/contract/leases.ts";
import type { RecordingRow } from "../../store/contract/recordings.ts";
import type { Store } from "../../store/contract/store.ts";
import { hasMarkedStorage, noteMarkedStorage, storeId } from "../../store/identity.ts";
import { openStore } from "../../store/open.ts";
import { appRow } from "../../store/testing/rows.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import { RecordingMetrics } from "../budgets/metrics.ts";
import { Links } from "../files/links.ts";
import { Recordings } from "../recordings.ts";
import { Folder } from "../storage/folder/folder.ts";
import { Ownership } from "../storage/ownership.ts";
import type { Storage } from "../storage/storage.ts";
import { Strays, type SweepStrays } from "../strays.ts";
import { Sweep } from "../sweep.ts";
import type { Pace } from "../uploads/body.ts";
import { UploadLocks } from "../uploads/locks.ts";
import { Uploads } from "../uploads/uploads.ts";

export const HOUR_MS = 3_600_000;

export interface Kit {
  readonly app: AppId;
  readonly store: Store;
  readonly folder: string;
  readonly storage: Storage;
  readonly uploads: Uploads;
  readonly recordings: Recordings;
  readonly locks: UploadLocks;
  readonly metrics: Metrics;
  /** Added to the wall clock. */
  aheadMs: number;
  /** How much of that the clock for deletions has not followed. */
  doubtedMs: number;
  /** A backup is being made. */
  areRemovalsHeld: boolean;
  retentionDays: number | null;
  readonly errors: string[];
  readonly warnings: string[];
  sweepStrays: SweepStrays;
  sweep(): Promise<object>;
  begin(): Promise<string>;
  /** Begins an upload for the page of a stay. */
  beginOfStay(stay: string, byGuest?: boolean): Promise<string>;
  /** Sends a part whose total is not known, and returns how many bytes are held. */
  part(id: string, first: number, bytes: Uint8Array<ArrayBuffer>): Promise<number>;
  record(bytes?: Uint8Array<ArrayBuffer>): Promise<RecordingRow>;
  close(): Promise<void>;
}

export interface KitOptions {
  /** A folder that exists already. Absent: a new one, which is removed with the kit. */
  readonly folder?: string;
  /** A store that is open, and an application in it. Absent: new ones. */
  readonly store?: Store;
  readonly app?: AppId;
  readonly maxBytes?: number;
  readonly stayBytesMax?: number;
  readonly silenceMaxMs?: number;
  readonly stayPace?: Pace;
  /** Absent: the leases of the store. */
  readonly leases?: Leases;
  /** Wraps the folder, to change how its methods behave. */
  readonly wrap?: (storage: Storage) => Storage;
}

export async function makeKit({
  folder: given,
  store: givenStore,
  app: givenApp,
  maxBytes = 1e9,
  stayBytesMax,
  silenceMaxMs = 1000,
  stayPace,
  leases,
  wrap = (one) => one,
}: KitOptions = {}): Promise<Kit> {
  const data = mkdtempSync(join(tmpdir(), "parley-kit-"));
  const store = givenStore ?? (await openStore(data));
  const app = givenApp ?? anAppId(newObjectId(Date.now()));
  if (givenApp === undefined) await store.change((change) => change.putApp(appRow(app, { name: "app" })));
  const folder = given ?? join(data, "recordings");
  const storage = wrap(new Folder(folder, 0));
  const metrics = new Metrics();
  const errors: string[] = [];
  const warnings: string[] = [];
  const log = {
    info: () => undefined,
    warn: (fields: object | string, message?: string) => warnings.push(message ?? String(fields)),
    error: (_fields: object, message: string) => errors.push(message),
  };
  const locks = new UploadLocks({
    store: store.recordings,
    leases: leases ?? store.leases,
    storage,
    log: log as never,
  });
  const recordingMetrics = new RecordingMetrics(metrics, () => locks.count);
  const nowMs = (): number => Date.now() + kit.aheadMs;
  const ownershipOf = (isAdopted: boolean): Ownership =>
    new Ownership({
      store: store.recordings,
      storage,
      storeId: () => storeId(store),
      hasMarked: () => hasMarkedStorage(store),
      noteMarked: () => noteMarkedStorage(store),
      isAdopted,
    });
  const ownership = ownershipOf(false);
  const common = {
    ownership,
    store: store.recordings,
    storage,
    locks,
    removals: { areHeld: async () => kit.areRemovalsHeld },
    metrics: recordingMetrics,
    log: log as never,
    nowMs,
    retentionMs: () => nowMs() - kit.doubtedMs,
  };
  const uploads = new Uploads({
    ...common,
    maxBytes,
    silenceMaxMs,
    ...(stayBytesMax !== undefined && { stayBytesMax }),
    ...(stayPace && { stayPace }),
    findRoom: async (_app, room) => room,
  });
  const recordings = new Recordings({ ...common, uploads, links: new Links(Buffer.alloc(32)) });
  const kit: Kit = {
    app,
    store,
    folder,
    storage,
    uploads,
    recordings,
    locks,
    metrics,
    aheadMs: 0,
    doubtedMs: 0,
    areRemovalsHeld: false,
    retentionDays: null,
    errors,
    warnings,
    sweepStrays: "auto",
    sweep: () =>
      new Sweep({
        ...common,
        faults: { guarded: (_where, callback) => () => void callback() },
        recordings,
        strays: new Strays({ ...common, sweepStrays: kit.sweepStrays }),
        ownership: kit.sweepStrays === "on" ? ownershipOf(true) : ownership,
        apps: async () => [{ id: app, retentionDays: kit.retentionDays }],
      }).run(true),
    begin: async () => (await uploads.begin(app, { room: "r", participantUsername: "ann", type: "video" })).id,
    beginOfStay: async (stay, byGuest = false) => {
      const sessions = { meetingSession: "m", participantSession: stay, participantUsername: "ann", room: "r" };
      return (
        await uploads.beginOfStay({
          app,
          ...sessions,
          type: "video",
          startTime: 100,
          startedMs: 100_000,
          stay,
          source: "camera",
          sender: null,
          byGuest,
        })
      ).id;
    },
    part: (id, first, bytes) =>
      uploads.write(app, id, {
        range: { kind: "bytes", span: { first, last: first + bytes.length - 1 }, total: null },
        length: bytes.length,
        body: new Blob([bytes]).stream(),
      }),
    record: async (bytes = new Uint8Array(10)) => {
      const id = await kit.begin();
      await uploads.write(app, id, { range: undefined, length: bytes.length, body: new Blob([bytes]).stream() });
      return recordings.complete(app, id);
    },
    close: async () => {
      await store.close();
      rmSync(data, { recursive: true });
    },
  };
  return kit;
}

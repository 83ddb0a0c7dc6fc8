/** For tests: uploads of a stay that are finished, and a queue that mends and lists them. */
import { join } from "node:path";
import type { RecordingRow } from "../../../store/contract/recordings.ts";
import { Metrics } from "../../../telemetry/metrics.ts";
import { RecordingMetrics } from "../../budgets/metrics.ts";
import type { Kit } from "../../testing/kit.ts";
import { MendingFolder } from "../folder.ts";
import { MendOne, type MendOneParts } from "../mend-one.ts";
import type { Mender } from "../mender.ts";
import { MendingQueue } from "../queue.ts";
import { RecentMendings } from "../recent-mendings.ts";

export interface MendingKit {
  readonly queue: MendingQueue;
  readonly recent: RecentMendings;
  /** The folder of its temporary files. */
  readonly folder: string;
  readonly errors: string[];
  readonly warnings: string[];
}

/** The stay of all of them. */
const STAY = "5".repeat(24);

export async function finishedUpload(kit: Kit, bytes: Uint8Array<ArrayBuffer>, startTime = 1000): Promise<string> {
  const { id } = await kit.uploads.beginOfStay({
    app: kit.app,
    room: "r",
    meetingSession: "4".repeat(24),
    participantSession: STAY,
    participantUsername: "ann",
    type: "video",
    startTime,
    startedMs: null,
    stay: STAY,
    source: "camera",
    sender: null,
    byGuest: false,
  });
  await kit.uploads.write(kit.app, id, { range: undefined, length: bytes.length, body: new Blob([bytes]).stream() });
  await kit.uploads.finish(kit.app, id);
  return id;
}

export function makeMending(kit: Kit, mender: Mender, changed: Partial<MendOneParts> = {}): MendingKit {
  const [errors, warnings]: [string[], string[]] = [[], []];
  const folder = join(kit.folder, "../mending");
  const log = {
    warn: (_fields: object, message: string) => warnings.push(message),
    error: ({ err }: { err?: Error }, message: string) => errors.push(`${message}: ${err?.message}`),
  } as never;
  const recent = new RecentMendings(() => performance.now());
  const one = new MendOne({
    store: kit.store.recordings,
    storage: kit.storage,
    mender,
    folder: new MendingFolder(folder, 0),
    ownership: { requirePresent: async () => undefined },
    removeUnused: () => kit.recordings.removeUnused(),
    metrics: new RecordingMetrics(new Metrics(), () => 0),
    recent,
    log,
    nowMs: Date.now,
    isAlone: true,
    ...changed,
  });
  const faults = { guarded: (_where: unknown, callback: () => unknown) => () => void callback() };
  const queue = new MendingQueue({ store: kit.store.recordings, locks: kit.locks, one, faults, log });
  return { queue, recent, folder, errors, warnings };
}

export async function bytesOf(kit: Kit, row: RecordingRow): Promise<Uint8Array> {
  const file = await kit.recordings.file(row);
  if (!file) throw new Error("there is no file");
  return file.bytes();
}

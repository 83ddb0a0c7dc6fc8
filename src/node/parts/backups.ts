/** Builds the backups of a node: how they are made, where they are kept, and when. */
import { z } from "zod";
import { systemClock as clock } from "../../base/clock.ts";
import { lazily } from "../../base/lazily.ts";
import { ConfigError } from "../../config/load.ts";
import { type Config, SETTINGS } from "../../config/settings.ts";
import { Backups } from "../../durable/backup/backups.ts";
import type { Progress } from "../../durable/backup/order.ts";
import { BackupJobs } from "../../durable/schedule/jobs.ts";
import { BackupLease } from "../../durable/schedule/lease.ts";
import { BackupListing } from "../../durable/schedule/listing.ts";
import { BackupMetrics } from "../../durable/schedule/metrics.ts";
import { BackupNotes } from "../../durable/schedule/note.ts";
import { type BackupPlace, backupPlace } from "../../durable/schedule/place.ts";
import { BackupSchedule } from "../../durable/schedule/schedule.ts";
import { BackupService, type BackupTarget } from "../../durable/schedule/service.ts";
import { TargetError } from "../../durable/targets/target.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import type { HoldStill } from "../../store/contract/still-files.ts";
import type { Log } from "../../telemetry/log.ts";
import { VERSION } from "../../version.ts";
import type { NodeContext } from "./context.ts";
import type { RecordingService } from "./recordings.ts";

interface BackupParts extends NodeContext {
  readonly recordings: Pick<RecordingService, "removals" | "clearDeleted">;
  readonly holdStill: HoldStill | undefined;
  readonly nodeRequests: NodeRequests;
}

export function buildBackups(parts: BackupParts): BackupService {
  const { config, log, store, metrics, nodeRequests } = parts;
  const place = placeOf(config);
  const notes = new BackupNotes(store);
  const lease = new BackupLease(store, clock);
  const jobs = new BackupJobs({
    backups: childBackups(parts),
    store,
    lease,
    notes,
    metrics: new BackupMetrics(metrics, notes, place !== undefined),
    clock,
    log,
  });
  // One of several workers says it.
  if (place && (parts.team?.slot ?? 0) === 0) sayWhere(log, config, place);
  const target = place && targetOf(parts, place, jobs, notes);
  return new BackupService({ jobs, notes, lease, target, progressElsewhere: shareProgress(nodeRequests, jobs) });
}

/** Throws a ConfigError. To be called before anything is written. */
export const checkBackupSettings = (config: Config): void => void placeOf(config);

function placeOf({ backupTo, data }: Config): BackupPlace | undefined {
  if (backupTo === "") return undefined;
  try {
    return backupPlace(backupTo, data, { env: process.env, nowMs: clock.wallMs });
  } catch (error) {
    throw error instanceof TargetError ? new ConfigError(`${SETTINGS.backupTo.env}: ${error.message}`) : error;
  }
}

function sayWhere(log: Log, { natsUrl }: Config, { kind, shown, isInDataFolder }: BackupPlace): void {
  if (isInDataFolder)
    log.info(`backups are written to ${shown}, inside the data folder: if its disk fails, they are lost too`);
  if (kind === "folder" && natsUrl !== "")
    log.info(`backups are written to ${shown}: with several nodes, all of them must share this folder`);
}

function childBackups({ config, log, recordings, holdStill }: BackupParts): Backups {
  const { databaseUrl, storageUrl, data, minFreeDiskBytes, maxRecordingBytes } = config;
  return new Backups(
    {
      parley: VERSION,
      databaseUrl,
      storage: { storageUrl, data, minFreeDiskBytes, maxRecordingBytes },
      holdStill,
      removals: recordings.removals,
      nowMs: clock.wallMs,
      failed: (err) => log.error({ err }, "a backup could not keep recordings from being removed; trying again"),
    },
    () => recordings.clearDeleted(),
  );
}

function targetOf(
  { config, log }: NodeContext,
  place: BackupPlace,
  jobs: BackupJobs,
  notes: BackupNotes,
): BackupTarget {
  const { backupEvery: everySeconds, backupKeep: keep, backupKey, backupRecordings: withRecordings } = config;
  const listing = new BackupListing(place, () => notes.latest.success !== null, clock);
  const key = backupKey === "" ? null : backupKey;
  const job = { place, key, withRecordings, keep, changed: () => listing.forget() };
  const schedule = new BackupSchedule({
    jobs,
    notes,
    everyMs: everySeconds * 1000,
    start: () => jobs.start(job),
    clock,
    failed: (err) => log.error({ err }, "could not check whether a backup is due; trying again"),
  });
  return { ...job, everySeconds, listing, schedule };
}

/** The name of the request between nodes. */
const PROGRESS = "backup";
const progress = lazily(() => z.object({ bytes: z.number(), total: z.number() }).nullable());

/** Lets other nodes ask this one, and returns what asks them. */
function shareProgress(nodeRequests: NodeRequests, jobs: BackupJobs): () => Promise<Progress | undefined> {
  nodeRequests.onRequest(PROGRESS, () => jobs.progress ?? null);
  return async () => {
    const { answers } = await nodeRequests.gather(PROGRESS, null, (value) => progress().parse(value));
    return answers.find((one) => one !== null) ?? undefined;
  };
}

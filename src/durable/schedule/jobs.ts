/**
 * One backup at a time, over all nodes: to the target of the settings, or to an operator as it is made. A job takes the lease, and notes its outcome
 * when it is over. What is stopped with its node is noted as nothing: the next start, or another node, makes it.
 */
import type { Clock } from "../../base/clock.ts";
import { Repeating } from "../../base/repeating.ts";
import type { Store } from "../../store/contract/store.ts";
import type { Log } from "../../telemetry/log.ts";
import { BackupRunning, type Backups } from "../backup/backups.ts";
import type { Made, OrderedTarget, Progress } from "../backup/order.ts";
import type { RunningBackup } from "../backup/run.ts";
import { removeOldest } from "./keeping.ts";
import { type BackupLease, LEASE_RENEW_EVERY_MS } from "./lease.ts";
import type { BackupMetrics } from "./metrics.ts";
import type { BackupNotes, Outcome } from "./note.ts";
import type { BackupPlace } from "./place.ts";

interface JobParts {
  readonly backups: Pick<Backups, "start" | "stop">;
  readonly store: Pick<Store, "change">;
  readonly lease: Pick<BackupLease, "take" | "renew" | "release">;
  readonly notes: Pick<BackupNotes, "latest" | "write">;
  readonly metrics: BackupMetrics;
  readonly clock: Pick<Clock, "wallMs" | "monotonicMs">;
  readonly log: Pick<Log, "info" | "warn" | "error">;
}

/** What a backup to the target is made with. */
export interface TargetJob {
  readonly place: Pick<BackupPlace, "to" | "open">;
  readonly key: OrderedTarget["key"];
  readonly withRecordings: boolean;
  readonly keep: number;
  /** Called when backups were added or removed. */
  readonly changed: () => void;
}

export interface JobProgress extends Progress {
  /** Unix ms. */
  readonly sinceMs: number;
}

interface Job {
  readonly sinceMs: number;
  readonly startedMs: number;
  progress: Progress;
  /** Another node has taken over. */
  isLost: boolean;
  readonly whole: PromiseWithResolvers<void>;
}

export class BackupJobs {
  private job: Job | undefined;
  private isStopping = false;
  /** What could not be written to the store yet. */
  private unsettled: Outcome | undefined;

  constructor(private readonly parts: JobParts) {}

  /** How far the job of this process is. */
  get progress(): JobProgress | undefined {
    return this.job && { ...this.job.progress, sinceMs: this.job.sinceMs };
  }

  /** Begins a backup to the target, and resolves with its beginning in Unix ms. Throws BackupRunning. */
  async start(wanted: TargetJob): Promise<number> {
    const { place, key, withRecordings } = wanted;
    const job = await this.begin();
    void this.whole(job, () => this.run(job, { withRecordings, target: { to: place.to, key } }), wanted);
    return job.sinceMs;
  }

  /** A backup that is read as it is made, and that has no target. Throws BackupRunning. */
  async stream(withRecordings: boolean): Promise<RunningBackup> {
    const job = await this.begin();
    try {
      const running = this.run(job, { withRecordings, target: null });
      void this.whole(job, () => running);
      return running;
    } catch (error) {
      await this.end(job, undefined);
      throw error;
    }
  }

  /** Writes what the store did not take before. Throws while it does not. */
  async settle(): Promise<void> {
    if (this.unsettled) await this.note(this.unsettled);
    this.unsettled = undefined;
  }

  /** Ends the job of this process, and resolves when it is over. */
  async stop(): Promise<void> {
    this.isStopping = true;
    await this.parts.backups.stop();
    await this.job?.whole.promise;
  }

  private async begin(): Promise<Job> {
    const { lease, clock } = this.parts;
    if (this.job || this.isStopping) throw new BackupRunning();
    const job: Job = {
      sinceMs: clock.wallMs(),
      startedMs: clock.monotonicMs(),
      progress: { bytes: 0, total: 0 },
      isLost: false,
      whole: Promise.withResolvers(),
    };
    this.job = job;
    const isTaken = await lease.take().catch((error: unknown) => {
      this.over(job);
      throw error;
    });
    if (isTaken && !this.isStopping) return job;
    if (isTaken) await this.end(job, undefined);
    else this.over(job);
    throw new BackupRunning();
  }

  private run(job: Job, wanted: { withRecordings: boolean; target: OrderedTarget | null }): RunningBackup {
    return this.parts.backups.start({ ...wanted, progress: (progress) => (job.progress = progress) });
  }

  /** `to`: it was written there; absent: an operator got it. */
  private async whole(job: Job, start: () => RunningBackup, to?: TargetJob): Promise<void> {
    let running: RunningBackup | undefined;
    let made: Made;
    const renewing = new Repeating(
      LEASE_RENEW_EVERY_MS,
      async () => {
        job.isLost ||= !(await this.parts.lease.renew());
        if (job.isLost) running?.stop();
      },
      (err) => this.parts.log.warn({ err }, "the lease of a backup could not be renewed; trying again"),
    );
    renewing.start();
    try {
      running = start();
      made = await running.done;
      const atMs = await running.at;
      await this.end(job, to ? this.made(job, made, atMs) : { kind: "sent", atMs }, renewing);
    } catch (error) {
      return this.end(job, to && this.failed(job, error), renewing);
    }
    to?.changed();
    // After the note: a target that is slow to remove must not keep the node from stopping, nor a success from being shown.
    if (to && !this.isStopping) await this.removeOld(to, made.name ?? "");
  }

  private made(job: Job, { name, archiveBytes, missing }: Made, atMs: number): Outcome {
    const { clock, metrics, log } = this.parts;
    const durationMs = clock.monotonicMs() - job.startedMs;
    const made = { atMs, name: name ?? "", bytes: archiveBytes, durationMs, missing };
    metrics.made.inc();
    log.info({ backup: name, bytes: archiveBytes, seconds: Math.round(durationMs / 1000) }, "a backup was made");
    if (missing > 0)
      log.warn(
        { missing },
        "the backup leaves out recordings whose files are missing from the storage or have a different size",
      );
    return { kind: "made", made };
  }

  private async removeOld({ place, keep, changed }: TargetJob, made: string): Promise<void> {
    const { log, notes, clock } = this.parts;
    let notRemoved: string | null = null;
    try {
      await removeOldest(await place.open(), keep, made, clock.wallMs());
    } catch (err) {
      log.error({ err }, "old backups could not be removed; the next backup tries again");
      notRemoved = messageOf(err);
    }
    changed();
    if (this.isStopping || notRemoved === notes.latest.notRemoved) return;
    await this.note({ kind: "removed", notRemoved }).catch((err: unknown) =>
      log.error(
        { err },
        "that old backups could not be removed, or were, is not in the store; the next backup notes it",
      ),
    );
  }

  /** undefined: it was stopped, and is made again. */
  private failed(job: Job, err: unknown): Outcome | undefined {
    const { log, metrics, clock } = this.parts;
    if (this.isStopping) return undefined;
    if (job.isLost) {
      log.warn("another node has taken over the backup that this one was making");
      return undefined;
    }
    metrics.failed.inc();
    log.error({ err }, "a backup failed; nothing of it was kept");
    return { kind: "failed", atMs: clock.wallMs(), why: messageOf(err) };
  }

  private async end(job: Job, outcome: Outcome | undefined, renewing?: Repeating): Promise<void> {
    const { store, lease, notes, log } = this.parts;
    await renewing?.stop();
    try {
      await store.change(async (change) => {
        await lease.release(change);
        if (outcome) await notes.write(change, outcome);
      });
    } catch (err) {
      this.unsettled = outcome;
      log.error({ err }, "what became of a backup could not be noted in the store; trying again");
    }
    this.over(job);
  }

  private over(job: Job): void {
    this.job = undefined;
    job.whole.resolve();
  }

  /** Leaves the lease alone: it may be that of the next job. */
  private note(outcome: Outcome): Promise<void> {
    const { store, notes } = this.parts;
    return store.change((change) => notes.write(change, outcome));
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The backups of a service, as operators see them from any node: what was made, what is being made, what is kept. */
import type { Progress } from "../backup/order.ts";
import type { RunningBackup } from "../backup/run.ts";
import { type Backup, TargetError } from "../targets/target.ts";
import type { BackupHealth } from "./due.ts";
import type { BackupJobs, TargetJob } from "./jobs.ts";
import type { BackupLease } from "./lease.ts";
import type { BackupListing, Listing } from "./listing.ts";
import type { BackupNote, BackupNotes } from "./note.ts";
import type { BackupPlace } from "./place.ts";
import type { BackupSchedule } from "./schedule.ts";

/** Where backups are kept, and how they are made. */
export interface BackupTarget extends TargetJob {
  readonly place: BackupPlace;
  /** Seconds between two; 0: only operators start them. */
  readonly everySeconds: number;
  readonly listing: Pick<BackupListing, "now" | "forget">;
  readonly schedule: BackupSchedule;
}

export interface ServiceParts {
  readonly jobs: BackupJobs;
  readonly notes: BackupNotes;
  readonly lease: Pick<BackupLease, "heldElsewhereSince">;
  /** undefined: no place is set; backups can only be sent to operators. */
  readonly target: BackupTarget | undefined;
  /** How far another node is. */
  readonly progressElsewhere: () => Promise<Progress | undefined>;
}

/** One that is being made. */
export interface Making {
  /** Unix ms. */
  readonly sinceMs: number;
  readonly isHere: boolean;
  /** undefined: the node that makes it did not say. */
  readonly progress: Progress | undefined;
}

/** There is no backup of that name. */
export class NoSuchBackup extends Error {}

/** PARLEY_BACKUP_TO is not set. */
export class NoBackupPlace extends Error {}

export class BackupService {
  /** The newest backup when the target was last listed. */
  private listedAfter: string | undefined;

  constructor(private readonly parts: ServiceParts) {}

  get target(): BackupTarget | undefined {
    return this.parts.target;
  }

  /** undefined: none are scheduled. */
  get health(): BackupHealth | undefined {
    return this.parts.target?.schedule.health;
  }

  note(): Promise<BackupNote> {
    return this.parts.notes.read();
  }

  async making(): Promise<Making | undefined> {
    const { jobs, lease, progressElsewhere } = this.parts;
    const own = jobs.progress;
    if (own) return { sinceMs: own.sinceMs, isHere: true, progress: own };
    const sinceMs = await lease.heldElsewhereSince();
    if (sinceMs === undefined) return undefined;
    return { sinceMs, isHere: false, progress: await progressElsewhere() };
  }

  /** Begins one, and resolves with its beginning in Unix ms. Throws BackupRunning and NoBackupPlace. */
  async start(): Promise<number> {
    const { jobs, target } = this.parts;
    if (!target) throw new NoBackupPlace();
    return jobs.start(target);
  }

  /** Throws BackupRunning. */
  stream(withRecordings: boolean): Promise<RunningBackup> {
    return this.parts.jobs.stream(withRecordings);
  }

  /** Empty without a place. Has at least what the last note names, also if another node has made it a moment ago. */
  async listing(): Promise<Listing> {
    const newest = this.parts.notes.latest.success?.name;
    if (newest !== this.listedAfter) this.parts.target?.listing.forget();
    this.listedAfter = newest;
    return (await this.parts.target?.listing.now()) ?? { backups: [], problem: null };
  }

  /** Throws NoSuchBackup and TargetError. */
  async found(name: string): Promise<Backup> {
    const known = await this.inListing(name);
    if (known) return known;
    // It may have been made a moment ago, by another node.
    this.parts.target?.listing.forget();
    const found = await this.inListing(name);
    if (!found) throw new NoSuchBackup();
    return found;
  }

  async *read({ name }: Backup): AsyncGenerator<Uint8Array, undefined> {
    const target = await this.parts.target?.place.open();
    if (target) yield* target.read(name);
  }

  /** Throws TargetError. */
  async remove({ name }: Backup): Promise<void> {
    const target = await this.parts.target?.place.open();
    await target?.remove(name);
    this.parts.target?.listing.forget();
  }

  /** On every node and worker. */
  watch(): void {
    this.parts.target?.schedule.start();
  }

  /** This process makes those that are scheduled. */
  lead(): void {
    this.parts.target?.schedule.lead();
  }

  async stop(): Promise<void> {
    await this.parts.target?.schedule.stop();
    await this.parts.jobs.stop();
  }

  private async inListing(wanted: string): Promise<Backup | undefined> {
    const { backups, problem } = await this.listing();
    if (problem !== null) throw new TargetError("unavailable", problem);
    return backups.find(({ name }) => name === wanted);
  }
}

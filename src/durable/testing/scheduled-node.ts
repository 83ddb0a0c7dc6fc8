/** For tests: the backups of a node, with a clock that the test sets and backups that end when it says so. */
import { nextTurn, until } from "../../../test/support/wait.ts";
import type { Change, Store } from "../../store/contract/store.ts";
import { Metrics } from "../../telemetry/metrics.ts";
import type { BackupWanted, RunningBackup } from "../backup/run.ts";
import { BackupJobs } from "../schedule/jobs.ts";
import { BackupLease } from "../schedule/lease.ts";
import { BackupMetrics } from "../schedule/metrics.ts";
import { BackupNotes } from "../schedule/note.ts";
import { BackupSchedule } from "../schedule/schedule.ts";
import { backupName } from "../targets/names.ts";
import type { Backup, Target } from "../targets/target.ts";

/** The clocks of all nodes of a test. */
export class TestTime {
  wallMs = Date.UTC(2030, 0, 31);
  monotonicMs = 0;

  pass(ms: number): void {
    this.wallMs += ms;
    this.monotonicMs += ms;
  }
}

type NotedStore = Pick<Store, "meta" | "change" | "isShared">;

/** The notes of a store: changes are made one after another, and one that fails changes nothing. */
export class TestStore {
  isUp = true;
  private notes: ReadonlyMap<string, string> = new Map();
  private last: Promise<unknown> = Promise.resolve();

  /** As one node sees it. `isShared`: others may have it open too. */
  seen(isShared: boolean): NotedStore {
    return {
      isShared,
      meta: async (name) => this.notes.get(name),
      change: (work) => {
        const change = this.last.then(() => this.change(work));
        this.last = change.catch(() => undefined);
        return change;
      },
    };
  }

  private async change<T>(work: (change: Change) => Promise<T>): Promise<T> {
    if (!this.isUp) throw new Error("the store is unreachable");
    const notes = new Map(this.notes);
    const result = await work({
      meta: async (name: string) => notes.get(name),
      putMeta: async (name: string, value: string) => void notes.set(name, value),
    } as Change);
    this.notes = notes;
    return result;
  }
}

/** What is kept, whichever node wrote it. */
export class TestTarget implements Pick<Target, "list" | "remove"> {
  readonly kept: string[] = [];
  refusesToRemove = false;

  async list(): Promise<Backup[]> {
    return this.kept.toSorted().map((name, at) => ({ name, bytes: 1, timeMs: at }));
  }

  async remove(name: string): Promise<void> {
    if (this.refusesToRemove) throw new Error("it cannot be removed");
    this.kept.splice(this.kept.indexOf(name), 1);
  }
}

export interface NodeOptions {
  readonly store: NotedStore;
  readonly time: TestTime;
  readonly target: TestTarget;
  readonly everyMs: number;
  readonly keep?: number;
}

/** A backup that is being made. */
interface Open {
  readonly wanted: BackupWanted;
  readonly end: PromiseWithResolvers<void>;
}

export class ScheduledNode {
  readonly open: Open[] = [];
  readonly logged: string[] = [];
  readonly notes: BackupNotes;
  readonly lease: BackupLease;
  readonly jobs: BackupJobs;
  readonly schedule: BackupSchedule;
  readonly metrics = new Metrics();

  constructor(private readonly options: NodeOptions) {
    const { store, time, everyMs, keep = 14 } = options;
    const clock = { wallMs: () => time.wallMs, monotonicMs: () => time.monotonicMs };
    const say = (...args: unknown[]): void => void this.logged.push(String(args.at(-1)));
    this.notes = new BackupNotes(store);
    this.lease = new BackupLease(store, clock);
    this.jobs = new BackupJobs({
      backups: { start: (wanted) => this.begin(wanted), stop: async () => this.fail("the backup was stopped") },
      store,
      lease: this.lease,
      notes: this.notes,
      metrics: new BackupMetrics(this.metrics, this.notes, true),
      clock,
      log: { info: say, warn: say, error: say } as never,
    });
    const place = { to: "/backups/", open: async () => options.target as unknown as Target };
    this.schedule = new BackupSchedule({
      jobs: this.jobs,
      notes: this.notes,
      everyMs,
      start: () => this.jobs.start({ place, key: null, withRecordings: true, keep, changed: () => undefined }),
      clock,
      failed: say,
    });
    // Looks only when a test asks it to.
    this.schedule.lead();
  }

  get isMaking(): boolean {
    return this.open.length > 0;
  }

  /** Ends the one that is being made, and resolves when everything that follows from it is done. */
  async succeed(): Promise<void> {
    const name = backupName(this.options.time.wallMs);
    this.options.target.kept.push(name);
    this.ended().end.resolve();
    await this.quiet();
  }

  async fail(why: string): Promise<void> {
    if (!this.isMaking) return;
    this.ended().end.reject(new Error(why));
    await this.quiet();
  }

  /** Looks whether one is due; whether one is being made then. */
  async look(): Promise<boolean> {
    await this.schedule.look();
    return this.isMaking;
  }

  private ended(): Open {
    const one = this.open.pop();
    if (!one) throw new Error("no backup is being made");
    return one;
  }

  private begin(wanted: BackupWanted): RunningBackup {
    const { time } = this.options;
    const atMs = time.wallMs;
    const one = { wanted, end: Promise.withResolvers<void>() };
    this.open.push(one);
    const made = { name: backupName(atMs), archiveBytes: 7, bytes: 9, files: 1, missing: 0 };
    return {
      bytes: new ReadableStream({ start: (controller) => controller.close() }),
      at: Promise.resolve(atMs),
      done: one.end.promise.then(() => made),
      stop: () => void this.fail("the backup was stopped"),
    };
  }

  /** What follows from the end of a backup are a few turns of promises and writes to the store. */
  private async quiet(): Promise<void> {
    await until("the job is over", () => this.jobs.progress === undefined);
    await nextTurn();
  }
}

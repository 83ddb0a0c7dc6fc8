/**
 * Makes recordings of finished uploads: each is mended first, one at a time per node. The rows of the store are the queue, so that nothing in it is lost,
 * and a lease decides which node takes a row. Applications, senders and stays alternate (mending-order.ts).
 *
 * The steps of one upload: its row notes the place of the mended file, the file is mended, stored under that place, and the upload becomes a
 * recording in the same transaction that marks the place which is not used for removal. After `kill -9` between two of them, the next attempt
 * starts over with another place. Whatever cannot be mended is listed as it came.
 */
import { Problem } from "../../protocol/codes.ts";
import type { Lease } from "../../store/contract/leases.ts";
import type { UploadRow, WaitingUpload } from "../../store/contract/recordings.ts";
import type { Faults } from "../../telemetry/faults.ts";
import type { Log } from "../../telemetry/log.ts";
import type { UploadLocks } from "../uploads/locks.ts";
import { LIST_USED_MS, MENDED_PER_LIST } from "./limits.ts";
import type { MendOne } from "./mend-one.ts";
import { MendingStopped } from "./mender.ts";
import { beyondBounds, MendingOrder } from "./mending-order.ts";

interface MendingQueueParts {
  readonly store: { finishedUploads(limit: number): Promise<WaitingUpload[]> };
  readonly locks: Pick<UploadLocks, "exclusively">;
  readonly one: Pick<MendOne, "mendAndAdd" | "removeLeftovers" | "stop">;
  readonly faults: Pick<Faults, "guarded">;
  readonly log: Pick<Log, "error">;
}

const POLL_EVERY_MS = 30_000;
const ROWS_AT_ONCE = 1000;
/** After a failure that is not the file's, such as a bucket that does not answer. It doubles with each. */
const FIRST_RETRY_MS = 30_000;
const RETRY_MAX_MS = 3_600_000;
/** What another node, or the deletion of an upload, can answer. */
const TAKEN = ["upload_busy", "upload_complete", "recording_not_found"];

interface Failure {
  readonly count: number;
  readonly retryMs: number;
}

export class MendingQueue {
  /** Bound: one entry per upload of the last list, which has at most ROWS_AT_ONCE. */
  private failures = new Map<string, Failure>();
  private readonly order = new MendingOrder();
  private timer: Timer | undefined;
  private running: Promise<void> | undefined;
  private isWoken = false;
  private isStopped = false;

  constructor(private readonly parts: MendingQueueParts) {}

  /** Also takes what an earlier run of the service has left. */
  start(): void {
    this.timer = setInterval(
      this.parts.faults.guarded("timer", () => this.wake()),
      POLL_EVERY_MS,
    );
    this.wake();
  }

  /** An upload may have been finished. Does not wait for it. */
  wake(): void {
    if (this.isStopped) return;
    this.isWoken = true;
    this.running ??= this.run();
  }

  /** How many finished uploads could not be listed when that was last tried. */
  get waiting(): number {
    return this.failures.size;
  }

  /** Resolves when nothing is left that can be listed now. */
  async idle(): Promise<void> {
    await this.running;
  }

  /** What is under way is taken up again after the next start. */
  async stop(): Promise<void> {
    this.isStopped = true;
    clearInterval(this.timer);
    await this.parts.one.stop();
    await this.running;
  }

  /** Never rejects. */
  private async run(): Promise<void> {
    const { one, log } = this.parts;
    try {
      await one.removeLeftovers();
      while (this.isWoken && !this.isStopped) {
        this.isWoken = false;
        while (await this.takeAll());
      }
    } catch (err) {
      log.error({ err }, "finished uploads could not be listed as recordings; this is tried again in a moment");
    } finally {
      this.running = undefined;
    }
  }

  /** Whether anything was listed: meanwhile more may have been finished. */
  private async takeAll(): Promise<boolean> {
    const tried = new Set<string>();
    let isAny = false;
    // Bound: no pass goes on for longer, and the next one begins at once.
    while (tried.size < ROWS_AT_ONCE && !this.isStopped) {
      const due = await this.due(tried);
      if (due.length === 0) break;
      isAny = (await this.takeSome(due, tried)) || isAny;
    }
    return isAny && !this.isStopped;
  }

  private async due(tried: ReadonlySet<string>): Promise<WaitingUpload[]> {
    const rows = await this.parts.store.finishedUploads(ROWS_AT_ONCE);
    const ids = new Set(rows.map(({ id }) => id));
    this.failures = new Map([...this.failures].filter(([id]) => ids.has(id)));
    return rows.filter(({ id }) => !tried.has(id) && (this.failures.get(id)?.retryMs ?? 0) <= performance.now());
  }

  /**
   * Takes what is due, one after the other, until the list is old: what was finished meanwhile may be someone else's. Not with a new list for each: the store
   * ranks all files that wait, so each would cost the more the more there are.
   */
  private async takeSome(due: readonly WaitingUpload[], tried: Set<string>): Promise<boolean> {
    const left = new Set(due);
    const untilMs = performance.now() + LIST_USED_MS;
    let isAny = false;
    for (let mended = 0; mended < MENDED_PER_LIST && performance.now() < untilMs; ) {
      // Those beyond the bounds first: they take no time.
      const beyond = [...left].find((one) => beyondBounds(one) !== undefined);
      const row = beyond ?? this.order.next([...left]);
      if (!row || this.isStopped) break;
      left.delete(row);
      tried.add(row.id);
      const startedMs = performance.now();
      isAny = (await this.take(row)) || isAny;
      if (beyond) continue;
      this.order.spent(row, performance.now() - startedMs);
      mended++;
    }
    return isAny;
  }

  private async take(row: WaitingUpload): Promise<boolean> {
    const { locks, one, log } = this.parts;
    const work = (mine: UploadRow, lease: Lease): Promise<void> => one.mendAndAdd(mine, lease, beyondBounds(row));
    try {
      await locks.exclusively(row.app, row.id, work, "finished");
      return true;
    } catch (err) {
      if (err instanceof MendingStopped || (err instanceof Problem && TAKEN.includes(err.code))) return false;
      const count = (this.failures.get(row.id)?.count ?? 0) + 1;
      const waitMs = Math.min(FIRST_RETRY_MS * 2 ** (count - 1), RETRY_MAX_MS);
      this.failures.set(row.id, { count, retryMs: performance.now() + waitMs });
      log.error(
        { err, recording: row.id },
        `a finished upload could not be listed; the next attempt is in ${waitMs / 1000} s`,
      );
      return false;
    }
  }
}

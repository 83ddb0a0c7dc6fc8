/**
 * Calls that complete the same upload at the same time: one works, and the others wait for what it finds. Each would otherwise ask the storage
 * again and again, also after its caller has gone.
 */
import type { AppId } from "../base/ids.ts";
import { Problem } from "../protocol/codes.ts";
import type { RecordingRow } from "../store/contract/recordings.ts";

export interface CompleteRequest {
  /** Unix seconds; absent: now. */
  readonly endTime?: number | undefined;
  /** How many bytes were sent; needed where no part has named the total. */
  readonly total?: number | undefined;
}

interface Run {
  readonly wanted: CompleteRequest;
  readonly outcome: Promise<RecordingRow | Error>;
  waiting: number;
}

/** Calls that wait for one upload at the same time. */
const WAITING_MAX = 100;

export const isBusy = (error: Error): boolean => error instanceof Problem && error.code === "upload_busy";
export const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));

export class Completions {
  /** By application and upload. Bound: one entry per upload that is being completed here: OPEN_UPLOADS_MAX per application. */
  private readonly runs = new Map<string, Run>();

  /** `waitMs`: for how long a call waits for others that fail. */
  constructor(private readonly waitMs: number) {}

  async complete(
    app: AppId,
    id: string,
    wanted: CompleteRequest,
    work: () => Promise<RecordingRow>,
  ): Promise<RecordingRow> {
    const key = `${app} ${id}`;
    const before = this.runs.get(key);
    const untilMs = performance.now() + this.waitMs;
    for (;;) {
      const other = this.runs.get(key);
      const outcome = await (other ? joined(other) : this.run(key, wanted, work));
      if (!(outcome instanceof Error)) return outcome;
      // A failure may be due to what another call wanted, or to bytes that have come since that call began.
      const isShared = !other || (other !== before && isSame(other.wanted, wanted));
      if (isShared || performance.now() > untilMs) throw outcome;
    }
  }

  private async run(
    key: string,
    wanted: CompleteRequest,
    work: () => Promise<RecordingRow>,
  ): Promise<RecordingRow | Error> {
    const outcome = work().catch(asError);
    this.runs.set(key, { wanted, outcome, waiting: 0 });
    const found = await outcome;
    this.runs.delete(key);
    return found;
  }
}

function joined(run: Run): Promise<RecordingRow | Error> {
  if (run.waiting >= WAITING_MAX) throw new Problem("upload_busy");
  run.waiting++;
  return run.outcome;
}

const isSame = (one: CompleteRequest, other: CompleteRequest): boolean =>
  one.endTime === other.endTime && one.total === other.total;

/**
 * Who is next to have a file mended. Applications alternate, within them the addresses that files came from, and within these stays: the one that has used the
 * least time is next. So a guest that sends very many files, each made to take long, keeps others waiting for one of them at most, or for the end of a list (LIST_USED_MS).
 *
 * The time is kept while nothing of theirs waits. Otherwise someone who brings one costly file at a time would be new with each, and every second file would be theirs.
 *
 * Not a queue of its own (base/fair-queue.ts): the files wait in rows that all nodes share, and it is their CPU time that is shared fairly, not their number.
 */
import type { WaitingUpload } from "../../store/contract/recordings.ts";
import { WAITING_PER_ROOM_MAX, WAITING_PER_STAY_MAX } from "./limits.ts";

interface Used {
  /** Whole seconds, one at least for each file, counted from where it was when it came. */
  seconds: number;
  /** The number of the last time that it was served; 0: it was not. */
  lastServed: number;
  /** The seconds of the one within it that was served last, as it began. */
  reached: number;
  usedMs: number;
}

type Level = (row: WaitingUpload) => string;

const LEVELS: readonly Level[] = [
  ({ app }) => app,
  ({ app, sender, stay }) => `${app} ${sender ?? stay}`,
  ({ app, sender, stay }) => `${app} ${sender} ${stay}`,
];

/** By then the others have used as much: one file takes minutes at most. */
const REMEMBERED_MS = 3_600_000;
const REMEMBERED_MAX = 10_000;

const nothing = (): Used => ({ seconds: 0, lastServed: 0, reached: 0, usedMs: 0 });

export class MendingOrder {
  /** Bound: REMEMBERED_MAX, and what was not served for REMEMBERED_MS is forgotten. The one that was served least recently is the first. */
  private readonly used = new Map<string, Used>();
  private readonly all = nothing();

  constructor(
    private readonly monotonicMs: () => number = () => performance.now(),
    private readonly max = REMEMBERED_MAX,
  ) {}

  next(rows: readonly WaitingUpload[]): WaitingUpload | undefined {
    this.forgetOld();
    let within = this.all;
    let left = rows;
    for (const level of LEVELS) {
      const { reached } = within;
      const [first] = [...new Set(left.map(level))].sort((one, other) => this.compare(one, other, reached));
      if (first === undefined) return undefined;
      left = left.filter((row) => level(row) === first);
      within = this.used.get(first) ?? nothing();
    }
    return left[0];
  }

  spent(row: WaitingUpload, ms: number): void {
    const served = ++this.all.lastServed;
    const usedMs = this.monotonicMs();
    const had: [string, Used][] = [];
    let within = this.all;
    for (const level of LEVELS) {
      const key = level(row);
      const used = this.used.get(key) ?? nothing();
      within.reached = startOf(used, within.reached);
      used.seconds = within.reached + Math.max(1, Math.round(ms / 1000));
      Object.assign(used, { lastServed: served, usedMs });
      had.push([key, used]);
      within = used;
    }
    // A stay first: it is forgotten before its application, which says where those within it are.
    for (const [key, used] of had.reverse()) {
      this.used.delete(key);
      this.used.set(key, used);
    }
    this.forgetOld();
  }

  private compare(one: string, other: string, reached: number): number {
    const [a, b] = [this.used.get(one) ?? nothing(), this.used.get(other) ?? nothing()];
    return startOf(a, reached) - startOf(b, reached) || a.lastServed - b.lastServed;
  }

  private forgetOld(): void {
    const before = this.monotonicMs() - REMEMBERED_MS;
    for (const [key, { usedMs }] of this.used) {
      if (this.used.size <= this.max && usedMs >= before) return;
      this.used.delete(key);
    }
  }
}

/** Newcomers, and those who were away, begin where the others are: neither behind all of them, nor with hours in front of them. */
const startOf = ({ seconds }: Used, reached: number): number => Math.max(seconds, reached);

/** Why a file is not mended although it waits; undefined: it will be. */
export function beyondBounds({ nthOfStay, nthOfRoom }: WaitingUpload): string | undefined {
  if (nthOfStay > WAITING_PER_STAY_MAX) return `more than ${WAITING_PER_STAY_MAX} files of its participant wait for it`;
  if (nthOfRoom > WAITING_PER_ROOM_MAX) return `more than ${WAITING_PER_ROOM_MAX} files of its room wait for it`;
  return undefined;
}

/**
 * Who is next to have a file mended. Applications take turns, within them the addresses that files came from, and within these stays: the one that has used the
 * least time is next. So a guest that sends very many files, each made to take long, keeps others waiting for one of them at most.
 */
import type { WaitingUpload } from "../../store/recordings.ts";
import { WAITING_PER_ROOM_MAX, WAITING_PER_STAY_MAX } from "./mend-limits.ts";

interface Used {
  /** Whole seconds, one at least for each file. */
  seconds: number;
  /** The number of the last turn; 0: it has had none. */
  lastTurn: number;
}

type Level = (row: WaitingUpload) => string;

const LEVELS: readonly Level[] = [
  ({ app }) => app,
  ({ app, sender, stay }) => `${app} ${sender ?? stay}`,
  ({ app, sender, stay }) => `${app} ${sender} ${stay}`,
];

export class MendingTurns {
  /** Bound: those that had files in the last list, which is bounded. */
  private used = new Map<string, Used>();
  private turn = 0;

  next(rows: readonly WaitingUpload[]): WaitingUpload | undefined {
    this.forgetAllBut(rows);
    let left = rows;
    for (const level of LEVELS) {
      const keys = [...new Set(left.map(level))];
      this.admit(keys);
      const [first] = keys.sort((one, other) => this.compare(one, other));
      left = left.filter((row) => level(row) === first);
    }
    return left[0];
  }

  spent(row: WaitingUpload, ms: number): void {
    this.turn++;
    for (const level of LEVELS) {
      const used = this.used.get(level(row));
      if (!used) continue;
      used.seconds += Math.max(1, Math.round(ms / 1000));
      used.lastTurn = this.turn;
    }
  }

  /** Newcomers begin where those are who have used the least: neither behind all others, nor with hours in front of them. */
  private admit(keys: readonly string[]): void {
    const known = keys.flatMap((key) => this.used.get(key)?.seconds ?? []);
    const seconds = known.length === 0 ? 0 : Math.min(...known);
    for (const key of keys) if (!this.used.has(key)) this.used.set(key, { seconds, lastTurn: 0 });
  }

  private compare(one: string, other: string): number {
    const [a, b] = [this.used.get(one), this.used.get(other)];
    if (!a || !b) return 0;
    return a.seconds - b.seconds || a.lastTurn - b.lastTurn;
  }

  private forgetAllBut(rows: readonly WaitingUpload[]): void {
    const keys = new Set(rows.flatMap((row) => LEVELS.map((level) => level(row))));
    for (const key of this.used.keys()) if (!keys.has(key)) this.used.delete(key);
  }
}

/** Why a file is not mended although it waits; undefined: it has its turn. */
export function beyondBounds({ nthOfStay, nthOfRoom }: WaitingUpload): string | undefined {
  if (nthOfStay > WAITING_PER_STAY_MAX) return `more than ${WAITING_PER_STAY_MAX} files of its participant wait for it`;
  if (nthOfRoom > WAITING_PER_ROOM_MAX) return `more than ${WAITING_PER_ROOM_MAX} files of its room wait for it`;
  return undefined;
}

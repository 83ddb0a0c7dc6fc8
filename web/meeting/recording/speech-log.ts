/** When the person of a run speaks, by how loud its microphone is in each tenth of a second. */

export const WINDOW_MS = 100;

/** From and to, in ms from the start of the run. */
export type Interval = readonly [fromMs: number, toMs: number];

/** Quieter than any speech into a microphone: about -40 dB. */
const QUIET = 0.01;
/** Speech is that much louder than what is always there, such as a fan. */
const ABOVE_NOISE = 2.5;
/** The noise is as quiet as its quietest moment. It is believed to rise this slowly: in a minute of speech without any pause, it doubles. */
const NOISE_RISES_BY = 1.0012;
const NOISE_MAX = 0.2;
/** Shorter pauses are a part of speech. */
const PAUSE_MS = 700;
/** What is shorter is a click, or a key of the keyboard. */
const SHORTEST_MS = 300;
/** Beyond this many, intervals with the shortest pauses between them become one. The service takes 2,000. */
const INTERVALS_MAX = 1500;

export class SpeechLog {
  /** Bound: INTERVALS_MAX, and the one that goes on. */
  #intervals: Interval[] = [];
  #noise = QUIET;
  #atMs = 0;
  #pauseMs = PAUSE_MS;

  /** The next tenth of a second: its root mean square, 0 to 1. */
  add(level: number): void {
    this.#noise = Math.min(NOISE_MAX, level < this.#noise ? Math.max(level, QUIET / 10) : this.#noise * NOISE_RISES_BY);
    const isLoud = level > Math.max(QUIET, this.#noise * ABOVE_NOISE);
    const from = this.#atMs;
    this.#atMs += WINDOW_MS;
    if (isLoud) this.#spoke(from, this.#atMs);
  }

  /** Tenths of a second of which nothing is known. */
  skip(windows: number): void {
    this.#atMs += windows * WINDOW_MS;
  }

  /** How many tenths of a second were added. */
  get windows(): number {
    return this.#atMs / WINDOW_MS;
  }

  /** In order. */
  get intervals(): readonly Interval[] {
    return this.#intervals.filter(([from, to]) => to - from >= SHORTEST_MS);
  }

  #spoke(from: number, to: number): void {
    const last = this.#intervals.at(-1);
    if (last && from - last[1] <= this.#pauseMs) {
      this.#intervals[this.#intervals.length - 1] = [last[0], to];
      return;
    }
    // One that has ended, and was a click.
    if (last && last[1] - last[0] < SHORTEST_MS) this.#intervals.pop();
    this.#intervals.push([from, to]);
    while (this.#intervals.length > INTERVALS_MAX) this.#joinMore();
  }

  #joinMore(): void {
    this.#pauseMs *= 2;
    const joined: Interval[] = [];
    for (const one of this.#intervals) {
      const last = joined.at(-1);
      if (last && one[0] - last[1] <= this.#pauseMs) joined[joined.length - 1] = [last[0], one[1]];
      else joined.push(one);
    }
    this.#intervals = joined;
  }
}

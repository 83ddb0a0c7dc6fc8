/** Who speaks, by the levels of all: it changes slowly, because a picture that jumps at every cough is hard to follow. */
const AUDIBLE = 0.01;
/** What is left of a level at the next look: there are gaps between syllables. */
const FADES_BY = 0.85;
/** How long one has to be the loudest before it is shown. */
const TAKES_OVER_MS = 500;
/** How long one is shown after it has become silent. */
const STAYS_MS = 1500;

export class SpeakerChoice {
  #speaker: string | undefined;
  #heardMs = 0;
  #candidate: string | undefined;
  #candidateMs = 0;
  #levels: ReadonlyMap<string, number> = new Map();

  /** Levels are 0 to 1; asked about ten times per second. */
  next(now: ReadonlyMap<string, number>, nowMs: number): string | undefined {
    const before = this.#levels;
    const levels = new Map([...now].map(([who, one]) => [who, Math.max(one, (before.get(who) ?? 0) * FADES_BY)]));
    this.#levels = levels;
    let loudest: string | undefined;
    let level = AUDIBLE;
    for (const [who, one] of levels) if (one > level) [loudest, level] = [who, one];
    if (loudest !== this.#candidate) [this.#candidate, this.#candidateMs] = [loudest, nowMs];
    const spoke = this.#speaker === undefined ? undefined : levels.get(this.#speaker);
    if (spoke !== undefined && spoke > AUDIBLE) this.#heardMs = nowMs;
    if (loudest !== undefined && nowMs - this.#candidateMs >= TAKES_OVER_MS) {
      if (loudest !== this.#speaker) this.#heardMs = nowMs;
      this.#speaker = loudest;
    } else if (spoke === undefined || nowMs - this.#heardMs >= STAYS_MS) this.#speaker = undefined;
    return this.#speaker;
  }
}

/**
 * Several globs as one automaton. State i of a glob means "its first i literals are matched"; a state loops on what the gap at
 * that position accepts, and there are no other transitions. A set of states is therefore a bit set, one symbol costs one pass
 * over the integers of that set, and no pattern can make matching worse than linear.
 */
import type { Glob } from "./glob.ts";

export const SLASH = 47;

/**
 * A symbol is a UTF-16 unit or one of these two, which stand for an unknown part of a text: FILL for a run without `/` and without
 * any character of the patterns, DEEP for any run. Only gaps that accept every such run match them.
 */
export const FILL = -1;
export const DEEP = -2;

/** Not a symbol. */
const NONE = -3;

/** A set of states, one bit per state. */
export type States = Int32Array<ArrayBuffer>;

const statesOf = (globs: readonly Glob[]): number => globs.reduce((sum, glob) => sum + glob.gaps.length, 0);

/** How many 32-bit integers a set of these globs' states takes. */
export const widthOf = (globs: readonly Glob[]): number => (statesOf(globs) + 31) >>> 5;

export class Automaton {
  /** The 32-bit integers of a set of states: the cost of one step. */
  readonly width: number;
  private readonly start: States;
  private readonly final: States;
  private readonly loops: States;
  private readonly loopsExceptSlash: States;
  /** The literal that leads out of a state; NONE in the last state of a glob. */
  private readonly literals: Int32Array;
  /**
   * The states that each literal leads out of, grouped by UTF-16 unit: entries begins[i] to begins[i + 1] belong to units[i], and
   * each is the index of an integer of a state set and the mask of its states. Flat and sparse, because every connection holds
   * one automaton for its token's patterns, and a hundred patterns can contain thousands of units: one set per unit would take 20 MB.
   */
  private readonly units: Int32Array;
  private readonly begins: Int32Array;
  private readonly stepIndexes: Int32Array;
  private readonly stepMasks: Int32Array;

  constructor(globs: readonly Glob[]) {
    const states = statesOf(globs);
    this.width = widthOf(globs);
    this.start = this.empty();
    this.final = this.empty();
    this.loops = this.empty();
    this.loopsExceptSlash = this.empty();
    this.literals = new Int32Array(states).fill(NONE);
    let state = 0;
    for (const glob of globs) {
      add(this.start, state);
      for (let i = 0; i < glob.gaps.length; i++, state++) {
        const gap = glob.gaps[i];
        if (gap === "any") add(this.loops, state);
        if (gap !== "none") add(this.loopsExceptSlash, state);
        const unit = glob.literals[i];
        if (unit === undefined) add(this.final, state);
        else this.literals[state] = unit;
      }
    }
    ({
      units: this.units,
      begins: this.begins,
      indexes: this.stepIndexes,
      masks: this.stepMasks,
    } = stepsByUnit(this.literals));
  }

  empty(): States {
    return new Int32Array(this.width);
  }

  /** The index of a unit among `units`, or -1. */
  private find(unit: number): number {
    let [low, high] = [0, this.units.length - 1];
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const found = this.units[middle] as number;
      if (found === unit) return middle;
      if (found < unit) low = middle + 1;
      else high = middle - 1;
    }
    return -1;
  }

  private loopsOn(symbol: number): States {
    return symbol === SLASH || symbol === DEEP ? this.loops : this.loopsExceptSlash;
  }

  initial(): States {
    return this.start.slice();
  }

  accepting(): States {
    return this.final.slice();
  }

  /** Writes into `to` the states that `from` reaches on a symbol; false if there are none. */
  step(from: States, symbol: number, to: States): boolean {
    const loops = this.loopsOn(symbol);
    let alive = 0;
    for (let w = 0; w < this.width; w++) {
      const stays = (from[w] as number) & (loops[w] as number);
      to[w] = stays;
      alive |= stays;
    }
    const unit = this.find(symbol);
    if (unit < 0) return alive !== 0;
    const { stepIndexes, stepMasks } = this;
    const end = this.begins[unit + 1] as number;
    for (let i = this.begins[unit] as number; i < end; i++) {
      const w = stepIndexes[i] as number;
      const moved = (from[w] as number) & (stepMasks[i] as number);
      if (moved === 0) continue;
      to[w] = (to[w] as number) | (moved << 1);
      // The last state of a glob has no literal, so this never leads into another glob, nor beyond the last integer.
      if (moved < 0) to[w + 1] = (to[w + 1] as number) | 1;
      alive = 1;
    }
    return alive !== 0;
  }

  /** Writes into `from` the states that lead into one of `to` on a symbol. */
  stepBack(to: States, symbol: number, from: States): void {
    const loops = this.loopsOn(symbol);
    for (let w = 0; w < this.width; w++) from[w] = (to[w] as number) & (loops[w] as number);
    const unit = this.find(symbol);
    if (unit < 0) return;
    const end = this.begins[unit + 1] as number;
    for (let i = this.begins[unit] as number; i < end; i++) {
      const w = this.stepIndexes[i] as number;
      const next = ((to[w] as number) >>> 1) | ((to[w + 1] ?? 0) << 31);
      from[w] = (from[w] as number) | (next & (this.stepMasks[i] as number));
    }
  }

  /** The states that lead into one of `states` on a symbol. Both lists are in descending order. */
  before(states: readonly number[], symbol: number): number[] {
    const loops = this.loopsOn(symbol);
    const found: number[] = [];
    for (const state of states) {
      if (has(loops, state) && found.at(-1) !== state) found.push(state);
      if (this.literals[state - 1] === symbol) found.push(state - 1);
    }
    return found;
  }

  accepts(states: States): boolean {
    for (let w = 0; w < this.width; w++) if ((states[w] as number) & (this.final[w] as number)) return true;
    return false;
  }

  matches(text: string): boolean {
    let from = this.initial();
    let to = this.empty();
    for (let i = 0; i < text.length; i++) {
      if (!this.step(from, text.charCodeAt(i), to)) return false;
      [from, to] = [to, from];
    }
    return this.accepts(from);
  }

  /** Like `matches`, for a text whose unknown parts are FILL and DEEP. */
  matchesSymbols(symbols: readonly number[]): boolean {
    let from = this.initial();
    let to = this.empty();
    for (const symbol of symbols) {
      if (!this.step(from, symbol, to)) return false;
      [from, to] = [to, from];
    }
    return this.accepts(from);
  }
}

/** More than the states of PATTERNS_MAX patterns of PATTERN_MAX_BYTES. */
const STATES_MAX = 2 ** 20;

/** The steps of all states that have a literal, sorted by unit, then by index. */
function stepsByUnit(literals: Int32Array) {
  const keys = new Float64Array(literals.length);
  let count = 0;
  for (let state = 0; state < literals.length; state++)
    if (literals[state] !== NONE) keys[count++] = (literals[state] as number) * STATES_MAX + state;
  // Bound: the letters of PATTERNS_MAX patterns of PATTERN_MAX_BYTES.
  const units: number[] = [];
  const begins: number[] = [];
  const indexes: number[] = [];
  const masks: number[] = [];
  for (const key of keys.subarray(0, count).sort()) {
    const unit = Math.floor(key / STATES_MAX);
    const state = key % STATES_MAX;
    const isNew = units.at(-1) !== unit;
    if (isNew) {
      units.push(unit);
      begins.push(indexes.length);
    }
    const bit = 1 << (state & 31);
    if (!isNew && indexes.at(-1) === state >>> 5) masks[masks.length - 1] = (masks.at(-1) as number) | bit;
    else {
      indexes.push(state >>> 5);
      masks.push(bit);
    }
  }
  begins.push(indexes.length);
  return {
    units: Int32Array.from(units),
    begins: Int32Array.from(begins),
    indexes: Int32Array.from(indexes),
    masks: Int32Array.from(masks),
  };
}

export const add = (set: States, state: number): void => {
  set[state >>> 5] = (set[state >>> 5] as number) | (1 << (state & 31));
};

export const has = (set: States, state: number): boolean => (((set[state >>> 5] as number) >>> (state & 31)) & 1) === 1;

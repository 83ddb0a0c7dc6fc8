/**
 * Several globs as one automaton. State i of a glob means "its first i literals are matched"; a state loops on whatever the
 * gap at that place lets through, and there are no other transitions. So a set of states is a bit set, one symbol costs one
 * pass over its words, and no pattern can make matching worse than linear.
 */
import type { Glob } from "./glob.ts";

export const SLASH = 47;

/**
 * A symbol is a UTF-16 unit or one of these two, which stand for a part of a text that is not known: a run that holds no `/`
 * and no character of any pattern, and a run of anything. Only gaps that let every such run through take them.
 */
export const FILL = -1;
export const DEEP = -2;

/** A set of states, one bit each. */
export type States = Int32Array<ArrayBuffer>;

export class Automaton {
  /** Words of a set of states: the cost of one step. */
  readonly words: number;
  private readonly start: States;
  private readonly final: States;
  private readonly loops: States;
  private readonly loopsExceptSlash: States;
  /** unit → the states that a literal of that unit leads out of. */
  private readonly steps = new Map<number, States>();

  constructor(globs: readonly Glob[]) {
    const states = globs.reduce((sum, glob) => sum + glob.gaps.length, 0);
    this.words = (states + 31) >>> 5;
    this.start = this.empty();
    this.final = this.empty();
    this.loops = this.empty();
    this.loopsExceptSlash = this.empty();
    let state = 0;
    for (const glob of globs) {
      add(this.start, state);
      for (let i = 0; i < glob.gaps.length; i++, state++) {
        const gap = glob.gaps[i];
        if (gap === "any") add(this.loops, state);
        if (gap !== "none") add(this.loopsExceptSlash, state);
        const unit = glob.literals[i];
        if (unit === undefined) add(this.final, state);
        else add(this.stepsOn(unit), state);
      }
    }
  }

  empty(): States {
    return new Int32Array(this.words);
  }

  private stepsOn(unit: number): States {
    let set = this.steps.get(unit);
    if (!set) {
      set = this.empty();
      this.steps.set(unit, set);
    }
    return set;
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

  /** Writes into `to` where the states `from` lead on a symbol; false if nowhere. */
  step(from: States, symbol: number, to: States): boolean {
    const { words } = this;
    const loops = this.loopsOn(symbol);
    const steps = this.steps.get(symbol);
    let alive = 0;
    if (!steps) {
      for (let w = 0; w < words; w++) alive |= to[w] = (from[w] as number) & (loops[w] as number);
      return alive !== 0;
    }
    let carry = 0;
    for (let w = 0; w < words; w++) {
      const here = from[w] as number;
      const moved = here & (steps[w] as number);
      const next = (here & (loops[w] as number)) | (moved << 1) | carry;
      carry = moved >>> 31;
      to[w] = next;
      alive |= next;
    }
    return alive !== 0;
  }

  /** Writes into `from` which states lead into one of `to` on a symbol. */
  stepBack(to: States, symbol: number, from: States): void {
    const loops = this.loopsOn(symbol);
    const steps = this.steps.get(symbol);
    let carry = 0;
    for (let w = this.words - 1; w >= 0; w--) {
      const next = to[w] as number;
      from[w] = (next & (loops[w] as number)) | (steps ? ((next >>> 1) | carry) & (steps[w] as number) : 0);
      carry = next << 31;
    }
  }

  /** Which states lead into one of `states` on a symbol. Both lists are in descending order. */
  before(states: readonly number[], symbol: number): number[] {
    const loops = this.loopsOn(symbol);
    const steps = this.steps.get(symbol);
    const found: number[] = [];
    for (const state of states) {
      if (has(loops, state) && found.at(-1) !== state) found.push(state);
      if (state > 0 && steps && has(steps, state - 1)) found.push(state - 1);
    }
    return found;
  }

  accepts(states: States): boolean {
    for (let w = 0; w < this.words; w++) if ((states[w] as number) & (this.final[w] as number)) return true;
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

export const add = (set: States, state: number): void => {
  set[state >>> 5] = (set[state >>> 5] as number) | (1 << (state & 31));
};

export const has = (set: States, state: number): boolean => (((set[state >>> 5] as number) >>> (state & 31)) & 1) === 1;

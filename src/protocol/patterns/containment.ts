/**
 * Decides exactly whether every text that one glob (the "part") matches is also matched by some glob of a set, even if it takes
 * several globs of the set together.
 *
 * No glob contains every character. The texts that are hardest to match are therefore those whose wildcards are filled with a
 * character that no pattern contains: if a pattern matches such a text, one of its gaps accepts the filling, and would accept any
 * other run without `/` as well. Only the number of `/` in each `**` of the part is left to vary:
 *
 * - A part without `**` has one such text. It is covered if that text is matched, and then one pattern covers it alone.
 * - A part with `**` is covered if the text is matched for every combination of slash counts, one count per `**`. The search below
 *   goes through the part from left to right with the set of states that the patterns can be in. Above some count that set no
 *   longer changes, so each `**` has only a few different continuations.
 *
 * Choices at different `**` can combine, and for patterns made for that purpose the problem is coNP-hard. The search learns from
 * each success: the few states that were needed are sufficient wherever they occur again at that position. `Effort` bounds the
 * rest, and exceeding it is an answer of its own, not a "no".
 */
import { CONTAINMENT_SEARCH_MAX_STEPS, CONTAINMENT_STEPS_PER_REQUEST } from "../limits.ts";
import { type Automaton, add, DEEP, FILL, has, SLASH, type States } from "./automaton.ts";
import type { Glob } from "./glob.ts";

/** The next piece of work would exceed what the effort allows. */
export class EffortExceeded extends Error {}

/** The work of one or several decisions. A step reads one 32-bit integer of a set of states. */
export class Effort {
  spent = 0;
  /** Steps that searches may still take. */
  searchLeft = CONTAINMENT_SEARCH_MAX_STEPS;

  /** `allowed`: the steps that may be spent in all. */
  constructor(private readonly allowed = Number.POSITIVE_INFINITY) {}

  /** Called before the work is done; throws if that would exceed the allowed steps. */
  spend(steps: number): void {
    if (this.spent + steps > this.allowed) throw new EffortExceeded();
    this.spent += steps;
  }

  get requests(): number {
    return requestsOf(this.spent);
  }
}

/** The work in whole requests, to be charged to the rate of the key that caused it. */
export const requestsOf = (steps: number): number => Math.floor(steps / CONTAINMENT_STEPS_PER_REQUEST);

/**
 * `example` makes a text that the part matches and the patterns do not, from a character that no pattern contains.
 * `covered: undefined`: the search reached its limit before it was decided.
 */
export type Containment =
  | { covered: true }
  | { covered: false; example: (filling: string) => string }
  | { covered: undefined };

const COVERED: Containment = { covered: true };
const UNDECIDED: Containment = { covered: undefined };

/**
 * The text of the part that is hardest to match. With `**` as DEEP, a pattern that matches it covers the part alone; with `**` as
 * FILL it is the text where no `**` contains a slash.
 */
export function hardestText({ gaps, literals }: Glob, any = DEEP): number[] {
  const symbols: number[] = [];
  for (let i = 0; i < gaps.length; i++) {
    if (gaps[i] !== "none") symbols.push(gaps[i] === "any" ? any : FILL);
    if (i < literals.length) symbols.push(literals[i] as number);
  }
  return symbols;
}

/** Whether the union of the automaton's globs covers the part. */
export function contains(whole: Automaton, part: Glob, effort: Effort): Containment {
  const search = new Search(whole, hardestText(part), effort);
  try {
    return search.run() ? COVERED : { covered: false, example: (filling) => search.example(filling) };
  } catch (error) {
    if (error instanceof SearchExhausted) return UNDECIDED;
    throw error;
  }
}

class SearchExhausted extends Error {}

/** States that together suffice to cover the rest of the part. */
type Core = readonly number[];

class Search {
  /** The symbols before, between and after the `**` of the part. */
  private readonly blocks: readonly (readonly number[])[];
  /**
   * By place, which is the number of the next `**`: the states from which at least part of the rest can be matched. Bound:
   * PATTERNS_MAX patterns, for one question.
   */
  private readonly useful: States[] = [];
  /** By place: the states that each cover the rest alone. Bound: PATTERNS_MAX patterns, for one question. */
  private readonly alone: States[] = [];
  /** By place. Bound: `searchLeft`; finding a core costs more steps than its length. */
  private readonly learned: Core[][];
  /** The number of slashes chosen for each `**` so far. Bound: PATTERN_MAX_BYTES, for one question. */
  private readonly slashes: number[] = [];

  constructor(
    private readonly whole: Automaton,
    symbols: readonly number[],
    private readonly effort: Effort,
  ) {
    const blocks: number[][] = [[]];
    for (const symbol of symbols) {
      if (symbol === DEEP) blocks.push([]);
      else blocks.at(-1)?.push(symbol);
    }
    this.blocks = blocks;
    this.learned = blocks.map(() => []);
  }

  /** false: `example` returns a text that is not covered. */
  run(): boolean {
    const first = this.through(this.whole.initial(), this.block(0));
    if (this.blocks.length === 1) return this.whole.accepts(first);
    this.lookBack();
    keepOnly(first, this.useful[1] as States);
    return this.coreAt(1, first) !== undefined;
  }

  example(filling: string): string {
    const text = (symbols: readonly number[]): string =>
      symbols.map((symbol) => (symbol === FILL ? filling : String.fromCharCode(symbol))).join("");
    return this.blocks
      .map((block, i) => (i === 0 ? "" : filling + `/${filling}`.repeat(this.slashes[i] ?? 0)) + text(block))
      .join("");
  }

  private block(at: number): readonly number[] {
    return this.blocks[at] ?? [];
  }

  private spend(steps: number): void {
    this.effort.spend(steps);
    this.effort.searchLeft -= steps;
    if (this.effort.searchLeft < 0) throw new SearchExhausted();
  }

  private through(states: States, symbols: readonly number[]): States {
    this.spend(this.whole.width * (symbols.length + 1));
    let [from, to] = [states.slice(), this.whole.empty()];
    for (const symbol of symbols) {
      this.whole.step(from, symbol, to);
      [from, to] = [to, from];
    }
    return from;
  }

  private backThrough(states: States, symbols: readonly number[]): States {
    this.spend(this.whole.width * (symbols.length + 1));
    let [to, from] = [states.slice(), this.whole.empty()];
    for (const symbol of symbols.toReversed()) {
      this.whole.stepBack(to, symbol, from);
      [to, from] = [from, to];
    }
    return to;
  }

  /** Fills `useful` and `alone`, from the part's end to its beginning. */
  private lookBack(): void {
    let [useful, alone] = [this.whole.accepting(), this.whole.accepting()];
    this.alone[this.blocks.length] = alone;
    this.useful[this.blocks.length] = useful;
    for (let place = this.blocks.length - 1; place > 0; place--) {
      alone = this.backThrough(alone, [DEEP, ...this.block(place)]);
      useful = this.backThrough(useful, [FILL, ...this.block(place)]);
      while (include(useful, this.backThrough(useful, [FILL, SLASH])));
      this.alone[place] = alone;
      this.useful[place] = useful;
    }
  }

  /** Those of `states` that suffice to cover the rest for every number of slashes; undefined if all together do not. */
  private coreAt(place: number, states: States): Core | undefined {
    const known = this.knownCore(place, states);
    if (known || place === this.blocks.length) return known;
    let core: Core = [];
    const done: number[] = [];
    for (const { slashes, behind } of this.branches(place, states)) {
      this.slashes[place] = slashes;
      if (!this.suffices(core, place, slashes)) {
        const needed = this.coreAt(place + 1, behind);
        if (!needed) return undefined;
        const origins = this.origins(needed, states, place, slashes);
        // What this branch needs often suffices for the others too. A smaller core applies to more sets of states.
        const isEnough = done.every((one) => this.suffices(origins, place, one));
        core = isEnough ? origins : [...new Set([...core, ...origins])];
      }
      done.push(slashes);
    }
    this.learned[place]?.push(core);
    return core;
  }

  /** Like `coreAt` without a search: undefined may also mean that it is not known. */
  private knownCore(place: number, states: States): Core | undefined {
    const single = firstOfBoth(states, this.alone[place] as States);
    if (single !== undefined) return [single];
    for (const core of this.learned[place] ?? []) {
      let at = 0;
      while (at < core.length && has(states, core[at] as number)) at++;
      this.spend(at + 1);
      if (at === core.length) return core;
    }
    return undefined;
  }

  /** Whether these states are known to cover the rest if the `**` at `place` contains that number of slashes. */
  private suffices(core: Core, place: number, slashes: number): boolean {
    if (core.length === 0) return false;
    const states = this.whole.empty();
    for (const state of core) add(states, state);
    return this.knownCore(place + 1, this.through(states, this.choice(place, slashes))) !== undefined;
  }

  /** The symbols of the `**` at `place`, with that number of slashes, and of the block after it. */
  private choice(place: number, slashes: number): number[] {
    return [FILL, ...Array.from({ length: slashes }, () => [SLASH, FILL]).flat(), ...this.block(place)];
  }

  /** The states after the block at `place`, for each number of slashes in its `**`. The smallest sets come first. */
  private branches(place: number, states: States): Branch[] {
    const useful = this.useful[place + 1] as States;
    const branches: Branch[] = [];
    let inside = this.through(states, [FILL]);
    for (let slashes = 0; ; slashes++) {
      const behind = this.through(inside, this.block(place));
      const size = keepOnly(behind, useful);
      branches.push({ slashes, behind, size });
      const deeper = this.through(inside, [SLASH, FILL]);
      if (size === 0 || isSame(deeper, inside)) break;
      inside = deeper;
    }
    return branches.sort((one, other) => one.size - other.size);
  }

  /** For each of `reached`, one of `states` that leads to it by that choice; one that leads to several is listed once. */
  private origins(reached: Core, states: States, place: number, slashes: number): Core {
    const path = this.choice(place, slashes).reverse();
    const chosen: number[] = [];
    for (const state of reached) {
      let origins = [state];
      for (const symbol of path) {
        this.spend(2 * origins.length);
        origins = this.whole.before(origins, symbol);
      }
      if (origins.some((one) => chosen.includes(one))) continue;
      const origin = origins.find((one) => has(states, one));
      if (origin !== undefined) chosen.push(origin);
    }
    return chosen;
  }
}

interface Branch {
  readonly slashes: number;
  readonly behind: States;
  readonly size: number;
}

/** Removes from `set` what is not in `other`; returns how many are left. */
function keepOnly(set: States, other: States): number {
  let size = 0;
  for (let w = 0; w < set.length; w++) {
    let bits = (set[w] as number) & (other[w] as number);
    set[w] = bits;
    for (; bits !== 0; bits &= bits - 1) size++;
  }
  return size;
}

/** Adds `more` to `set`; returns whether that changed anything. */
function include(set: States, more: States): boolean {
  let changed = 0;
  for (let w = 0; w < set.length; w++) {
    const before = set[w] as number;
    set[w] = before | (more[w] as number);
    changed |= (set[w] as number) ^ before;
  }
  return changed !== 0;
}

function isSame(one: States, other: States): boolean {
  for (let w = 0; w < one.length; w++) if (one[w] !== other[w]) return false;
  return true;
}

function firstOfBoth(one: States, other: States): number | undefined {
  for (let w = 0; w < one.length; w++) {
    const both = (one[w] as number) & (other[w] as number);
    if (both !== 0) return w * 32 + (31 - Math.clz32(both & -both));
  }
  return undefined;
}

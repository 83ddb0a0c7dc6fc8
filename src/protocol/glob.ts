/**
 * Channel patterns: `*` is any run without `/`, `**` any run, both possibly empty; `\*` and `\\` are literal.
 *
 * A pattern is a list of literal characters with a loop of some kind before, between and behind them. State i means "the
 * first i literals are matched"; a state loops on what its gap lets through. There are no other transitions, so a set of
 * states is a bit set, one character costs one pass over its words, and no pattern can make matching worse than linear.
 */
import { PATTERN_MAX_BYTES } from "./limits.ts";
import { hasControl, isReserved, isWellFormed, utf8Bytes } from "./names.ts";

const SLASH = 47;

/** What the gap at a state lets through: nothing, any run without `/`, any run. */
type Gap = "none" | "segment" | "any";

export interface Glob {
  readonly source: string;
  /** UTF-16 units that must occur in this order. */
  readonly literals: readonly number[];
  /** One more than literals: gaps[i] stands before literals[i]. */
  readonly gaps: readonly Gap[];
  /** The pattern without any wildcard, unescaped: then matching is comparing. */
  readonly exact: string | undefined;
}

/** The compiled pattern, or a sentence that says what is wrong with it. */
export function parseGlob(source: string): Glob | string {
  if (source === "") return "a pattern must not be empty";
  if (utf8Bytes(source) > PATTERN_MAX_BYTES) return `a pattern must be at most ${PATTERN_MAX_BYTES} bytes`;
  if (hasControl(source)) return "a pattern must not contain control characters";
  if (!isWellFormed(source)) return "a pattern must be well-formed Unicode";
  const literals: number[] = [];
  const gaps: Gap[] = ["none"];
  for (let i = 0; i < source.length; i++) {
    let unit = source.charCodeAt(i);
    if (source[i] === "*") {
      let stars = 1;
      while (source[i + 1] === "*") {
        stars++;
        i++;
      }
      if (stars > 2) return "a pattern must not contain '***'";
      gaps[literals.length] = stars === 1 ? "segment" : "any";
      continue;
    }
    if (source[i] === "\\") {
      const next = source[++i];
      if (next !== "*" && next !== "\\") return "in a pattern '\\' must be followed by '*' or '\\'";
      unit = next.charCodeAt(0);
    }
    literals.push(unit);
    gaps.push("none");
  }
  const exact = gaps.some((gap) => gap !== "none") ? undefined : String.fromCharCode(...literals);
  return { source, literals, gaps, exact };
}

/** The states of several globs side by side in one bit set. State 0 of each is its start. */
class Automaton {
  private readonly words: number;
  private readonly start: Uint32Array;
  private readonly final: Uint32Array;
  private readonly loops: Uint32Array;
  private readonly loopsExceptSlash: Uint32Array;
  /** unit → the states that a literal of that unit leads out of. */
  private readonly steps = new Map<number, Uint32Array>();

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

  private empty(): Uint32Array {
    return new Uint32Array(this.words);
  }

  private stepsOn(unit: number): Uint32Array {
    let set = this.steps.get(unit);
    if (!set) {
      set = this.empty();
      this.steps.set(unit, set);
    }
    return set;
  }

  get alphabet(): Iterable<number> {
    return this.steps.keys();
  }

  get size(): number {
    return this.words;
  }

  initial(): Uint32Array {
    return this.start.slice();
  }

  /** Writes into `to` where the states `from` lead on `unit`; false if nowhere. */
  step(from: Uint32Array, unit: number, to: Uint32Array): boolean {
    const loops = unit === SLASH ? this.loops : this.loopsExceptSlash;
    const steps = this.steps.get(unit);
    let carry = 0;
    let alive = 0;
    for (let w = 0; w < this.words; w++) {
      const here = from[w] as number;
      const moved = steps ? here & (steps[w] as number) : 0;
      const next = (here & (loops[w] as number)) | (moved << 1) | carry;
      carry = moved >>> 31;
      to[w] = next;
      alive |= next;
    }
    return alive !== 0;
  }

  accepts(states: Uint32Array): boolean {
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
}

const add = (set: Uint32Array, state: number): void => {
  set[state >>> 5] = (set[state >>> 5] as number) | (1 << (state & 31));
};

/** The work that containment checks may still do; several checks of one token share one budget. */
export interface Budget {
  steps: number;
}

/** Far above what real patterns need (thousands), far below what an attacker wants: some 20 ms. */
export const containmentBudget = (): Budget => ({ steps: 400_000 });

/** What visiting one pair costs beside its words. */
const VISIT_STEPS = 16;

/** A set of patterns, compiled once, asked often. */
export class Scope {
  readonly patterns: readonly string[];
  private readonly exact: ReadonlySet<string>;
  private readonly wild: Automaton | undefined;
  private readonly globs: readonly Glob[];
  private all: Automaton | undefined;
  /** `**` is among them: the commonest pattern, and the answer to every question. */
  private readonly everything: boolean;

  constructor(globs: readonly Glob[]) {
    this.globs = globs;
    this.everything = globs.some((glob) => glob.source === "**");
    this.patterns = globs.map((glob) => glob.source);
    this.exact = new Set(globs.flatMap((glob) => (glob.exact === undefined ? [] : [glob.exact])));
    const wild = globs.filter((glob) => glob.exact === undefined);
    this.wild = wild.length > 0 ? new Automaton(wild) : undefined;
  }

  /** Whether a channel of that name is covered. Reserved names never are. */
  matches(channel: string): boolean {
    if (isReserved(channel)) return false;
    return this.everything || this.exact.has(channel) || (this.wild?.matches(channel) ?? false);
  }

  /**
   * Whether every name `glob` matches is matched by some pattern of this set: exact, also where only several patterns
   * together cover it. Where that cannot be shown in bounded work the answer is no.
   */
  covers(glob: Glob, budget: Budget = containmentBudget()): boolean {
    if (glob.exact !== undefined) return this.matches(glob.exact);
    if (isReserved(glob.source)) return false;
    if (this.everything) return true;
    if (this.patterns.includes(glob.source)) return true;
    return this.uncovered(glob, budget) === undefined;
  }

  /**
   * A text that `glob` matches and this set does not, or undefined if there is none; when the budget runs out, the text it
   * had come to. Breadth-first over pairs (state of `glob`, set of our states): `glob` may choose any path, and we must
   * accept at the end of each.
   */
  uncovered(glob: Glob, budget: Budget = containmentBudget()): string | undefined {
    this.all ??= new Automaton(this.globs);
    const ours = this.all;
    const alphabet = representatives(ours, glob);
    const seen = new Set<string>();
    const queue: { at: number; states: Uint32Array; text: string }[] = [];
    const visit = (at: number, states: Uint32Array, text: string): void => {
      const id = `${at}:${states.join()}`;
      if (seen.has(id)) return;
      seen.add(id);
      queue.push({ at, states, text });
    };
    visit(0, ours.initial(), "");
    for (let head = 0; head < queue.length; head++) {
      const { at, states, text } = queue[head] as (typeof queue)[number];
      if (at === glob.literals.length && !ours.accepts(states)) return text;
      const literal = glob.literals[at];
      const gap = glob.gaps[at];
      for (const unit of alphabet) {
        const loops = gap === "any" || (gap === "segment" && unit !== SLASH);
        if (!loops && unit !== literal) continue;
        budget.steps -= ours.size + VISIT_STEPS;
        if (budget.steps < 0) return text;
        const next = new Uint32Array(ours.size);
        ours.step(states, unit, next);
        const longer = text + String.fromCharCode(unit);
        if (loops) visit(at, next, longer);
        if (unit === literal) visit(at + 1, next, longer);
      }
    }
    return undefined;
  }
}

/** One unit for each class that the patterns tell apart: every literal, `/`, and one that none of them names. */
function representatives(ours: Automaton, glob: Glob): number[] {
  const units = new Set<number>([SLASH, ...ours.alphabet, ...glob.literals]);
  let other = 0x61;
  while (units.has(other)) other++;
  return [...units, other];
}

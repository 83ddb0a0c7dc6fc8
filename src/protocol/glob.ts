/**
 * Channel patterns: `*` is any run without `/`, `**` any run, both possibly empty; `\*` and `\\` are literal. A pattern is a
 * list of literal characters with a gap of some kind before, between and behind them.
 */
import { Automaton, FILL, wordsOf } from "./automaton.ts";
import { type Containment, contains, Effort, hardestText } from "./containment.ts";
import { PATTERN_MAX_BYTES } from "./limits.ts";
import { hasControl, isReserved, isWellFormed, utf8Bytes } from "./names.ts";

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
  /** What every match begins and ends with: the literals before the first gap and behind the last. */
  readonly head: string;
  readonly tail: string;
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
  const text = String.fromCharCode(...literals);
  const firstGap = gaps.findIndex((gap) => gap !== "none");
  if (firstGap < 0) return { source, literals, gaps, exact: text, head: text, tail: text };
  const lastGap = gaps.findLastIndex((gap) => gap !== "none");
  return { source, literals, gaps, exact: undefined, head: text.slice(0, firstGap), tail: text.slice(lastGap) };
}

/** Up to so many patterns are compared one by one; with more, one pass over all of them is cheaper. */
const ONE_BY_ONE_MAX = 8;

/** Verdicts that a scope remembers, so that the tokens of one backend, which are often alike, are decided once. */
const VERDICTS_MAX = 128;
/** Cheaper ones are not worth a place, in words that are looked at. */
const VERDICT_MIN_WORDS = 1000;

/** What building a word of an automaton costs, in words that are looked at. */
const WORDS_TO_BUILD = 256;

/** A set of patterns, compiled once, asked often. */
export class Scope {
  readonly patterns: readonly string[];
  private readonly sources: ReadonlySet<string>;
  private readonly exact: ReadonlySet<string>;
  private readonly matcher: Automaton | undefined;
  /** Made when it is first needed: a token's scope, of which each connection has one, is never asked what it covers. */
  private wildGlobs: readonly Glob[] | undefined;
  /** Those of `wild` that were needed by themselves. Bound: a scope has at most 100 patterns. */
  private readonly single = new Map<Glob, Automaton>();
  /** What costly questions were answered, by the source of the glob. Bound: VERDICTS_MAX, the oldest goes first. */
  private verdicts: Map<string, boolean> | undefined;
  /** `**` is among them: the commonest pattern, and the answer to every question. */
  private readonly everything: boolean;

  constructor(globs: readonly Glob[]) {
    this.patterns = globs.map((glob) => glob.source);
    this.sources = new Set(this.patterns);
    this.everything = this.sources.has("**");
    this.exact = new Set(globs.flatMap((glob) => (glob.exact === undefined ? [] : [glob.exact])));
    const wild = globs.filter((glob) => glob.exact === undefined);
    this.matcher = wild.length > 0 ? new Automaton(wild) : undefined;
  }

  private get wild(): readonly Glob[] {
    this.wildGlobs ??= this.patterns
      .map(parseGlob)
      .filter((glob): glob is Glob => typeof glob !== "string" && glob.exact === undefined);
    return this.wildGlobs;
  }

  /** Whether a channel of that name is covered. Reserved names never are. */
  matches(channel: string): boolean {
    if (isReserved(channel)) return false;
    return this.everything || this.exact.has(channel) || (this.matcher?.matches(channel) ?? false);
  }

  /** Whether every name `glob` matches is matched by some pattern of this set; undefined: it takes too much to find out. */
  covers(glob: Glob, effort = new Effort()): boolean | undefined {
    if (isReserved(glob.exact ?? glob.source)) return false;
    if (this.everything || this.sources.has(glob.source)) return true;
    if (glob.exact !== undefined && this.exact.has(glob.exact)) return true;
    const known = this.verdicts?.get(glob.source);
    if (known !== undefined) return known;
    const before = effort.spent;
    const verdict = this.decide(glob, effort);
    if (verdict !== undefined && effort.spent - before >= VERDICT_MIN_WORDS) this.remember(glob.source, verdict);
    return verdict;
  }

  private remember(source: string, verdict: boolean): void {
    this.verdicts ??= new Map();
    const [oldest] = this.verdicts.size < VERDICTS_MAX ? [] : this.verdicts.keys();
    if (oldest !== undefined) this.verdicts.delete(oldest);
    this.verdicts.set(source, verdict);
  }

  private decide(glob: Glob, effort: Effort): boolean | undefined {
    if (this.coversAlone(glob, effort)) return true;
    if (!glob.gaps.includes("any") || !this.matcher) return false;
    // Cheap, and most of what is not covered is found out here.
    if (!matchesSymbols(this.matcher, hardestText(glob, FILL), effort)) return false;
    return this.containment(glob, effort).covered;
  }

  /** Whether one pattern covers it by itself: the answer for all that people write, and for whatever has no `**`. */
  private coversAlone(glob: Glob, effort: Effort): boolean {
    effort.spend(this.wild.length);
    const candidates = this.wild.filter((one) => glob.head.startsWith(one.head) && glob.tail.endsWith(one.tail));
    if (candidates.some(isPrefix)) return true;
    const automata =
      candidates.length > ONE_BY_ONE_MAX && this.matcher ? [this.matcher] : candidates.map((one) => this.singleOf(one));
    const text = hardestText(glob);
    return automata.some((automaton) => matchesSymbols(automaton, text, effort));
  }

  private singleOf(glob: Glob): Automaton {
    const automaton = this.single.get(glob) ?? new Automaton([glob]);
    this.single.set(glob, automaton);
    return automaton;
  }

  /** The same, decided by the union of all patterns alone. `glob` must have a wildcard. */
  containment(glob: Glob, effort = new Effort()): Containment {
    // A name without wildcards is never part of the answer: the hardest texts hold characters that no pattern has.
    // The least demanding pattern first: of several that would do, the search relies on the first.
    const related = this.wild.filter((one) => agree(one, glob)).sort((one, other) => demands(one) - demands(other));
    effort.spend(wordsOf(related) * WORDS_TO_BUILD);
    return contains(new Automaton(related), glob, effort);
  }
}

function matchesSymbols(automaton: Automaton, symbols: readonly number[], effort: Effort): boolean {
  effort.spend(automaton.words * symbols.length);
  return automaton.matchesSymbols(symbols);
}

/** Some literal text and then `**`. */
const isPrefix = ({ head, literals, gaps }: Glob): boolean =>
  literals.length === head.length && gaps[literals.length] === "any";

/** Whether there can be a text that both match, as far as its beginning and its end say. */
const agree = (one: Glob, other: Glob): boolean =>
  (one.head.startsWith(other.head) || other.head.startsWith(one.head)) &&
  (one.tail.endsWith(other.tail) || other.tail.endsWith(one.tail));

const demands = ({ gaps }: Glob): number => gaps.filter((gap) => gap === "segment").length;

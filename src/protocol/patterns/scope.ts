/** A set of channel patterns: which channels it matches, and which other patterns it covers. */
import { isReserved } from "../names.ts";
import { Automaton, FILL, widthOf } from "./automaton.ts";
import { type Containment, contains, Effort, hardestText } from "./containment.ts";
import { type Glob, parseGlob } from "./glob.ts";

/** Up to this number, patterns are compared one by one; above it, one pass over all of them is cheaper. */
const ONE_BY_ONE_MAX = 8;

/** Verdicts that a scope caches: the tokens of one backend are often alike, and are then decided once. */
const VERDICTS_MAX = 128;
/** Verdicts that cost fewer steps than this are not cached. */
const VERDICT_MIN_STEPS = 1000;

/** What building one integer of an automaton's state sets costs, in steps. */
const STEPS_TO_BUILD = 256;

/** A set of patterns, compiled once and matched often. */
export class Scope {
  readonly patterns: readonly string[];
  /** Bound: PATTERNS_MAX. */
  private readonly sources: ReadonlySet<string>;
  /** Patterns without a wildcard. Bound: PATTERNS_MAX. */
  private readonly exact: ReadonlySet<string>;
  private readonly matcher: Automaton | undefined;
  /** Made on first use: the scope of a token, one per connection, only matches and never needs it. */
  private wildGlobs: readonly Glob[] | undefined;
  /** Automata of single patterns, made on first use. Bound: a scope has at most PATTERNS_MAX patterns. */
  private readonly single = new Map<Glob, Automaton>();
  /** Costly verdicts by the source of the glob. Bound: VERDICTS_MAX, the oldest is removed first. */
  private verdicts: Map<string, boolean> | undefined;
  /** `**` is among the patterns: the most common one, which matches and covers everything. */
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

  /** Whether a pattern matches this channel name. Reserved names never match. */
  matches(channel: string): boolean {
    if (isReserved(channel)) return false;
    return this.everything || this.exact.has(channel) || (this.matcher?.matches(channel) ?? false);
  }

  /** What `matches` costs for this name, in the steps of `Effort`. */
  stepsToMatch(channel: string): number {
    return this.everything || !this.matcher ? 0 : this.matcher.width * channel.length;
  }

  /** Whether every name that `glob` matches is matched by some pattern of this set; undefined: deciding it takes too much work. */
  covers(glob: Glob, effort = new Effort()): boolean | undefined {
    if (isReserved(glob.exact ?? glob.source)) return false;
    if (this.everything || this.sources.has(glob.source)) return true;
    if (glob.exact !== undefined && this.exact.has(glob.exact)) return true;
    const known = this.verdicts?.get(glob.source);
    if (known !== undefined) return known;
    const before = effort.spent;
    const verdict = this.decide(glob, effort);
    if (verdict !== undefined && effort.spent - before >= VERDICT_MIN_STEPS) this.remember(glob.source, verdict);
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
    // A cheap test that finds most of what is not covered.
    if (!matchesSymbols(this.matcher, hardestText(glob, FILL), effort)) return false;
    return this.containment(glob, effort).covered;
  }

  /** Whether one pattern covers it alone. This decides all globs without `**`, and almost all that people write. */
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

  /** Like `covers`, decided only by the union of all patterns. `glob` must have a wildcard. */
  containment(glob: Glob, effort = new Effort()): Containment {
    // Patterns without wildcards are left out: the hardest texts contain characters that no pattern has.
    // The least demanding patterns come first: where several suffice, the search uses the first.
    const related = this.wild
      .filter((one) => mayOverlap(one, glob))
      .sort((one, other) => segmentGaps(one) - segmentGaps(other));
    effort.spend(widthOf(related) * STEPS_TO_BUILD);
    return contains(new Automaton(related), glob, effort);
  }
}

function matchesSymbols(automaton: Automaton, symbols: readonly number[], effort: Effort): boolean {
  effort.spend(automaton.width * symbols.length);
  return automaton.matchesSymbols(symbols);
}

/** A literal text followed by `**`. */
const isPrefix = ({ head, literals, gaps }: Glob): boolean =>
  literals.length === head.length && gaps[literals.length] === "any";

/** Whether some text may match both, judged by its start and its end only. */
const mayOverlap = (one: Glob, other: Glob): boolean =>
  (one.head.startsWith(other.head) || other.head.startsWith(one.head)) &&
  (one.tail.endsWith(other.tail) || other.tail.endsWith(one.tail));

const segmentGaps = ({ gaps }: Glob): number => gaps.filter((gap) => gap === "segment").length;

/**
 * Channel patterns: `*` matches any run without `/`, `**` any run, both also the empty one; `\*` and `\\` are literal. A pattern is a
 * list of literal characters with a gap before, between and after them.
 */
import { PATTERN_MAX_BYTES } from "../limits.ts";
import { hasControl, isWellFormed, utf8Bytes } from "../names.ts";

/** What a gap accepts: nothing, any run without `/`, any run. */
type Gap = "none" | "segment" | "any";

export interface Glob {
  readonly source: string;
  /** UTF-16 units that must occur in this order. */
  readonly literals: readonly number[];
  /** One more than literals: gaps[i] is before literals[i]. */
  readonly gaps: readonly Gap[];
  /** The unescaped text of a pattern without wildcards, for which matching is a comparison. */
  readonly exact: string | undefined;
  /** What every match starts and ends with: the literals before the first gap and after the last. */
  readonly head: string;
  readonly tail: string;
}

/** The parsed pattern, or a sentence that says what is wrong with it. */
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

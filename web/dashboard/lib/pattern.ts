/**
 * Channel patterns for events that are on the page already: `*` matches any run without `/`, `**` any run; `\*` and `\\` are literal.
 * The service decides what it sends by src/protocol/glob.ts; that module needs more than a browser has.
 */
interface Part {
  /** undefined: a gap. */
  readonly char?: string;
  /** The gap also accepts `/`. */
  readonly crosses?: boolean;
}

function partsOf(pattern: string): Part[] {
  return [...pattern.matchAll(/\*\*|\*|\\(.)|./gsu)].map(([text, escaped]) =>
    text.startsWith("*") ? { crosses: text === "**" } : { char: escaped ?? text },
  );
}

/** Takes time in proportion to both lengths, whatever the pattern: it comes from the address, which others may write. */
export function matchesPattern(pattern: string, name: string): boolean {
  const parts = partsOf(pattern);
  // reached[i]: the first i parts match what was read of the name.
  let reached = [true];
  for (const [at, part] of parts.entries()) reached[at + 1] = reached[at] === true && part.char === undefined;
  for (const char of name) {
    const next = [false];
    for (const [at, part] of parts.entries())
      next[at + 1] =
        part.char === undefined
          ? next[at] === true || (reached[at + 1] === true && (part.crosses === true || char !== "/"))
          : reached[at] === true && part.char === char;
    reached = next;
  }
  return reached[parts.length] === true;
}

/** Suggests the known name that a misspelt one probably means. */

/** How many letters may differ: with two, a short name would match many others. */
const allowedDistance = (text: string): number => (text.length <= 4 ? 1 : 2);

/** Whether `wanted` continues a known name. Short names are left out, because they match by accident. */
const isExtensionOf = (name: string, wanted: string): boolean => name.length > 4 && wanted.startsWith(name);

const normalized = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, "");

export function nearest(given: string, known: readonly string[]): string | undefined {
  const wanted = normalized(given);
  const ranked = known
    .map((name) => ({ name, distance: distance(wanted, normalized(name)) }))
    .filter((one) => one.distance <= allowedDistance(wanted))
    .sort((a, b) => a.distance - b.distance);
  if (ranked[0]) return ranked[0].name;
  // A shortened or lengthened name: `admin` for `admin-token-file`, `expiresInSeconds` for `expiresInSec`.
  if (wanted.length < 3) return undefined;
  return (
    known.find((name) => normalized(name).startsWith(wanted)) ??
    known.find((name) => isExtensionOf(normalized(name), wanted))
  );
}

/** The end of a sentence about an unknown name: `; did you mean "keys"?`, or just a full stop. */
export function didYouMean(
  given: string,
  known: readonly string[],
  shown = (name: string): string => JSON.stringify(name),
): string {
  const name = nearest(given, known);
  return name === undefined ? "." : `; did you mean ${shown(name)}?`;
}

/** Damerau-Levenshtein distance: letters to add, drop, change or swap with their neighbour. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const changed = (last[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? (beforeLast[j - 2] as number) + 1
          : Number.POSITIVE_INFINITY;
      row.push(Math.min(changed, swapped, (last[j] as number) + 1, (row[j - 1] as number) + 1));
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] as number;
}

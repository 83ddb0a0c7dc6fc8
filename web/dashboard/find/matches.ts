/** Those with the text in their name, upper and lower case alike. Names that begin with it come first. */
export function matches<T>(all: readonly T[], typed: string, nameOf: (one: T) => string): readonly T[] {
  const wanted = typed.trim().toLowerCase();
  if (wanted === "") return all;
  const placed = all.flatMap((one) => {
    const at = nameOf(one).toLowerCase().indexOf(wanted);
    return at < 0 ? [] : [[one, at === 0 ? 0 : 1] as const];
  });
  return placed.sort(([, one], [, other]) => one - other).map(([one]) => one);
}

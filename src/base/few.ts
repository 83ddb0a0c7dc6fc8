/**
 * Lists that nearly always have one element: that one is kept by itself, because an array for it would take 64 bytes. A list is
 * replaced when it changes, never changed in place, so a loop over it goes on over what it was.
 */
export type Few<T extends object> = T | readonly T[] | undefined;

export function listOf<T extends object>(few: Few<T>): readonly T[] {
  if (few === undefined) return NONE;
  return isList(few) ? few : [few];
}

/** One for all: a list is never changed in place. */
const NONE: readonly never[] = Object.freeze([]);

/** Whether any of them passes the test. Without an array: it is asked for every member in every tick. */
export function anyOf<T extends object>(few: Few<T>, test: (one: T) => boolean): boolean {
  if (few === undefined) return false;
  return isList(few) ? few.some(test) : test(few);
}

/** The list with one element more, before the element at that index or at the end. */
export function withOne<T extends object>(few: Few<T>, one: T, at?: number): Few<T> {
  if (few === undefined) return one;
  const all = listOf(few);
  return all.toSpliced(at ?? all.length, 0, one);
}

/** The list without this element; the same list if it has no such element. */
export function withoutOne<T extends object>(few: Few<T>, one: T): Few<T> {
  if (!isList(few)) return few === one ? undefined : few;
  const at = few.indexOf(one);
  if (at < 0) return few;
  const rest = few.toSpliced(at, 1);
  return rest.length > 1 ? rest : rest[0];
}

export const isList = <T extends object>(few: Few<T>): few is readonly T[] => Array.isArray(few);

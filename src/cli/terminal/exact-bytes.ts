/** Bytes of a limit as people read them: in the largest unit that is exact. */

const UNITS = [
  ["TiB", 1024 ** 4],
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
] as const;

export function exactBytes(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return undefined;
  const [unit, size] = UNITS.find(([, size]) => bytes >= size && bytes % size === 0) ?? ["bytes", 1];
  return `${bytes / size} ${unit}`;
}

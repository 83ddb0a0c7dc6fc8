/** Times and sizes of limits, as people read them. */

const TIMES = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
  ["second", 1000],
] as const;

/** 43_200_000 → "12 hours". In the largest unit that is exact. */
export function timeText(ms: number): string {
  const [unit, length] = TIMES.find(([, one]) => ms >= one && ms % one === 0) ?? ["ms", 1];
  const count = ms / length;
  return `${count} ${unit}${count === 1 || unit === "ms" ? "" : "s"}`;
}

export const daysText = (count: number): string => (count === 1 ? "1 day" : `${count} days`);

const SIZES = [
  ["TiB", 1024 ** 4],
  ["GiB", 1024 ** 3],
  ["MiB", 1024 ** 2],
  ["KiB", 1024],
] as const;

/** 1_073_741_824 → "1 GiB", 900_000_000_000 → "838.2 GiB": in the largest unit, with one decimal. */
export function bytesText(bytes: number): string {
  const [unit, size] = SIZES.find(([, one]) => bytes >= one) ?? ["bytes", 1];
  return `${(bytes / size).toLocaleString("en", { maximumFractionDigits: 1 })} ${unit}`;
}

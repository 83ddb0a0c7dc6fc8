/** How long something takes or is ago, for sentences: `45 seconds`, `3 minutes`, `2 days`. */
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
] as const;

/** In the largest unit of which there are at least two, so that little is lost by rounding. */
export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  for (const [unit, length] of UNITS) if (seconds >= 2 * length) return `${Math.floor(seconds / length)} ${unit}s`;
  if (seconds < 1) return "less than a second";
  return seconds === 1 ? "1 second" : `${seconds} seconds`;
}

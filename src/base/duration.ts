/** How long something takes or is ago: in sentences (`45 seconds`, `3 minutes`, `2 days`), and as people type it (`45s`, `3m`, `2d`). */
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

const MS_IN = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
export type DurationUnit = keyof typeof MS_IN;

/** What `durationIn` reads, for messages. */
export const DURATION_FORMS = "90s, 15m, 12h or 7d";

/** `90s`, `15m`, or a number of `plain` units, as that many of them. undefined: it is none, or not a whole number of them. */
export function durationIn(text: string, plain: DurationUnit): number | undefined {
  const [, count, unit = plain] = /^(\d{1,15})(ms|s|m|h|d)?$/.exec(text) ?? [];
  const units = (Number(count) * MS_IN[unit as DurationUnit]) / MS_IN[plain];
  return count !== undefined && Number.isSafeInteger(units) ? units : undefined;
}

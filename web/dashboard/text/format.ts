/** Numbers, sizes and times as people read them. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const EXACT = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" });
const MOMENT = new Intl.DateTimeFormat("en", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const MINUTES = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const SHORT_MOMENT = new Intl.DateTimeFormat("en", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const DAY = new Intl.DateTimeFormat("en", { dateStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

/** 9871 → "9,871". */
export const whole = (value: number): string => WHOLE.format(value);

/** 38412 → "38.4K". Below a thousand at most one decimal. */
export const short = (value: number): string => (Math.abs(value) < 1000 ? rate(value) : SHORT.format(value));

/** A rate per second: 0.04 → "0.04", 3.14 → "3.1", 312 → "312". */
export function rate(value: number): string {
  if (value === 0) return "0";
  if (value < 0.01) return "<0.01";
  if (value < 1) return String(Number(value.toPrecision(2)));
  return value < 100 ? value.toFixed(1).replace(/\.0$/, "") : WHOLE.format(value);
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB"] as const;

/** 61440 → "60 KiB", as the command line says it. */
export function bytes(value: number): string {
  let size = value;
  let at = 0;
  while (size >= 1024 && at < SIZES.length - 1) {
    size /= 1024;
    at++;
  }
  return `${size < 10 && at > 0 ? size.toFixed(1).replace(/\.0$/, "") : WHOLE.format(size)} ${SIZES[at]}`;
}

export const percent = (share: number): string => `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;

const SPANS = [
  ["d", 86_400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
] as const;

/** 3725 → "1 h 2 min". Two units at most. */
export function duration(seconds: number): string {
  let left = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, size] of SPANS) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0 && parts.length < 2) parts.push(`${count} ${unit}`);
    else if (parts.length > 0) break;
  }
  return parts.join(" ") || "0 s";
}

/** A place in a recording or a meeting: 75 → "1:15", 3725 → "1:02:05". */
export function position(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60)];
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
}

/** "3 min ago", "in 2 h"; the nearest unit only. */
export function relative(unixSeconds: number, nowSeconds: number, now = "now"): string {
  const seconds = Math.round(unixSeconds - nowSeconds);
  const size = Math.abs(seconds);
  if (size < 5) return now;
  const [unit, length] = SPANS.find(([, one]) => size >= one) ?? (["s", 1] as const);
  const text = `${Math.floor(size / length)} ${unit}`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}

export const exactTime = (unixSeconds: number): string => EXACT.format(unixSeconds * 1000);
/** An appointment: "Fri, Nov 20, 2026, 10:00". */
export const appointment = (unixSeconds: number): string => MOMENT.format(unixSeconds * 1000);
/** The end of one: only the time, if it is on the same day. */
export const appointmentEnd = (unixSeconds: number, beganAt: number): string =>
  (day(unixSeconds) === day(beganAt) ? MINUTES : MOMENT).format(unixSeconds * 1000);
/** Where there is little room: "Nov 20, 10:00". */
export const shortMoment = (unixSeconds: number): string => SHORT_MOMENT.format(unixSeconds * 1000);
export const day = (unixSeconds: number): string => DAY.format(unixSeconds * 1000);
export const clock = (unixMs: number): string => CLOCK.format(unixMs);

/** A moment as the value of an input of type `datetime-local`, in the browser's time zone. */
export function toLocalInput(unixSeconds: number): string {
  const date = new Date(unixSeconds * 1000);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** undefined: the input is empty, or not a time. */
export function fromLocalInput(text: string): number | undefined {
  const ms = text === "" ? Number.NaN : new Date(text).getTime();
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000);
}

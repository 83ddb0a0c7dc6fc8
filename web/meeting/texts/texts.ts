/** Every text of the page, in the language of the person: the menu's choice, or the room's language, or the browser's. */
import { signal } from "@preact/signals";
import { en, type TextKey, type Texts } from "./en.ts";
import { LANGUAGE_NAMES, type Language } from "./names.ts";

/** English is part of the page; the others are loaded when they are chosen (loading.ts). Bound: the languages. */
const known: Partial<Record<Language, Texts>> = { en };

export const isKnown = (tag: Language): boolean => known[tag] !== undefined;

export function learn(tag: Language, texts: Texts): void {
  known[tag] = texts;
}

export const language = signal<Language>("en");

type Values = Readonly<Record<string, string | number>>;

/** Hebrew, Arabic and other scripts that are written from right to left. */
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\u{10800}-\u{10fff}\u{1e800}-\u{1eeff}]/u;

/** A name in such a script, between marks of direction: otherwise it turns the sentence around it, and what stands beside it changes sides. */
const isolated = (value: string): string => (RIGHT_TO_LEFT.test(value) ? `\u2068${value}\u2069` : value);

/** The text in the present language; components that call it are drawn again when it changes. */
export function t(key: TextKey, values: Values = {}): string {
  const text: string = (known[language.value] ?? en)[key];
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => isolated(String(values[name] ?? whole)));
}

/** `one` for exactly one, `other` for all other numbers: right for the four languages here. */
export function counted(count: number, one: TextKey, other: TextKey): string {
  const isOne = new Intl.PluralRules(language.value).select(count) === "one" && count !== 0;
  return t(isOne ? one : other, { count: new Intl.NumberFormat(language.value).format(count) });
}

/** "a, b and c". */
export const listed = (parts: readonly string[]): string =>
  new Intl.ListFormat(language.value, { type: "conjunction" }).format(parts.map(isolated));

/** Who records; the name is empty where the room itself does. */
export const recordedBy = (name: string): string => (name === "" ? t("recordingByRoom") : t("recordingBy", { name }));

const languageIn = (tag: string): Language | undefined =>
  (Object.keys(LANGUAGE_NAMES) as Language[]).find((one) => one === tag.toLowerCase().split("-")[0]);

/** The first of these tags that the page has. */
export const chosenLanguage = (tags: readonly string[]): Language => {
  for (const tag of tags) {
    const found = languageIn(tag);
    if (found) return found;
  }
  return "en";
};

const HOUR_MS = 3_600_000;

export const timeOfDay = (timeMs: number): string =>
  new Intl.DateTimeFormat(language.value, { timeStyle: "short" }).format(timeMs);

const TIME: Intl.DateTimeFormatOptions = { hour: "numeric", minute: "2-digit" };
const DAY: Intl.DateTimeFormatOptions = { weekday: "long", year: "numeric", month: "long", day: "numeric" };

/** With the date, unless it is within the next or the last 12 hours. With the time zone: people from several zones get the same invitation. */
export const moment = (timeMs: number, nowMs: number): string =>
  new Intl.DateTimeFormat(language.value, {
    ...(Math.abs(timeMs - nowMs) >= 12 * HOUR_MS && DAY),
    ...TIME,
    timeZoneName: "short",
  }).format(timeMs);

/** A running time, as clocks show it: 4:05, 1:04:05. */
export function clockTime(seconds: number): string {
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/** A length of time: seconds below two minutes, minutes above. */
export function duration(seconds: number): string {
  const [unit, value] =
    seconds < 120 ? (["second", seconds] as const) : (["minute", Math.round(seconds / 60)] as const);
  return new Intl.NumberFormat(language.value, { style: "unit", unit, unitDisplay: "long" }).format(Math.max(0, value));
}

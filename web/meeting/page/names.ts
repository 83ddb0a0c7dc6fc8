/** Names of people. */

export const NAME_MAX_CHARS = 64;

/** Control characters, and those that change the direction of the text around them, could make a name look like another. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

export const cleanName = (name: string): string =>
  [...name.replace(UNSAFE, "").replace(/\s+/g, " ").trim()].slice(0, NAME_MAX_CHARS).join("").trim();

/** One or two letters that stand for a person without a picture. */
export function initials(name: string): string {
  const [first = "", ...others] = name.split(/[\s._-]+/).filter((part) => /[\p{L}\p{N}]/u.test(part));
  const letters = [first, others.at(-1) ?? ""].map((part) => [...part].find((one) => /[\p{L}\p{N}]/u.test(one)) ?? "");
  return letters.join("").toLocaleUpperCase() || "?";
}

/** The same person has the same colour on every page: one of HUES. */
const HUES = 8;

export function hueOf(id: string): number {
  let hash = 0;
  for (const one of id) hash = (hash * 31 + (one.codePointAt(0) ?? 0)) >>> 0;
  return hash % HUES;
}

/**
 * Texts by outsiders that reach a terminal or a log: names, payloads, reasons, errors. A terminal would obey control characters in them, and
 * characters that show nothing, or turn the direction of what is around them, would make it display another text.
 */

/**
 * Control and format characters, lone surrogates, separators of lines and paragraphs. The joiners stay: emoji and several scripts are written with
 * them, and they change nothing around them.
 */
const UNSAFE = /(?!\u200c|\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const UNSAFE_IN_LINES = /(?!\u200c|\u200d|\n|\t)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const asEscape = (mark: string): string =>
  Array.from({ length: mark.length }, (_, at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** One line. The escapes are those of JSON, so within a string of JSON they do not change its value. */
export const printable = (text: string): string => text.replaceAll(UNSAFE, asEscape);

/** As `printable`, for a text with lines and columns of its own. */
export const printableLines = (text: string): string => text.replaceAll(UNSAFE_IN_LINES, asEscape);

/** One line of at most `maxChars`, without such characters: for a text that is kept, where escapes would be noise. */
export const plainLine = (text: string, maxChars: number): string =>
  text
    .slice(0, 4 * maxChars)
    .replaceAll(UNSAFE, " ")
    .replaceAll(/\s+/gu, " ")
    .trim()
    .slice(0, maxChars)
    .toWellFormed();

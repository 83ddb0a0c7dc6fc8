/** Names of people, as the others inside see them. */
import { Problem } from "../../protocol/codes.ts";
import { PERSON_NAME_MAX_CHARS } from "../contract/limits.ts";

/** Names of people who give none. A host is never shown as a guest. */
export const DEFAULT_NAME = "Guest";
export const DEFAULT_HOST_NAME = "Host";

/**
 * Characters that show nothing, or change the direction of the text around them: control and format characters, lone surrogates, separators of
 * lines. The zero-width joiner stays: emoji and several scripts are written with it.
 */
const HIDDEN = /(?!\u200d)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** No script needs more on one letter; a pile of marks would cover what is above and below the name. */
const MARKS_TOO_MANY = /(\p{M}{4})\p{M}+/gu;

/** Letters and signs that show nothing, such as fillers and the empty Braille pattern. */
const EMPTY = /[\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * The same before the name is normalised, which sorts the marks of a letter: a pile of thousands takes seconds. No letter is composed of as many, so what
 * is left of shorter piles stays the same.
 */
const MARKS_UNSORTED = /(\p{M}{16})\p{M}+/gu;

/** A character is composed of at most four, so the part that is shown of a longer text does not change. */
const UNCOMPOSED_MAX_CHARS = 4 * PERSON_NAME_MAX_CHARS;

/** Before it is normalised. Anyone may send a text of several kilobytes, so each step here MUST take linear time. */
const tidied = (text: string): string[] => [
  ...text.replace(HIDDEN, "").replace(MARKS_UNSORTED, "$1").replace(/\s+/gu, " ").trim(),
];

const shown = (characters: readonly string[]): string[] => [
  ...characters.join("").normalize("NFC").replace(MARKS_TOO_MANY, "$1"),
];

const isBlank = (text: string): boolean => text.replace(EMPTY, "").trim() === "";

/** The name that a person has typed; a default where nothing is left of it. */
export function typedName(text: string | undefined, otherwise = DEFAULT_NAME): string {
  const typed = tidied(text ?? "");
  const name = typed.length > UNCOMPOSED_MAX_CHARS ? typed : shown(typed);
  if (name.length > PERSON_NAME_MAX_CHARS) {
    const message = `must have at most ${PERSON_NAME_MAX_CHARS} characters`;
    throw new Problem("invalid_request", `name: ${message}`, undefined, { details: [{ field: "name", message }] });
  }
  const whole = name.join("");
  return isBlank(whole) ? otherwise : whole;
}

/** The name in an access token, which may be longer; undefined if it has none. */
export function vouchedName(text: unknown): string | undefined {
  const vouched = typeof text === "string" ? tidied(text).slice(0, UNCOMPOSED_MAX_CHARS) : [];
  const name = shown(vouched).slice(0, PERSON_NAME_MAX_CHARS).join("").trim();
  return isBlank(name) ? undefined : name;
}

/**
 * Offsets of streams over HTTP: the same place as a position (position.ts), in a form that sorts: `<16 digits>__<epoch>.<check>`. Parameters
 * that take a position take both.
 *
 * The second underscore is for libraries that do not treat offsets as opaque: the public server for Yjs adds one to a number behind a single
 * one, and most epochs begin with a digit. It leaves everything else as it is.
 */
import { type Position, parsePosition } from "../position.ts";

/** Where every stream begins. */
export const START = "0000000000000000_0000000000000000";
const DIGITS = 16;
/** Also with a single underscore, as they were before. */
const OFFSET = /^([0-9]{16})__?([a-z0-9]{1,16})\.([a-z0-9]{1,16})$/;

export const offsetText = ({ epoch, offset, check }: Position): string =>
  `${String(offset).padStart(DIGITS, "0")}__${epoch}.${check}`;

/** `undefined`: not an offset that this service has made. */
export function parseOffset(text: string): Position | undefined {
  const [, digits = "", epoch = "", check = ""] = OFFSET.exec(text) ?? [];
  return epoch === "" ? undefined : parsePosition(`${epoch}.${Number(digits)}.${check}`);
}

/** Either form of a place in a stream. */
export const parsePlace = (text: string): Position | undefined => parsePosition(text) ?? parseOffset(text);

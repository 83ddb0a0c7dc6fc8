/**
 * Offsets of streams over HTTP: the same place as a position (position.ts), in a form that sorts: `<16 digits>_<epoch>.<check>`. Parameters
 * that take a position take both.
 */
import { type Position, parsePosition } from "../position.ts";

/** Where every stream begins. */
export const START = "0000000000000000_0000000000000000";
const DIGITS = 16;
const OFFSET = /^([0-9]{16})_([a-z0-9]{1,16})\.([a-z0-9]{1,16})$/;

export const offsetText = ({ epoch, offset, check }: Position): string =>
  `${String(offset).padStart(DIGITS, "0")}_${epoch}.${check}`;

/** `undefined`: not an offset that this service has made. */
export function parseOffset(text: string): Position | undefined {
  const [, digits = "", epoch = "", check = ""] = OFFSET.exec(text) ?? [];
  return epoch === "" ? undefined : parsePosition(`${epoch}.${Number(digits)}.${check}`);
}

/** Either form of a place in a stream. */
export const parsePlace = (text: string): Position | undefined => parsePosition(text) ?? parseOffset(text);

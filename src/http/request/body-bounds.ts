/** Refuses bodies that would take long to read, before they are parsed. */
import type { Problem } from "../../protocol/codes.ts";
import { TOO_DEEP } from "../../protocol/json.ts";
import { excessOf } from "../../protocol/json-size.ts";
import { BODY_FIELDS_MAX, BODY_VALUES_MAX } from "../limits.ts";
import { cannotBeRead } from "./passed-body.ts";

/** A shorter text has no more than BODY_FIELDS_MAX fields: each takes at least the six characters of `"a":1,`. */
const COUNTED_MIN_CHARS = 6 * BODY_FIELDS_MAX;
const BOUNDS = { fields: BODY_FIELDS_MAX, values: BODY_VALUES_MAX };

const tooMany = (count: number, what: string): Problem => cannotBeRead(`it has more than ${count} ${what}`);

export function refuseManyValues(text: string): void {
  if (text.length < COUNTED_MIN_CHARS) return;
  const excess = excessOf(text, BOUNDS);
  if (excess) throw excess === "depth" ? cannotBeRead(TOO_DEEP) : tooMany(BOUNDS[excess], excess);
}

/** `&` and `&&` both separate two fields. */
export function refuseManyFormFields(text: string): void {
  let fields = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf("&", start);
    const end = found < 0 ? text.length : found;
    if (end > start && ++fields > BODY_FIELDS_MAX) throw tooMany(BODY_FIELDS_MAX, "fields");
    start = end + 1;
  }
}

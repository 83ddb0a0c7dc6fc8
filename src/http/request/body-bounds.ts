/** Refuses bodies that would take long to read, before they are parsed: one of 128 KB can have 60,000 values or 30,000 fields. */
import type { Problem } from "../../protocol/codes.ts";
import { DEPTH_MAX, TOO_DEEP } from "../../protocol/json.ts";
import { stringEnd } from "../../protocol/scan.ts";
import { BODY_FIELDS_MAX, BODY_VALUES_MAX } from "../limits.ts";
import { cannotBeRead } from "./passed-body.ts";

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** A shorter text has no more than BODY_FIELDS_MAX fields: each takes at least the six characters of `"a":1,`. */
const COUNTED_MIN_CHARS = 6 * BODY_FIELDS_MAX;

const tooMany = (count: number, what: string): Problem => cannotBeRead(`it has more than ${count} ${what}`);

/** `text` need not be valid JSON: that is found when it is parsed. */
export function refuseManyValues(text: string): void {
  if (text.length < COUNTED_MIN_CHARS) return;
  let [depth, fields, values] = [0, 1, 1];
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE: {
        const end = stringEnd(text, i);
        if (end <= i) return;
        i = end - 1;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > DEPTH_MAX) throw cannotBeRead(TOO_DEEP);
        if (++values > BODY_VALUES_MAX) throw tooMany(BODY_VALUES_MAX, "values");
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        break;
      case COLON:
        if (++values > BODY_VALUES_MAX) throw tooMany(BODY_VALUES_MAX, "values");
        break;
      case COMMA:
        if (depth <= 1 && ++fields > BODY_FIELDS_MAX) throw tooMany(BODY_FIELDS_MAX, "fields");
        if (++values > BODY_VALUES_MAX) throw tooMany(BODY_VALUES_MAX, "values");
    }
  }
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

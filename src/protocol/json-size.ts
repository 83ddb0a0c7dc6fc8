/** How much a JSON text contains, counted before it is parsed: one of 128 KB can have 60,000 values or 30,000 fields. */
import { DEPTH_MAX } from "./json.ts";
import { stringEnd } from "./scan.ts";

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

export interface SizeBounds {
  /** Fields of the outermost object. */
  readonly fields?: number;
  /** Objects, lists and keys count as one more each. */
  readonly values: number;
}

/** Says of what the text has too much. It need not be valid JSON: that is found when it is parsed. */
export function excessOf(text: string, bounds: SizeBounds): "depth" | "fields" | "values" | undefined {
  const { fields: fieldsMax = Number.POSITIVE_INFINITY, values: valuesMax } = bounds;
  let [depth, fields, values] = [0, 1, 1];
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE: {
        const end = stringEnd(text, i);
        if (end <= i) return undefined;
        i = end - 1;
        continue;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        if (++depth > DEPTH_MAX) return "depth";
        values++;
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth--;
        continue;
      case COLON:
        values++;
        break;
      case COMMA:
        if (depth <= 1 && ++fields > fieldsMax) return "fields";
        values++;
    }
    if (values > valuesMax) return "values";
  }
  return undefined;
}

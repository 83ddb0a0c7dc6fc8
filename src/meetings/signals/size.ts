/** How much a text has to parse, found out in one pass that builds nothing: guests send these, and a text of thousands of small values costs many times its bytes. */
import { stringEnd } from "../../protocol/scan.ts";

const QUOTE = 34;
const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;

/** `text` is valid JSON. Whether it has no list, and no more objects and strings, keys included, than that. */
export function isSmall(text: string, objectsMax: number, stringsMax: number): boolean {
  let objects = 0;
  let strings = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit === OPEN_BRACKET) return false;
    if (unit === OPEN_BRACE && ++objects > objectsMax) return false;
    if (unit !== QUOTE) continue;
    if (++strings > stringsMax) return false;
    i = stringEnd(text, i) - 1;
  }
  return true;
}

/**
 * Parses JSON of other nodes. Nesting is checked before a longer text is parsed: JSON.parse takes 80 ms for one MiB of brackets, and
 * would delay messages.
 */

/** The nesting of longer texts is checked before they are parsed. */
const DEPTH_UNCHECKED_CHARS = 4096;

/** undefined: it is not valid JSON, or nested deeper than `depthMax` levels. */
export function parseBounded(text: string, depthMax: number): unknown {
  if (text.length > DEPTH_UNCHECKED_CHARS && isDeeper(text, depthMax)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
/** `[` and `{`, `]` and `}` differ in this bit alone. */
const CURLY = 0x20;

function isDeeper(text: string, depthMax: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (isInString) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) isInString = false;
    } else if (code === QUOTE) isInString = true;
    else if ((code | CURLY) === 0x7b && ++depth > depthMax) return true;
    else if ((code | CURLY) === 0x7d) depth--;
  }
  return false;
}

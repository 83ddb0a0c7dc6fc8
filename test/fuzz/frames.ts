/** Texts that are frames, nearly frames, or nothing like them. */
import type { Chance } from "../support/random.ts";

const TYPES = [
  "subscribe",
  "unsubscribe",
  "publish",
  "send",
  "renew",
  "ping",
  "welcome",
  "ack",
  "",
  "constructor",
  "__proto__",
];
const KEYS = [
  "type",
  "channel",
  "to",
  "data",
  "token",
  "requestId",
  "includeSenderMetadata",
  "__proto__",
  "constructor",
  "d\\u0061ta",
  "x",
];
/** What JSON parsers get wrong: escapes, surrogates, separators, the ends of ranges. */
const EDGES = [
  "",
  "\\",
  "\\\\",
  '\\"',
  '"',
  "\\u0000",
  "\\ud800",
  "\\udc00",
  "\\ud83d\\ude42",
  "🙂",
  "\u0000",
  "\u007f",
  "\u0085",
  "\u2028",
  "\u2029",
  "\ufeff",
  "\ufffd",
  "\uffff",
  "\ud800",
  "é",
  "e\u0301",
  "\u202e",
  "\u200d",
  "/",
  "**",
  "_internal/",
];
const NUMBERS = ["0", "-0", "1", "-1", "1e5", "1E-400", "1e400", "12345678901234567890", "0.1"];
const NOT_NUMBERS = [...NUMBERS, "01", "1.", ".5", "+1", "NaN", "-"];
const SPACES = [" ", "\n", "\t", "\r\n", " ", "\n", "\t", "\u00a0"];
const MARKS = ["{", "}", "[", "]", ",", ":", '"', "\\", " ", "0", "null", "true", "//", "\u0000", "data", "\\u"];

/** One text of any kind. */
export function anyText(chance: Chance): string {
  switch (chance.below(10)) {
    case 0:
      return chance.bytes(chance.below(60)).toString(chance.once(2) ? "utf8" : "latin1");
    case 1:
      return scraps(chance, MARKS);
    case 2:
      return scraps(chance, EDGES);
    case 3:
    case 4:
      return frame(chance, false);
    case 5:
      return frame(chance, true);
    default:
      return mutated(chance, frame(chance, chance.once(3)));
  }
}

export function scraps(chance: Chance, from: readonly string[]): string {
  let text = "";
  for (let left = chance.below(20); left > 0; left--) text += chance.pick(from);
  return text;
}

/** An object with the fields of a frame; a wild one may have any of them twice, and of any type. */
function frame(chance: Chance, wild: boolean): string {
  const fields: [string, string][] = [["type", JSON.stringify(chance.pick(TYPES))]];
  if (!chance.once(4)) fields.push(["channel", JSON.stringify(`fuzz/${chance.below(5)}`)]);
  if (chance.once(3)) fields.push(["to", JSON.stringify(`fuzz-${chance.below(5)}`)]);
  if (!chance.once(3)) fields.push(["data", value(chance, 3, wild)]);
  if (chance.once(2)) fields.push(["requestId", JSON.stringify(`r${chance.below(1000)}`)]);
  if (chance.once(6)) fields.push(["includeSenderMetadata", chance.pick(["true", "false", "1"])]);
  if (wild)
    for (let left = chance.below(4); left >= 0; left--) fields.push([chance.pick(KEYS), value(chance, 2, wild)]);
  if (chance.once(2)) fields.reverse();
  const gap = (): string => (chance.once(12) ? chance.pick(SPACES) : "");
  return `${gap()}{${fields.map(([key, text]) => `${gap()}"${key}"${gap()}:${gap()}${text}${gap()}`).join(",")}}${gap()}`;
}

export function value(chance: Chance, depth: number, wild: boolean): string {
  const list = (one: () => string): string => Array.from({ length: chance.below(4) }, one).join(",");
  switch (chance.below(depth > 0 ? 6 : 4)) {
    case 0:
      return chance.pick(["null", "true", "false"]);
    case 1:
      return chance.pick(wild ? NOT_NUMBERS : NUMBERS);
    case 2:
      return JSON.stringify(scraps(chance, EDGES));
    case 3:
      return wild ? wildValue(chance) : String(chance.bits());
    case 4:
      return `[${list(() => value(chance, depth - 1, wild))}]`;
    default:
      return `{${list(() => `"${chance.pick(KEYS)}":${value(chance, depth - 1, wild)}`)}}`;
  }
}

function wildValue(chance: Chance): string {
  if (chance.once(200)) return "[".repeat(chance.below(3000));
  return `"${chance.once(2) ? scraps(chance, EDGES) : "\\".repeat(chance.below(8))}"`;
}

export function mutated(chance: Chance, text: string): string {
  let made = text;
  for (let left = chance.below(3); left >= 0; left--) {
    const at = chance.below(made.length + 1);
    const to = Math.min(made.length, at + 1 + chance.below(6));
    switch (chance.below(6)) {
      case 0:
        made = made.slice(0, at) + made.slice(to);
        break;
      case 1:
        made = made.slice(0, at) + chance.pick(MARKS) + made.slice(at);
        break;
      case 2:
        made = made.slice(0, at) + chance.pick(EDGES) + made.slice(to);
        break;
      case 3:
        made = made.slice(0, to) + made.slice(at);
        break;
      case 4:
        made = made.slice(0, at);
        break;
      default:
        made = made.slice(0, at) + String.fromCharCode(chance.below(0x10000)) + made.slice(at + 1);
    }
  }
  return made;
}

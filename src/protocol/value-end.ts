/**
 * Finds where a JSON value ends, and whether it is valid, without building it. Each character is one look into a table, so no text takes
 * much longer than another of its length, whatever it was made of: escapes, numbers, brackets or short strings.
 */

/** Deeper texts are refused. No text that a client may send is longer than twice this. */
const NESTS_MAX = 65_536;
/** The columns of the table are ASCII. Other characters may stand in strings only, which is true of the last one too. */
const COLUMNS = 128;
const OTHER = COLUMNS - 1;
/** After this many characters it is checked whether the scan is inside a string, where it can skip what needs no check. */
const BLOCK_CHARS = 128;

/** What a value is inside of. Each has its own copy of the states, which differ in what may follow a value. */
const NOTHING = 0;
const ARRAY = 1;
const OBJECT = 2;

const STATES = [
  ...["value", "firstValue", "firstKey", "key", "colon", "after"],
  ...["string", "escape", "u1", "u2", "u3", "u4", "keyString", "keyEscape", "keyU1", "keyU2", "keyU3", "keyU4"],
  ...["minus", "zero", "digits", "dot", "fraction", "e", "sign", "exponent"],
  ...["t", "tr", "tru", "f", "fa", "fal", "fals", "n", "nu", "nul"],
] as const;
type State = (typeof STATES)[number];

/** An entry of the table is where the row of the next state begins, or one of these. */
const OPEN_ARRAY = 3 * STATES.length * COLUMNS;
const OPEN_OBJECT = OPEN_ARRAY + 1;
const CLOSE = OPEN_ARRAY + 2;
/** A value that is inside of nothing has ended: with this character, or before it. */
const ENDS = OPEN_ARRAY + 3;
const ENDED = OPEN_ARRAY + 4;
const WRONG = OPEN_ARRAY + 5;

const rowOf = (inside: number, state: State): number => (inside * STATES.length + STATES.indexOf(state)) * COLUMNS;

const BLANKS = " \n\r\t";
const DIGITS = "0123456789";
const HEX = `${DIGITS}abcdefABCDEF`;
const ASCII = Array.from({ length: COLUMNS }, (_, code) => String.fromCharCode(code)).join("");
const PLAIN = ASCII.slice(32).replace(/["\\]/g, "");

/** From a state, with each of these characters, to another. */
const STEPS: readonly (readonly [State, string, State])[] = [
  ...(["value", "firstValue", "firstKey", "key", "colon", "after"] as const).map((one) => [one, BLANKS, one] as const),
  ...(["value", "firstValue"] as const).flatMap(
    (one) =>
      [
        [one, '"', "string"],
        [one, "-", "minus"],
        [one, "0", "zero"],
        [one, "123456789", "digits"],
        [one, "t", "t"],
        [one, "f", "f"],
        [one, "n", "n"],
      ] as const,
  ),
  ["firstKey", '"', "keyString"],
  ["key", '"', "keyString"],
  ["keyString", '"', "colon"],
  ["colon", ":", "value"],
  ["string", PLAIN, "string"],
  ["string", "\\", "escape"],
  ["escape", '"\\/bfnrt', "string"],
  ["escape", "u", "u1"],
  ["u1", HEX, "u2"],
  ["u2", HEX, "u3"],
  ["u3", HEX, "u4"],
  ["u4", HEX, "string"],
  ["keyString", PLAIN, "keyString"],
  ["keyString", "\\", "keyEscape"],
  ["keyEscape", '"\\/bfnrt', "keyString"],
  ["keyEscape", "u", "keyU1"],
  ["keyU1", HEX, "keyU2"],
  ["keyU2", HEX, "keyU3"],
  ["keyU3", HEX, "keyU4"],
  ["keyU4", HEX, "keyString"],
  ["minus", "0", "zero"],
  ["minus", "123456789", "digits"],
  ["digits", DIGITS, "digits"],
  ["zero", ".", "dot"],
  ["digits", ".", "dot"],
  ["dot", DIGITS, "fraction"],
  ["fraction", DIGITS, "fraction"],
  ...(["zero", "digits", "fraction"] as const).map((one) => [one, "eE", "e"] as const),
  ["e", "+-", "sign"],
  ["e", DIGITS, "exponent"],
  ["sign", DIGITS, "exponent"],
  ["exponent", DIGITS, "exponent"],
  ["t", "r", "tr"],
  ["tr", "u", "tru"],
  ["f", "a", "fa"],
  ["fa", "l", "fal"],
  ["fal", "s", "fals"],
  ["n", "u", "nu"],
  ["nu", "l", "nul"],
];

/** States whose value ends with this character. */
const LAST: readonly (readonly [State, string])[] = [
  ["string", '"'],
  ["tru", "e"],
  ["fals", "e"],
  ["nul", "l"],
];

/** A number ends where something else begins. */
const NUMBERS = ["zero", "digits", "fraction", "exponent"] as const;

function makeTable(): Uint16Array {
  const table = new Uint16Array(OPEN_ARRAY).fill(WRONG);
  for (const inside of [NOTHING, ARRAY, OBJECT]) {
    const set = (state: State, characters: string, next: number): void => {
      const row = rowOf(inside, state);
      for (const one of characters) table[row + one.charCodeAt(0)] = next;
    };
    if (inside === NOTHING) for (const one of NUMBERS) set(one, ASCII, ENDED);
    for (const [state, characters, next] of STEPS) set(state, characters, rowOf(inside, next));
    if (inside === NOTHING) set("value", BLANKS, WRONG);
    for (const state of ["value", "firstValue"] as const) {
      set(state, "[", OPEN_ARRAY);
      set(state, "{", OPEN_OBJECT);
    }
    set("firstValue", "]", CLOSE);
    set("firstKey", "}", CLOSE);
    const after = rowOf(inside, "after");
    for (const [state, character] of LAST) set(state, character, inside === NOTHING ? ENDS : after);
    if (inside === NOTHING) continue;
    for (const state of ["after", ...NUMBERS] as const) {
      set(state, BLANKS, after);
      set(state, ",", rowOf(inside, inside === OBJECT ? "key" : "value"));
      set(state, inside === OBJECT ? "}" : "]", CLOSE);
    }
  }
  return table;
}

const TABLE = makeTable();
const VALUE = rowOf(NOTHING, "value");
const FIRST_VALUE = rowOf(ARRAY, "firstValue");
const FIRST_KEY = rowOf(OBJECT, "firstKey");
const AFTER = [NOTHING, ARRAY, OBJECT].map((inside) => rowOf(inside, "after"));
const STRING_ROWS = [NOTHING, ARRAY, OBJECT].flatMap((one) => [rowOf(one, "string"), rowOf(one, "keyString")]);
const NUMBER_ROWS = NUMBERS.map((one) => rowOf(NOTHING, one));

/** What each open nest is inside of. Read and written within one call. Bound: NESTS_MAX. */
const outer = new Uint8Array(NESTS_MAX);

/** What ends a run of characters of a string that need no check. The engine looks at many characters at once. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a string may not contain them
const SPECIAL = /["\\\u0000-\u001f]/g;

/** The index behind the JSON value that begins at `from`; -1 if there is none. Accepts what JSON.parse accepts. */
export function valueEndIn(text: string, from: number): number {
  const { length } = text;
  let inside = NOTHING;
  let depth = 0;
  let at = VALUE;
  for (let i = from; i < length; ) {
    const blockEnd = Math.min(i + BLOCK_CHARS, length);
    for (; i < blockEnd; i++) {
      const unit = text.charCodeAt(i);
      const next = TABLE[at + (unit < OTHER ? unit : OTHER)] as number;
      if (next < OPEN_ARRAY) {
        at = next;
      } else if (next <= OPEN_OBJECT) {
        if (depth === NESTS_MAX) return -1;
        outer[depth++] = inside;
        inside = next === OPEN_ARRAY ? ARRAY : OBJECT;
        at = next === OPEN_ARRAY ? FIRST_VALUE : FIRST_KEY;
      } else if (next === CLOSE) {
        if (--depth === 0) return i + 1;
        inside = outer[depth] as number;
        at = AFTER[inside] as number;
      } else {
        if (next === WRONG) return -1;
        return next === ENDS ? i + 1 : i;
      }
    }
    if (i < length && STRING_ROWS.includes(at)) i = plainEnd(text, i);
  }
  // Only a number can end with the text.
  return NUMBER_ROWS.includes(at) ? length : -1;
}

/** Where the characters of a string end that need no check. */
function plainEnd(text: string, from: number): number {
  SPECIAL.lastIndex = from;
  return SPECIAL.test(text) ? SPECIAL.lastIndex - 1 : text.length;
}

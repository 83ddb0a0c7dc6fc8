/** Finds the collections that a server keeps for longer than a call, and whether a comment says what limits their size. */

import { commentAt, isComment } from "./comments.ts";

/** A source file: its path, its text, and the texts of the files that it imports. */
export interface Source {
  readonly file: string;
  readonly text: string;
  readonly imported: readonly string[];
}

const COLLECTION = String.raw`(?:new (?:Weak)?(?:Map|Set)\b|\[\]|new Array\b|Array\.from\b)`;
const MODIFIERS = "(?:(?:private|protected|public|readonly|static|override) )*";
const pattern = (before: string): RegExp => new RegExp(`${before}${COLLECTION}`);

/** The line declares the collection: the comment is above it. */
const DECLARED: readonly RegExp[] = [
  // In a class: `private readonly byKey = new Map()`, `ready: Subscription[] = []`.
  pattern(String.raw`^  ${MODIFIERS}#?(\w+)(?::.*)? = `),
  // In a module: `const found = new Map()`.
  pattern(String.raw`^(?:export )?(?:const|let) (\w+)(?::.*)? = `),
  // A list that is an array only if it has several elements: `private connections: Few<Connection>`.
  /^ {2}(?:private |readonly )*(\w+): Few</,
];
/** The line creates what is declared elsewhere: the comment is there, or above this line. */
const CREATED: readonly RegExp[] = [
  // `this.names = new Set(…)`, `member.remote ??= new Map()`.
  pattern(String.raw`\.(\w+) (?:\?\?)?= `),
  // `{ parts: new Map() }`, but not `{ count: new Set(…).size }`.
  /\b(\w+): new (?:Map|Set)\b(?!.*\)\.size\b)/,
];
/** `const METHODS = new Set(["GET", …])`: it never grows. */
const CONSTANT = /^(?:export )?const [A-Z_]+(?::.*)? = .*\(.+/;
/** A result: its caller keeps it or not. */
const RESULT = /^ {2}return\b/;

const nameIn = (line: string, forms: readonly RegExp[]): string | undefined =>
  forms.map((form) => form.exec(line)?.[1]).find((name) => name !== undefined);

const saysBound = (lines: readonly string[], at: number): boolean => commentAt(lines, at).includes("Bound:");

/** A field of that name in a class or an interface of the text has such a comment. */
function declaresBound(text: string, name: string): boolean {
  const field = new RegExp(String.raw`^\s+${MODIFIERS}#?${name}(?:\?|!)?(?:: | = )`);
  const lines = text.split("\n");
  return lines.some((line, at) => field.test(line) && saysBound(lines, at));
}

/** `file:line: the line` of each collection without a bound. */
export function unbounded({ file, text, imported }: Source): string[] {
  const lines = text.split("\n");
  return lines.flatMap((line, at) => {
    if (CONSTANT.test(line) || RESULT.test(line) || isComment(line) || saysBound(lines, at)) return [];
    const created = nameIn(line, CREATED);
    const isFound = nameIn(line, DECLARED) !== undefined || created !== undefined;
    const mayBeIn = line.includes(`this.${created} `) ? [text] : [text, ...imported];
    const isBound = created !== undefined && mayBeIn.some((one) => declaresBound(one, created));
    return isFound && !isBound ? [`${file}:${at + 1}: ${line.trim()}`] : [];
  });
}

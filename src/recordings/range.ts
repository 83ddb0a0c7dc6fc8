/** Parts of a file: `Range` of who reads it, `Content-Range` of who writes it. */

/** Both ends inclusive, as HTTP has them. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/** 15 digits are exact as a number, and a petabyte. */
const NUMBER = "(\\d{1,15})";

const RANGE = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/;

/**
 * What a `Range` asks for of a file of that size. "all": there is none, or one that we need not follow (RFC 9110 14.2: another
 * unit, several ranges, what is not understood). "none": nothing of the file is in it, or it ends before it begins.
 */
export function spanOf(header: string | null, size: number): Span | "all" | "none" {
  const match = RANGE.exec(header ?? "");
  if (!match) return "all";
  const [, from = "", to = ""] = match;
  if (from === "" && to === "") return "all";
  if (from === "") {
    const count = Math.min(Number(to), size);
    return count === 0 ? "none" : { first: size - count, last: size - 1 };
  }
  const first = Number(from);
  const last = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  return first >= size || last < first ? "none" : { first, last };
}

/** `bytes a-b/T`, or `bytes * /T` (without the space), which only asks. */
export type ContentRange =
  | { readonly kind: "bytes"; readonly span: Span; readonly total: number }
  | { readonly kind: "question"; readonly total: number };

const CONTENT_RANGE = new RegExp(`^bytes ${NUMBER}-${NUMBER}/${NUMBER}$`);
const QUESTION = new RegExp(`^bytes \\*/${NUMBER}$`);

/** undefined: it is not one. */
export function parseContentRange(header: string): ContentRange | undefined {
  const question = QUESTION.exec(header);
  if (question) return { kind: "question", total: Number(question[1]) };
  const match = CONTENT_RANGE.exec(header);
  if (!match) return undefined;
  const [first, last, total] = match.slice(1).map(Number) as [number, number, number];
  return first <= last && last < total ? { kind: "bytes", span: { first, last }, total } : undefined;
}

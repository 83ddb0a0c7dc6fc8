/** Parts of a file: `Range` of a download, `Content-Range` of an upload. */

/** Both ends are included, as in HTTP. */
export interface Span {
  readonly first: number;
  readonly last: number;
}

/** 15 digits, almost a petabyte, are exact as a number. */
const NUMBER = "(\\d{1,15})";

const RANGE = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})[ \t]*$/;

/**
 * The part of a file of that size that a `Range` header asks for. "all": there is no header, or one that a server may ignore (RFC 9110
 * 14.2: another unit, several ranges, or not understood). "none": the range is outside the file, or ends before it begins.
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

/**
 * `bytes a-b/T`, or `bytes * /T` (without the space), which asks how many bytes are held. A `*` instead of T: the total is not known yet,
 * which is null here.
 */
export type ContentRange =
  | { readonly kind: "bytes"; readonly span: Span; readonly total: number | null }
  | { readonly kind: "query"; readonly total: number | null };

const TOTAL = "(\\d{1,15}|\\*)";
const CONTENT_RANGE = new RegExp(`^bytes ${NUMBER}-${NUMBER}/${TOTAL}$`);
const QUERY = new RegExp(`^bytes \\*/${TOTAL}$`);

/** undefined: the header is malformed. */
export function parseContentRange(header: string): ContentRange | undefined {
  const query = QUERY.exec(header);
  if (query) return { kind: "query", total: totalOf(query[1]) };
  const match = CONTENT_RANGE.exec(header);
  if (!match) return undefined;
  const [first, last, total] = [Number(match[1]), Number(match[2]), totalOf(match[3])];
  return first <= last && last < (total ?? Number.POSITIVE_INFINITY)
    ? { kind: "bytes", span: { first, last }, total }
    : undefined;
}

const totalOf = (text: string | undefined): number | null => (text === "*" ? null : Number(text));

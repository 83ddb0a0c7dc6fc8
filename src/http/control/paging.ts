/** Lists of the control plane in pages: `{data, next}`, where `next` is the `after` of the next page. */
import { z } from "zod";
import { lazily } from "../../base/lazily.ts";
import { limit } from "../shared/schemas.ts";

/** Entries per page, at most and without `limit`: lists without a bound would grow with the number of applications. */
export const PAGE_MAX = 1000;

export const paging = lazily(() =>
  z.object({
    limit: limit(PAGE_MAX, PAGE_MAX).describe(`Entries per page; ${PAGE_MAX} if it is absent`),
    after: z.string().max(256).optional().describe("next of the page before"),
  }),
);

export interface Page<T> {
  readonly data: readonly T[];
  /** null: this is the last page. */
  readonly next: string | null;
}

/** `rows` holds one more than the page if there are further ones. */
export function pageOf<Row, T>(
  rows: readonly Row[],
  size: number,
  idOf: (row: Row) => string,
  fieldsOf: (row: Row) => T,
): Page<T> {
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return { data: page.map(fieldsOf), next: rows.length > size && last !== undefined ? idOf(last) : null };
}

/** The query of a request. */
import { hasMoreFields } from "../../base/query-fields.ts";
import { QUERY_FIELDS_MAX, QUERY_MAX_CHARS } from "../limits.ts";

/** The query parameters of a request; URL would also normalise the rest of the address. None of a query that is too long to be read. */
export function queryOf(request: Request): URLSearchParams {
  const { url } = request;
  const from = url.indexOf("?");
  return new URLSearchParams(from < 0 || isQueryTooLong(request) ? "" : url.slice(from + 1));
}

export function isQueryTooLong({ url }: Request): boolean {
  const from = url.indexOf("?");
  return from >= 0 && (url.length - from - 1 > QUERY_MAX_CHARS || hasMoreFields(url, QUERY_FIELDS_MAX, from + 1));
}

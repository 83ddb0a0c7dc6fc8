/** The query parameters of a request; URL would also normalise the rest of the address. */
export function queryOf({ url }: Request): URLSearchParams {
  const from = url.indexOf("?");
  return new URLSearchParams(from < 0 ? "" : url.slice(from + 1));
}

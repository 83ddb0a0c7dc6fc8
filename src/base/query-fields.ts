/**
 * Whether a query, as text, has more parameters than that. It is asked before they are read: each costs, and a long query may have thousands.
 * `from`: where it begins in the text.
 */
export function hasMoreFields(query: string, max: number, from = 0): boolean {
  let at = from - 1;
  for (let fields = 1; fields <= max; fields++) {
    at = query.indexOf("&", at + 1);
    if (at < 0) return false;
  }
  return true;
}

/** What the page's address carries: a token and a name. Neither stays in the address bar, where they would be copied with the link. */

export interface Carried {
  readonly token: string | undefined;
  readonly name: string | undefined;
  /** The address without them. */
  readonly rest: string;
}

/** A fragment never reaches a server; a query is accepted for existing links. */
export function carriedBy(address: URL): Carried {
  const fragment = new URLSearchParams(address.hash.slice(1));
  const query = new URLSearchParams(address.search);
  const token = fragment.get("token") || query.get("token") || undefined;
  const name = fragment.get("name") || undefined;
  query.delete("token");
  const search = query.size > 0 ? `?${query}` : "";
  return { token, name, rest: pathOf(address) + search };
}

export function takeFromAddress(): Carried {
  const carried = carriedBy(new URL(location.href));
  if (location.hash !== "" || location.pathname + location.search !== carried.rest)
    history.replaceState(history.state, "", carried.rest);
  return carried;
}

/** The plain link, for others. */
export const inviteLink = (): string => location.origin + pathOf(location);

export const roomNameIn = (pathname: string): string => decodeURIComponent(pathname.split("/")[1] ?? "");

/** The page has one address; with a slash at its end it is accepted too. */
const pathOf = ({ pathname }: Pick<URL, "pathname">): string => pathname.replace(/\/$/, "");

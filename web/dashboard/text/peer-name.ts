/** What people call a member, as the service names a peer: `name` or `username` of its metadata, else of its state. */
export function nameIn(...texts: readonly (object | undefined)[]): string | undefined {
  for (const fields of texts) {
    const { name, username } = (fields ?? {}) as { readonly name?: unknown; readonly username?: unknown };
    for (const value of [name, username]) if (typeof value === "string" && value.trim() !== "") return value.trim();
  }
  return undefined;
}

/** What lists are searched by: a part of a name, in upper or lower case, as people type it. */

/** As an expression: asked of every peer of a node, it must not copy their texts. */
export function partOf(contains: string): (text: string) => boolean {
  if (contains === "") return () => true;
  const expression = new RegExp(contains.replace(/[\\^$.*+?()[\]{}|/-]/g, "\\$&"), "i");
  return (text) => expression.test(text);
}

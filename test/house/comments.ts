/** What the comments of a line of code say. */

const COMMENT = /^\s*(?:\/\/|\/\*|\*)/;

export const isComment = (line: string): boolean => COMMENT.test(line);

/** The comment directly above a line, and the one behind it. */
export function commentAt(lines: readonly string[], at: number): string {
  let from = at;
  while (isComment(lines[from - 1] ?? "")) from--;
  return [...lines.slice(from, at), lines[at]?.split(" // ")[1] ?? ""].join("\n");
}

/** Text for the width of a terminal. Elsewhere lines stay whole, because programs read them. */

/** Where less is left beside a column, text is not put there: it would be a word per line. */
const TEXT_MIN_COLUMNS = 20;
/** Instead it begins below, this far from the edge. */
const BELOW = "    ";

/** undefined: the stream is not a terminal, or does not know its width. */
export const columnsOf = ({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number | undefined =>
  isTTY === true && columns ? columns : undefined;

/**
 * `lead` and the text behind it, broken at spaces; further lines begin below the text. A longer word stays whole. Where the terminal is
 * too narrow for that, the text has its own lines.
 */
export function wrapped(lead: string, text: string, columns: number | undefined): string {
  const indent = Bun.stringWidth(lead);
  if (columns === undefined || indent + Bun.stringWidth(text) <= columns) return `${lead}${text}\n`;
  if (columns - indent < TEXT_MIN_COLUMNS)
    return lead.trim() === "" ? `${lead}${text}\n` : `${lead.trimEnd()}\n${wrapped(BELOW, text, columns)}`;
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line === "" || Bun.stringWidth(longer) <= columns - indent) line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return `${lead}${[...lines, line].join(`\n${" ".repeat(indent)}`)}\n`;
}

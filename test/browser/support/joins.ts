/** Texts of two elements that run together, as in "0 Bof 1 GB": a line break in JSX is no space. */
import type { Page } from "playwright-core";

/**
 * Looks at neighbouring texts of different elements that are drawn in one line. Elements that begin a line or a cell of their own, such as
 * parts of a flexible row, are no neighbours: browsers, screen readers and the clipboard keep them apart.
 */
const FIND = `(() => {
  const INLINE = ["inline", "inline-block", "inline-flex", "contents"];
  const texts = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode())
    if (node.data !== "" && node.parentElement.checkVisibility() && !node.parentElement.closest("script, style, option, pre, noscript"))
      texts.push(node);
  const isInline = (node, end) => {
    for (let one = node.parentElement; one !== end; one = one.parentElement)
      if (!INLINE.includes(getComputedStyle(one).display)) return false;
    return true;
  };
  const joins = [];
  for (const [at, next] of texts.entries()) {
    const text = texts[at - 1];
    if (!text || text.parentElement === next.parentElement) continue;
    if (!/[\\p{L}\\p{N}.:;]$/u.test(text.data) || !/^[\\p{L}\\p{N}]/u.test(next.data)) continue;
    const range = document.createRange();
    range.setStart(text, 0);
    range.setEnd(next, next.length);
    const common = range.commonAncestorContainer;
    const isBroken = range.cloneContents().querySelector("br, hr, input, select, textarea, svg");
    if (!isBroken && isInline(text, common) && isInline(next, common)) joins.push(text.data.slice(-30) + "|" + next.data.slice(0, 30));
  }
  return joins;
})()`;

export const joinsIn = (page: Page): Promise<string[]> => page.evaluate<string[]>(FIND);

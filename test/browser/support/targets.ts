/** What a finger cannot hit: targets below 24 by 24 px (WCAG 2.2, 2.5.8), and the smallest of a group. */
import type { Page } from "playwright-core";

/** As a text: it runs in the page. */
const FAULTS = `(() => {
  const LEAST_PX = 24;
  const CONTROLS = "button, a[href], input, select, textarea, summary, [role=menuitem], [role=slider], [role=option]";
  // What is behind a dialog cannot be hit.
  const dialog = document.querySelector(":modal");
  const isShown = (one) =>
    one.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && (dialog?.contains(one) ?? true);
  /** A checkbox is as large as it is with its label. */
  const boxOf = (one) => {
    const own = one.getBoundingClientRect();
    const [label] = one instanceof HTMLInputElement ? (one.labels ?? []) : [];
    const other = label?.getBoundingClientRect() ?? own;
    const [left, top] = [Math.min(own.left, other.left), Math.min(own.top, other.top)];
    return new DOMRect(left, top, Math.max(own.right, other.right) - left, Math.max(own.bottom, other.bottom) - top);
  };
  /** A link in a sentence is as high as its line. */
  const isInText = (one) =>
    getComputedStyle(one).display === "inline" &&
    [...(one.parentElement?.childNodes ?? [])].some((near) => near.nodeType === 3 && near.textContent?.trim() !== "");
  const all = [...document.querySelectorAll(CONTROLS)]
    .filter((one) => isShown(one) && !one.matches(":disabled, .hidden-text, [type=hidden]"))
    .map((one) => ({ one, box: boxOf(one) }))
    .filter(({ box }) => box.width > 1 && box.height > 1);
  /** A menu lies over it. */
  const isCovered = ({ one, box }) => {
    const hit = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2);
    return hit !== null && !one.contains(hit) && !hit.contains(one) && hit.closest("nav, [role=listbox]") !== null;
  };
  /** 24 px around its middle touch no other one. */
  const isAlone = ({ one, box }) => {
    const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
    return all.every(({ one: other, box: near }) => {
      if (other === one || other.contains(one) || one.contains(other)) return true;
      const [dx, dy] = [Math.max(near.left - x, 0, x - near.right), Math.max(near.top - y, 0, y - near.bottom)];
      return Math.hypot(dx, dy) >= LEAST_PX / 2;
    });
  };
  return all
    .filter(({ box }) => box.width < LEAST_PX - 0.5 || box.height < LEAST_PX - 0.5)
    .filter((target) => !isInText(target.one) && !isAlone(target) && !isCovered(target))
    .map(({ one, box }) => {
      const what = one.getAttribute("aria-label") ?? (one.textContent?.trim() || one.outerHTML);
      return what.slice(0, 60) + ": " + box.width.toFixed(0) + " x " + box.height.toFixed(0);
    });
})()`;

export const smallTargets = (page: Page): Promise<string[]> => page.evaluate<string[]>(FAULTS);

/** The least width and height of what the selector finds. */
export const leastOf = (page: Page, selector: string): Promise<number> =>
  page.locator(selector).evaluateAll((all) =>
    Math.min(
      ...all
        .map((one) => one.getBoundingClientRect())
        .filter(({ width }) => width > 0)
        .flatMap(({ width, height }) => [width, height]),
    ),
  );

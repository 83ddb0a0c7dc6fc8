/** A person without a mouse: by keyboard, or by finger. Both note what would lose or hinder them, and go on. */
import type { Locator, Page } from "playwright-core";
import { eventually } from "./eventually.ts";
import { smallTargets } from "./targets.ts";

export interface Hand {
  readonly page: Page;
  /** What was in the way, each once. */
  readonly complaints: Set<string>;
  /** A button, a link, a box, an option of several. */
  press(target: Locator): Promise<void>;
  /** Replaces the text of a field. */
  fill(field: Locator, text: string): Promise<void>;
  /** An entry of a list that the browser draws. */
  choose(list: Locator, entry: string): Promise<void>;
  /** An entry of a menu that is open. */
  pick(entry: Locator): Promise<void>;
  /** Puts the focus on it, and does nothing more. */
  reach(target: Locator): Promise<void>;
  /** A page that was opened by its address: nothing has the focus yet. */
  opened(): void;
}

/** More than any page has between two places. */
const PRESSES_MAX = 150;

interface Focus {
  readonly isThere: boolean;
  readonly isNowhere: boolean;
  /** It comes later in the page. */
  readonly isAhead: boolean;
  /** Another choice of the same group has the focus: the arrow keys lead on. */
  readonly isInGroup: boolean;
  readonly name: string;
  readonly fault: string | undefined;
}

/** Where the focus is, seen from the element to be reached. Runs in the page. */
const FOCUS_TEXT = `
  const page = target.ownerDocument;
  const active = page.activeElement ?? page.body;
  const isRadio = (one) => one.type === "radio";
  const isInGroup = isRadio(active) && isRadio(target) && active !== target && active.name === target.name && active.form === target.form;
  const shown = [active, active.closest("label")].filter(Boolean);
  const isMarked = shown.some((one) => {
    const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(one);
    return (outlineStyle !== "none" && parseFloat(outlineWidth) >= 2) || boxShadow !== "none";
  });
  const boxes = shown.map((one) => one.getBoundingClientRect());
  // A short confirmation goes away by itself.
  const isSeen = boxes.some(({ left, right, top, bottom }) =>
    [[left + 3, top + 3], [(left + right) / 2, (top + bottom) / 2], [right - 3, bottom - 3]].some(([x, y]) => {
      const hit = page.elementFromPoint(x, y);
      return hit !== null && (hit.closest('.toasts') !== null || shown.some((one) => one.contains(hit) || hit.contains(one)));
    }));
  const name = (active.getAttribute("aria-label") ?? active.labels?.[0]?.innerText ?? active.innerText ?? "").trim().slice(0, 50);
  // The button that opens its calendar is the browser's, and shows its focus itself.
  const isStop = active !== page.body && active.type !== "datetime-local" && !/^H[1-6]$/.test(active.tagName);
  return {
    isThere: active === target,
    isNowhere: active === page.body,
    isAhead: (active.compareDocumentPosition(target) & 4) !== 0,
    isInGroup,
    name: active.tagName.toLowerCase() + " " + name,
    fault: !isStop ? undefined : !isMarked ? "does not show its focus" : !isSeen ? "is covered while it has the focus" : undefined,
  };`;
const FOCUS_FROM = new Function("target", FOCUS_TEXT) as (target: unknown) => Focus;

class Keyboard implements Hand {
  readonly complaints = new Set<string>();
  private hasBegun = false;
  /** What was pressed last: where a focus that is lost was. */
  private last = "";

  constructor(readonly page: Page) {}

  async press(target: Locator): Promise<void> {
    await this.reach(target);
    const type = (await target.getAttribute("type")) ?? "";
    // The arrow keys have chosen it already.
    if (type === "radio" && (await target.isChecked())) return;
    await this.page.keyboard.press(["checkbox", "radio"].includes(type) ? "Space" : "Enter");
  }

  async fill(field: Locator, text: string): Promise<void> {
    await this.reach(field);
    await this.page.keyboard.press("Control+a");
    await this.page.keyboard.type(text);
  }

  async choose(list: Locator, entry: string): Promise<void> {
    await this.reach(list);
    // Letters that are typed at once continue those of the choice before.
    const names = await list.locator("option").allInnerTexts();
    const chosen = (): Promise<string> => list.locator("option:checked").innerText();
    const steps = names.indexOf(entry) - names.indexOf(await chosen());
    for (let at = 0; at < Math.abs(steps); at++) await this.page.keyboard.press(steps > 0 ? "ArrowDown" : "ArrowUp");
    await eventually(chosen, entry);
  }

  async pick(entry: Locator): Promise<void> {
    await entry.waitFor();
    for (let at = 0; at < PRESSES_MAX; at++) {
      const { isThere, isAhead } = await entry.evaluate<Focus, undefined>(FOCUS_FROM as never, undefined);
      if (isThere) return this.page.keyboard.press("Enter");
      await this.page.keyboard.press(isAhead ? "ArrowDown" : "ArrowUp");
    }
    throw new Error(`the arrow keys never come to ${entry}`);
  }

  opened(): void {
    this.hasBegun = false;
  }

  async reach(target: Locator): Promise<void> {
    await target.waitFor({ state: "attached" });
    const way: string[] = [];
    let now = await target.evaluate<Focus, undefined>(FOCUS_FROM as never, undefined);
    if (now.isNowhere) {
      // What disappears is seen with the next picture.
      await this.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      now = await target.evaluate<Focus, undefined>(FOCUS_FROM as never, undefined);
    }
    if (this.hasBegun && now.isNowhere) this.complaints.add(`the focus is lost after ${this.last}`);
    this.hasBegun = true;
    const onward = now.isAhead ? "Tab" : "Shift+Tab";
    while (!now.isThere) {
      if (way.length === PRESSES_MAX) throw new Error(`the keyboard never comes to ${target}: ${way.join(" | ")}`);
      await this.page.keyboard.press(now.isInGroup ? (now.isAhead ? "ArrowDown" : "ArrowUp") : onward);
      now = await target.evaluate<Focus, undefined>(FOCUS_FROM as never, undefined);
      if (now.fault) this.complaints.add(`${now.name} ${now.fault}`);
      way.push(now.name);
    }
    this.last = now.name;
  }
}

class Finger implements Hand {
  readonly complaints = new Set<string>();

  constructor(readonly page: Page) {}

  async press(target: Locator): Promise<void> {
    await this.look();
    await target.waitFor({ state: "attached" });
    const label = target.locator("xpath=ancestor::label");
    // Boxes of a row of choices are hidden: one sees their label.
    const isHidden = await target.evaluate((one) => one.classList.contains("hidden-text"));
    await (isHidden ? label : target).tap();
  }

  async fill(field: Locator, text: string): Promise<void> {
    await this.press(field);
    // As with the marks that a long touch brings.
    await this.page.keyboard.press("Control+a");
    await this.page.keyboard.type(text);
  }

  /** The list itself is the browser's. */
  async choose(list: Locator, entry: string): Promise<void> {
    await this.look();
    await list.selectOption(entry);
  }

  pick(entry: Locator): Promise<void> {
    return this.press(entry);
  }

  reach(target: Locator): Promise<void> {
    return target.scrollIntoViewIfNeeded();
  }

  opened(): void {}

  private async look(): Promise<void> {
    for (const small of await smallTargets(this.page)) this.complaints.add(`too small: ${small}`);
    const sideways = await this.page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
    if (sideways > 0) this.complaints.add(`${new URL(this.page.url()).pathname} scrolls sideways by ${sideways} px`);
  }
}

export const PHONE = { width: 390, height: 844, hasTouch: true } as const;
export const HANDS = ["keyboard", "touch"] as const;
export type HandName = (typeof HANDS)[number];

export const handOn = (page: Page, name: HandName): Hand =>
  name === "keyboard" ? new Keyboard(page) : new Finger(page);

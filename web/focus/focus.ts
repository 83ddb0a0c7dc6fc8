/**
 * What has the focus may disappear or be disabled: a button whose row is deleted, a filter that is cleared. Browsers then put the focus nowhere, and who
 * uses a screen reader is at the beginning of the page. Here it stays at the same place: in the card, the form or the group that the element was in,
 * and otherwise at the beginning of what is there now.
 */

const PLACES = "article, section, fieldset, form, aside, nav, header, main, [role=group]";

/** An element that had the focus, and what is around it, from the inside out. */
export interface Stop {
  readonly element: HTMLElement;
  readonly around: readonly Element[];
}

const hasFocus = (element: Element): boolean => document.activeElement === element;
const isShown = (element: Element): boolean => element.isConnected && element.closest("[hidden]") === null;
const canFocus = (element: Element): boolean => isShown(element) && !element.matches(":disabled");

const isPlace = (one: Element): boolean => isShown(one) && one.matches(PLACES);

export function stopAt(element: EventTarget | null): Stop | undefined {
  if (!(element instanceof HTMLElement) || element === document.body) return undefined;
  const around: Element[] = [];
  for (let one = element.parentElement; one; one = one.parentElement) around.push(one);
  return { element, around };
}

/** Puts the focus there, or as near as possible. Returns what has it now. */
export function focusOn({ element, around }: Stop): HTMLElement | undefined {
  const place = canFocus(element) ? element : (around.find(isPlace) ?? document.querySelector("main"));
  if (!(place instanceof HTMLElement)) return undefined;
  if (place !== element && !place.hasAttribute("tabindex")) place.tabIndex = -1;
  place.focus({ preventScroll: true });
  return place;
}

/** From now on, for the whole page. */
export function keepFocus(): void {
  let last: Stop | undefined;
  let lost: { readonly stop: Stop; readonly place: HTMLElement } | undefined;
  const look = (): void => {
    // Only busy, and enabled again: as if nothing had been.
    if (lost && hasFocus(lost.place) && canFocus(lost.stop.element)) {
      focusOn(lost.stop);
      lost = undefined;
    }
    if (!last || canFocus(last.element) || !(hasFocus(document.body) || hasFocus(last.element))) return;
    const stop = last;
    const place = focusOn(stop);
    lost = place && { stop, place };
  };
  addEventListener("focusin", ({ target }) => {
    last = stopAt(target);
  });
  let isWaiting = false;
  const observer = new MutationObserver(() => {
    if (isWaiting) return;
    isWaiting = true;
    // Not at once: the key that was pressed may itself lead on, such as Tab in a menu.
    requestAnimationFrame(() => {
      isWaiting = false;
      look();
    });
  });
  const attributeFilter = ["disabled", "hidden"];
  observer.observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter });
}

/** A button with a menu above it: arrow keys walk, Escape closes, and the focus returns to the button. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

interface MenuProps {
  readonly label: string;
  /** The class of the button. */
  readonly look: string;
  readonly button: ComponentChildren;
  /** The items lie beside each other. */
  readonly isRow?: boolean;
  /** Called only while it is open. */
  readonly items: (close: () => void) => ComponentChildren;
}

const KEYS: Readonly<Record<string, (at: number) => number>> = {
  ArrowDown: (at) => at + 1,
  ArrowRight: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  ArrowLeft: (at) => at - 1,
  Home: () => 0,
  End: () => -1,
};

export function Menu({ label, look, button, isRow, items }: MenuProps) {
  const isOpen = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const id = useId();
  const all = (): HTMLElement[] => [...(box.current?.querySelectorAll<HTMLElement>('[role^="menuitem"]') ?? [])];
  const close = (): void => {
    isOpen.value = false;
    opener.current?.focus();
  };
  useEffect(() => {
    if (!isOpen.value) return;
    (all().find((item) => item.ariaChecked === "true") ?? all()[0])?.focus();
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) isOpen.value = false;
    };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [isOpen.value]);
  const walk = (event: KeyboardEvent): void => {
    const found = all();
    const to = KEYS[event.key]?.(found.indexOf(document.activeElement as HTMLElement));
    if (event.key === "Escape") close();
    else if (event.key === "Tab") isOpen.value = false;
    else if (to === undefined) return;
    else found.at(to === found.length ? 0 : to)?.focus();
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="more" ref={box}>
      <button
        ref={opener}
        type="button"
        class={isOpen.value ? `${look} active` : look}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        aria-controls={id}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        {button}
      </button>
      <div
        id={id}
        role="menu"
        aria-label={label}
        class={isRow ? "menu menu-row" : "menu"}
        hidden={!isOpen.value}
        onKeyDown={walk}
      >
        {isOpen.value && items(close)}
      </div>
    </div>
  );
}

interface ItemProps {
  readonly icon?: IconName;
  readonly text: string;
  readonly tone?: "bad" | undefined;
  /** One of several, of which one is chosen. */
  readonly isChosen?: boolean;
  readonly onClick: () => void;
}

export function MenuItem({ icon, text, tone, isChosen, onClick }: ItemProps) {
  const isRadio = isChosen !== undefined;
  return (
    <button
      type="button"
      {...(isRadio ? { role: "menuitemradio", "aria-checked": isChosen } : { role: "menuitem" })}
      tabIndex={-1}
      class={tone ? `menu-item ${tone}` : "menu-item"}
      onClick={onClick}
    >
      {isRadio ? <span class="menu-check">{isChosen && <Icon name="check" />}</span> : icon && <Icon name={icon} />}
      <span>{text}</span>
    </button>
  );
}

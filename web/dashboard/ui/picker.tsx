/** A search field with a list below it, of which one entry is chosen: by typing, the arrow keys and Enter, or with a click. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

/** Spread, because the types know this role only beside a list of the browser's own. */
const comboboxOf = (list: string, at: number, count: number): object => ({
  role: "combobox",
  "aria-autocomplete": "list",
  "aria-expanded": count > 0,
  "aria-controls": list,
  "aria-activedescendant": count > 0 ? `${list}-${at}` : undefined,
});

export interface Pick {
  /** Unique in the list. */
  readonly id: string;
  readonly title: string;
  /** On the right: what kind of thing it is. */
  readonly detail?: string | undefined;
  /** It is where one is now. */
  readonly isCurrent?: boolean;
  /** Entries with the same heading follow each other. */
  readonly group?: string;
  readonly choose: () => void;
}

interface PickerProps {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly picks: readonly Pick[];
  /** Below the list: that nothing was found, or that there is more. */
  readonly note?: ComponentChildren;
}

const STEPS: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowDown: (at, count) => (at + 1) % count,
  ArrowUp: (at, count) => (at + count - 1) % count,
  PageDown: (at, count) => Math.min(at + 8, count - 1),
  PageUp: (at) => Math.max(at - 8, 0),
};

export function Picker({ label, placeholder, value, onInput, picks, note }: PickerProps) {
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  // It is opened to be typed into.
  useEffect(() => field.current?.focus(), []);
  // By its id: the list may grow above it while answers come.
  const active = useSignal<string | undefined>(undefined);
  const first = value === "" ? picks.findIndex(({ isCurrent }) => isCurrent) : 0;
  const found = picks.findIndex((one) => one.id === active.value);
  const at = found >= 0 ? found : Math.max(first, 0);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at, picks.length]);
  const pressed = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (event.isComposing || picks.length === 0) return;
    if (step) active.value = picks[step(at, picks.length)]?.id;
    else if (event.key === "Enter") picks[at]?.choose();
    else return;
    event.preventDefault();
  };
  return (
    <div class="picker">
      <input
        ref={field}
        // Not a search field: there Escape would empty the field first, and close only when it is pressed twice.
        type="text"
        inputmode="search"
        {...comboboxOf(id, at, picks.length)}
        aria-label={label}
        placeholder={placeholder}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        enterkeyhint="go"
        value={value}
        onInput={(event) => {
          active.value = undefined;
          onInput(event.currentTarget.value);
        }}
        onKeyDown={pressed}
      />
      {picks.length > 0 && (
        <div ref={list} id={id} role="listbox" aria-label={label} class="picks-list">
          {grouped(picks).map(([group, entries]) => (
            // biome-ignore lint/a11y/useSemanticElements: a fieldset is no part of a list box
            <div key={group} role="group" aria-label={group === "" ? label : group}>
              {group !== "" && (
                <div class="picks-group" aria-hidden="true">
                  {group}
                </div>
              )}
              {entries.map(([index, one]) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field, which keeps the focus
                <div
                  key={one.id}
                  id={`${id}-${index}`}
                  role="option"
                  tabIndex={-1}
                  class="pick-one"
                  aria-selected={index === at}
                  title={one.title}
                  onMouseDown={(event) => event.preventDefault()}
                  onMouseMove={() => (active.value = one.id)}
                  onClick={one.choose}
                >
                  <span class="pick-title">{one.title}</span>
                  {one.detail && <span class="muted small">{one.detail}</span>}
                  {one.isCurrent && <span class="muted small">current</span>}
                </div>
              ))}
            </div>
          ))}
        </div>
      )}
      <div role="status" class="picks-note muted small">
        {note}
      </div>
    </div>
  );
}

type Numbered = readonly [index: number, one: Pick];

function grouped(picks: readonly Pick[]): readonly (readonly [string, readonly Numbered[]])[] {
  return [...Map.groupBy([...picks.entries()], ([, { group = "" }]) => group)];
}

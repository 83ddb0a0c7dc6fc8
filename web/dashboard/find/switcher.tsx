/** The application that the pages are about, and the list to choose another from. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { navigate, rawPath } from "../address/router.ts";
import { mayChange } from "../api/session.ts";
import { apps, currentApp } from "../live/apps.ts";
import { whole } from "../text/format.ts";
import { type Pick, Picker } from "../ui/picker.tsx";
import { matches } from "./matches.ts";
import { samePage } from "./places.ts";

/** Names that are drawn at once; typing finds the others. */
const SHOWN_MAX = 100;
const ALL = "All applications";

export function AppSwitcher() {
  const isOpen = useSignal(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = (): void => {
    isOpen.value = false;
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen.value) return;
    const outside = ({ target }: Event): void => {
      if (target instanceof Node && !root.current?.contains(target)) isOpen.value = false;
    };
    addEventListener("pointerdown", outside);
    addEventListener("focusin", outside);
    const pressed = (event: KeyboardEvent): void => {
      if (event.key !== "Escape") return;
      // The menu around it stays open.
      event.preventDefault();
      close();
    };
    const element = root.current;
    element?.addEventListener("keydown", pressed);
    return () => {
      removeEventListener("pointerdown", outside);
      removeEventListener("focusin", outside);
      element?.removeEventListener("keydown", pressed);
    };
  }, [isOpen.value]);
  const name = currentApp.value?.name ?? ALL;
  return (
    <div ref={root} class="switcher">
      <button
        ref={button}
        type="button"
        class="switcher-button"
        aria-label={`Application: ${name}`}
        aria-haspopup="dialog"
        aria-expanded={isOpen.value}
        title={name}
        onClick={() => (isOpen.value = !isOpen.value)}
        onKeyDown={(event) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          isOpen.value = true;
        }}
      >
        <span class="pick-title">{name}</span>
        <svg width="12" height="12" viewBox="0 0 12 12" aria-hidden="true">
          <path d="M2.5 4.5 6 8l3.5-3.5" fill="none" stroke="currentColor" stroke-width="1.5" />
        </svg>
      </button>
      {isOpen.value && <Choice close={close} />}
    </div>
  );
}

function Choice({ close }: { readonly close: () => void }) {
  const typed = useSignal("");
  const current = currentApp.value?.name;
  const choose = (to: string): void => {
    close();
    navigate(to);
  };
  const all = [...(apps.value ?? [])].sort((one, other) => (one.name < other.name ? -1 : 1));
  const found = matches(all, typed.value, ({ name }) => name);
  const more = found.length - SHOWN_MAX;
  const picks: Pick[] = [
    ...(typed.value === ""
      ? [
          {
            id: "all",
            title: ALL,
            isCurrent: current === undefined,
            choose: () => choose(samePage(rawPath.value, undefined)),
          },
        ]
      : []),
    ...found.slice(0, SHOWN_MAX).map(({ _id, name }) => ({
      id: `app-${_id}`,
      title: name,
      isCurrent: name === current,
      choose: () => choose(samePage(rawPath.value, name)),
    })),
  ];
  return (
    <div class="switcher-choice" role="dialog" aria-label="Choose an application">
      <Picker
        label="Find an application"
        placeholder="Find an application"
        value={typed.value}
        onInput={(value) => (typed.value = value)}
        picks={picks}
        note={
          more > 0
            ? `${whole(more)} more: type part of the name.`
            : typed.value !== "" && found.length === 0 && "No application has this in its name."
        }
      />
      {mayChange.value && (
        <button type="button" class="switcher-new" onClick={() => choose("/new-application")}>
          New application
        </button>
      )}
    </div>
  );
}

/** The menu of everything that is needed less often. */
import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { announce } from "../page/announce.ts";
import { refusedAct } from "../session/refusals.ts";
import { t } from "../texts/texts.ts";
import { Icon, type IconName } from "./icons.tsx";
import { isRecordable, toggleRecording } from "./recording.tsx";
import { type DialogName, dialog, layout, togglePanel, useVisit } from "./view.ts";

interface Entry {
  readonly icon: IconName;
  readonly text: string;
  readonly isDanger?: boolean;
  readonly run: () => void;
}

export function MoreMenu() {
  const isOpen = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const entries = useEntries();
  const items = (): HTMLElement[] => [...(box.current?.querySelectorAll<HTMLElement>('[role="menuitem"]') ?? [])];
  const close = (): void => {
    isOpen.value = false;
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen.value) return;
    items()[0]?.focus();
    const outside = (event: Event): void => {
      if (event.target instanceof Node && !box.current?.contains(event.target)) isOpen.value = false;
    };
    addEventListener("pointerdown", outside);
    return () => removeEventListener("pointerdown", outside);
  }, [isOpen.value]);
  const walk = (event: KeyboardEvent): void => {
    const all = items();
    const at = all.indexOf(document.activeElement as HTMLElement);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (event.key === "Tab") isOpen.value = false;
    else if (to === undefined) return;
    else all.at(to === all.length ? 0 : to)?.focus();
    if (event.key !== "Tab") event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="more" ref={box}>
      <button
        ref={button}
        type="button"
        class={isOpen.value ? "control active" : "control"}
        aria-label={t("more")}
        aria-haspopup="menu"
        aria-expanded={isOpen.value}
        aria-controls={id}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        <Icon name="more" />
        <span class="control-text" aria-hidden="true">
          {t("more")}
        </span>
      </button>
      <div id={id} role="menu" aria-label={t("more")} class="menu" hidden={!isOpen.value} onKeyDown={walk}>
        {isOpen.value &&
          entries.map(({ icon, text, isDanger, run }) => (
            <button
              key={icon}
              type="button"
              role="menuitem"
              tabIndex={-1}
              class={isDanger ? "menu-item bad" : "menu-item"}
              onClick={() => {
                close();
                run();
              }}
            >
              <Icon name={icon} />
              {text}
            </button>
          ))}
      </div>
    </div>
  );
}

function useEntries(): readonly Entry[] {
  const visit = useVisit();
  const { session } = visit;
  const isGrid = layout.value === "grid";
  const isLocked = session.isLocked.value;
  const isRecorded = session.recording.value !== undefined;
  const lock = (): void => {
    visit
      .act({ do: isLocked ? "unlock" : "lock" })
      .catch((error: unknown) => announce(t(refusedAct(error) ?? "somethingFailed")));
  };
  return [
    {
      icon: isGrid ? "speaker" : "grid",
      text: t(isGrid ? "speakerView" : "gridView"),
      run: () => (layout.value = isGrid ? "speaker" : "grid"),
    },
    { icon: "people", text: t("people"), run: () => togglePanel("people") },
    ...(document.fullscreenEnabled
      ? [
          {
            icon: "expand" as const,
            text: t(document.fullscreenElement ? "endFullScreen" : "fullScreen"),
            run: toggleFullScreen,
          },
        ]
      : []),
    { icon: "settings", text: t("devices"), run: open("devices") },
    ...(session.room.value.showInviteBox ? [{ icon: "invite" as const, text: t("invite"), run: open("invite") }] : []),
    ...(isRecordable(visit)
      ? [
          {
            icon: isRecorded ? ("stop" as const) : ("record" as const),
            text: t(isRecorded ? "stopRecording" : "record"),
            run: () => toggleRecording(visit),
          },
        ]
      : []),
    { icon: "keyboard", text: t("shortcuts"), run: open("shortcuts") },
    ...(session.me.value.isAdmin
      ? [
          { icon: "lock" as const, text: t(isLocked ? "unlock" : "lock"), run: lock },
          { icon: "leave" as const, text: t("endForAll"), isDanger: true, run: open("end") },
        ]
      : []),
  ];
}

const open = (name: DialogName) => (): void => {
  dialog.value = name;
};

function toggleFullScreen(): void {
  const change = document.fullscreenElement ? document.exitFullscreen() : document.documentElement.requestFullscreen();
  change.catch(() => undefined);
}

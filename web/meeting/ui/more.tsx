/** The menu of everything that is needed less often. */
import { announce } from "../page/announce.ts";
import { hasKeys } from "../page/shortcuts.ts";
import { refusedAct } from "../session/refusals.ts";
import { t } from "../texts/texts.ts";
import { Icon, type IconName } from "./icons.tsx";
import { Menu, MenuItem } from "./menu.tsx";
import { isRecordable, toggleRecording } from "./recording.tsx";
import { type DialogName, dialog, layout, togglePanel, useVisit } from "./view.ts";

interface Entry {
  readonly icon: IconName;
  readonly text: string;
  readonly isDanger?: boolean;
  readonly run: () => void;
}

export function MoreMenu() {
  const entries = useEntries();
  return (
    <Menu
      label={t("more")}
      look="control"
      button={
        <>
          <Icon name="more" />
          <span class="control-text" aria-hidden="true">
            {t("more")}
          </span>
        </>
      }
      items={(close) =>
        entries.map(({ icon, text, isDanger, run }) => (
          <MenuItem
            key={icon}
            icon={icon}
            text={text}
            tone={isDanger ? "bad" : undefined}
            onClick={() => {
              close();
              run();
            }}
          />
        ))
      }
    />
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
    ...(hasKeys() ? [{ icon: "keyboard" as const, text: t("shortcuts"), run: open("shortcuts") }] : []),
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

/** The dialogs of the inside. */
import { useSignal } from "@preact/signals";
import { inviteLink } from "../page/address.ts";
import { SHORTCUTS } from "../page/shortcuts.ts";
import { t } from "../texts/texts.ts";
import { ConnectionCheck, DeviceChoices, LevelMeter } from "./devices.tsx";
import { Dialog, Question } from "./dialog.tsx";
import { LanguageMenu } from "./language.tsx";
import { isRecordable } from "./recording.tsx";
import { dialog, hasShortcuts, setShortcuts, useVisit } from "./view.ts";

export function Dialogs() {
  const visit = useVisit();
  const open = dialog.value;
  const close = (): void => {
    dialog.value = undefined;
  };
  if (open === undefined) return null;
  if (open === "devices") return <Devices onClose={close} />;
  if (open === "invite") return <Invite onClose={close} />;
  if (open === "shortcuts") return <Shortcuts onClose={close} />;
  if (open === "end")
    return (
      <Question
        title={t("endQuestion")}
        text={t("endMeaning")}
        submit={t("end")}
        run={() => visit.act({ do: "end" })}
        onClose={close}
      />
    );
  if (open === "record")
    return (
      <Question
        title={t("recordQuestion")}
        text={t("recordMeaning")}
        submit={t("recordStart")}
        tone="primary"
        run={() => visit.recording.record(true)}
        onClose={close}
      />
    );
  return (
    <Question
      title={t("removeQuestion", { name: open.name })}
      text={t("removeMeaning")}
      submit={t("remove")}
      run={() => visit.act({ do: "remove", participantSession: open.remove })}
      onClose={close}
    />
  );
}

interface Props {
  readonly onClose: () => void;
}

function Devices({ onClose }: Props) {
  const { session } = useVisit();
  return (
    <Dialog title={t("devices")} onClose={onClose}>
      <DeviceChoices isAudioOnly={session.room.value.audioOnlyRoom} />
      <LevelMeter />
      <LanguageMenu />
      <h3>{t("connectionCheck")}</h3>
      <ConnectionCheck />
    </Dialog>
  );
}

function Invite({ onClose }: Props) {
  const isCopied = useSignal(false);
  const link = inviteLink();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(link);
      isCopied.value = true;
    } catch {
      // In a frame the clipboard may be closed: the link is there to be selected.
    }
  };
  return (
    <Dialog title={t("invite")} onClose={onClose}>
      <p class="muted">{t("inviteText")}</p>
      <div class="invite">
        <input readOnly value={link} aria-label={t("inviteLink")} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="primary" onClick={copy}>
          {t(isCopied.value ? "copied" : "copy")}
        </button>
      </div>
      <p class="hidden-text" aria-live="polite">
        {isCopied.value ? t("copied") : ""}
      </p>
    </Dialog>
  );
}

function Shortcuts({ onClose }: Props) {
  const visit = useVisit();
  const shown = SHORTCUTS.filter(({ key }) => key !== "R" || isRecordable(visit));
  return (
    <Dialog title={t("shortcuts")} onClose={onClose}>
      <dl class="keys">
        {shown.map(({ key, text }) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{t(text)}</dd>
          </div>
        ))}
      </dl>
      <label class="switch">
        <input
          type="checkbox"
          checked={hasShortcuts.value}
          onChange={(event) => setShortcuts(event.currentTarget.checked)}
        />
        {t("shortcutsOn")}
      </label>
    </Dialog>
  );
}

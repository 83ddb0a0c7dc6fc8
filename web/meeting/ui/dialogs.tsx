/** The dialogs of the inside. */
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { Refused } from "../page/api.ts";
import { cleanName, NAME_MAX_CHARS } from "../page/names.ts";
import { SHORTCUTS } from "../page/shortcuts.ts";
import { refusedAct } from "../session/refusals.ts";
import { t } from "../texts/texts.ts";
import { ConnectionCheck, DeviceChoices, LevelMeter } from "./devices.tsx";
import { Dialog, Question } from "./dialog.tsx";
import { InviteLink } from "./invite.tsx";
import { LanguageMenu } from "./language.tsx";
import { isRecordable } from "./recording.tsx";
import { dialog, hasShortcuts, keepRemoved, setShortcuts, useVisit } from "./view.ts";

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
  if (open === "leave")
    return (
      <Question
        title={t("leaveQuestion")}
        text={t("leaveMeaning")}
        submit={t("leave")}
        tone="primary"
        run={async () => visit.leave()}
        other={{ text: t("endForAll"), tone: "danger", run: () => visit.act({ do: "end" }) }}
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
  if ("rename" in open) return <Rename who={open.rename} name={open.name} onClose={close} />;
  return <Remove who={open.remove} name={open.name} isGuest={open.isGuest} onClose={close} />;
}

interface Props {
  readonly onClose: () => void;
}

/** Invited people stay out by their token; guests only where the room is locked. */
function Remove({ who, name, isGuest, onClose }: Props & { who: string; name: string; isGuest: boolean }) {
  const visit = useVisit();
  const isLocked = visit.session.isLocked.value;
  const remove = (): Promise<void> =>
    visit.act({ do: "remove", participantSession: who }).then(() => keepRemoved(name));
  const lockFirst = (): Promise<void> => visit.act({ do: "lock" }).then(remove);
  return (
    <Question
      title={t("removeQuestion", { name })}
      text={!isGuest ? t("removeInvited", { name }) : isLocked ? t("nowLocked") : t("removeGuest", { name })}
      submit={t("remove")}
      run={remove}
      {...(isGuest && !isLocked && { other: { text: t("removeAndLock"), tone: "danger", run: lockFirst } })}
      onClose={onClose}
    />
  );
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
  return (
    <Dialog title={t("invite")} onClose={onClose}>
      <p class="muted">{t("inviteText")}</p>
      <InviteLink />
    </Dialog>
  );
}

/** Guests are known by the name that they type; hosts can correct it. */
function Rename({ who, name, onClose }: Props & { readonly who: string; readonly name: string }) {
  const visit = useVisit();
  const typed = useSignal(name);
  const error = useSignal("");
  const id = useId();
  const save = async (event: Event): Promise<void> => {
    event.preventDefault();
    const wanted = cleanName(typed.value);
    if (wanted === "" || wanted === name) return onClose();
    try {
      await visit.act({ do: "rename", participantSession: who, name: wanted });
      onClose();
    } catch (cause) {
      const isRefused = cause instanceof Refused && cause.code === "action_not_permitted";
      error.value = t(isRefused ? "renameRefused" : (refusedAct(cause) ?? "somethingFailed"));
    }
  };
  return (
    <Dialog title={t("rename")} onClose={onClose}>
      <form class="field" onSubmit={save}>
        <label for={id}>{t("newName")}</label>
        <input
          id={id}
          dir="auto"
          maxLength={NAME_MAX_CHARS}
          value={typed.value}
          autocomplete="off"
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
        <p role="alert" class="bad">
          {error.value}
        </p>
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button type="submit" class="primary">
            {t("save")}
          </button>
        </div>
      </form>
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

/** Before entering: how one looks and sounds, the name, and the button to enter. */
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { isStranger, vouchedName } from "../page/door.ts";
import { cleanName, NAME_MAX_CHARS } from "../page/names.ts";
import { counted, t } from "../texts/texts.ts";
import { ConnectionCheck, DeviceChoices, LevelMeter } from "./devices.tsx";
import { Icon } from "./icons.tsx";
import { DeviceProblems } from "./problems.tsx";
import { EarlierUpload, RecordingNotice } from "./recording.tsx";
import { Video } from "./video.tsx";
import { useVisit } from "./view.ts";

export function DoorPage() {
  const visit = useVisit();
  const { session } = visit;
  const door = session.door.value;
  const isAudioOnly = door?.audioOnlyRoom === true;
  const isChecking = useSignal(false);
  return (
    <main class="door">
      <Preview isAudioOnly={isAudioOnly} />
      <div class="door-side card">
        <div>
          <p class="door-room">{session.room.value.roomName}</p>
          <h1>{t("doorTitle")}</h1>
          <p class="muted">{insideText(door?.inside)}</p>
        </div>
        <EnterForm />
        <details>
          <summary>{t("devices")}</summary>
          <DeviceChoices isAudioOnly={isAudioOnly} />
        </details>
        <details onToggle={(event) => (isChecking.value = event.currentTarget.open)}>
          <summary>{t("connectionCheck")}</summary>
          {isChecking.value && <ConnectionCheck />}
        </details>
      </div>
    </main>
  );
}

const insideText = (inside: number | undefined): string => {
  if (inside === undefined) return "";
  return inside === 0 ? t("insideNone") : counted(inside, "insideOne", "insideOther");
};

function EnterForm() {
  const visit = useVisit();
  const { session } = visit;
  const name = useSignal(visit.name);
  const id = useId();
  const isAsking = isStranger(session.door.value);
  const given = vouchedName(session.door.value);
  const isRecorded = session.door.value?.recording === true;
  const plain = isAsking ? "askToEnter" : "enter";
  const agree = isAsking ? "agreeAndAsk" : "agreeAndEnter";
  const isBusy = session.stage.value.at === "entering";
  // Who types none is called that, also in the recording.
  const isNamed = cleanName(name.value) !== "";
  const enter = (event: Event): void => {
    event.preventDefault();
    void visit.enter(name.value);
  };
  return (
    <form class="enter" onSubmit={enter}>
      {given === undefined ? (
        <div class="field">
          <label for={id}>{t("yourName")}</label>
          <input
            id={id}
            name="name"
            dir="auto"
            autocomplete="name"
            maxLength={NAME_MAX_CHARS}
            value={name.value}
            aria-describedby={`${id}-hint`}
            onInput={(event) => (name.value = event.currentTarget.value)}
          />
          <p id={`${id}-hint`} class="muted small">
            {isNamed ? t("yourNameHint") : t("enterAs", { name: visit.defaultName })}
          </p>
        </div>
      ) : (
        <p>{t("enterAs", { name: given })}</p>
      )}
      {isAsking && <p class="muted small">{t("privateRoom")}</p>}
      {isRecorded && <RecordingNotice isAhead={session.door.value?.inside === 0} />}
      <button type="submit" class="primary large" disabled={isBusy}>
        {t(isBusy ? "entering" : isRecorded ? agree : plain)}
      </button>
      <EarlierUpload />
    </form>
  );
}

function Preview({ isAudioOnly }: { readonly isAudioOnly: boolean }) {
  const visit = useVisit();
  const { media } = visit;
  const { video } = media.tracks.value;
  const isOn = media.isOn.value;
  const isStarting = media.starting.value.includes("video");
  return (
    <section class="preview-box" aria-label={t("preview")}>
      <div class={isAudioOnly ? "preview preview-low" : "preview"}>
        {video ? (
          <Video track={video} isMirrored label={t("preview")} />
        ) : (
          <p>{t(isStarting ? "cameraStarting" : isAudioOnly ? "audioOnly" : "cameraIsOff")}</p>
        )}
        <div class="preview-controls">
          <button
            type="button"
            class={isOn.audio ? "round" : "round off"}
            aria-label={t(isOn.audio ? "mute" : "unmute")}
            title={t(isOn.audio ? "mute" : "unmute")}
            onClick={() => void visit.toggle("audio")}
          >
            <Icon name={isOn.audio ? "microphone" : "microphoneOff"} />
          </button>
          {!isAudioOnly && (
            <button
              type="button"
              class={isOn.video ? "round" : "round off"}
              aria-label={t(isOn.video ? "cameraOff" : "cameraOn")}
              title={t(isOn.video ? "cameraOff" : "cameraOn")}
              onClick={() => void visit.toggle("video")}
            >
              <Icon name={isOn.video ? "camera" : "cameraOff"} />
            </button>
          )}
        </div>
      </div>
      <LevelMeter />
      <DeviceProblems />
    </section>
  );
}

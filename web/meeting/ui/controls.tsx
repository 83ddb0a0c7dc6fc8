/** The bar below the stage. */
import type { Kind } from "../call/contract.ts";
import type { TextKey } from "../texts/en.ts";
import { counted, t } from "../texts/texts.ts";
import { unread } from "./chat.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { MoreMenu } from "./more.tsx";
import { RecordingMark } from "./recording.tsx";
import { panel, togglePanel, useVisit } from "./view.ts";

interface ControlProps {
  readonly icon: IconName;
  /** Below the icon, for the eye. The label contains it, so that it can be spoken to click (WCAG 2.5.3). */
  readonly short: TextKey;
  /** What a click does. */
  readonly label: string;
  readonly shortcut: string;
  readonly tone?: "off" | "active" | undefined;
  readonly isDisabled?: boolean;
  readonly badge?: number;
  readonly onClick: () => void;
}

function Control({ icon, short, label, shortcut, tone, isDisabled, badge = 0, onClick }: ControlProps) {
  return (
    <button
      type="button"
      class={tone ? `control ${tone}` : "control"}
      aria-label={label}
      aria-keyshortcuts={shortcut}
      aria-disabled={isDisabled === true}
      title={`${label} (${shortcut})`}
      onClick={() => !isDisabled && onClick()}
    >
      <Icon name={icon} />
      <span class="control-text" aria-hidden="true">
        {t(short)}
      </span>
      {badge > 0 && <span class="count" data-count={badge} />}
    </button>
  );
}

const REFUSED: Readonly<Record<Kind, TextKey>> = {
  audio: "notAllowedAudio",
  video: "notAllowedVideo",
  screen: "notAllowedScreen",
};

const SHORT = { audio: "shortMicrophone", video: "shortCamera", screen: "shortScreen" } as const;

export function Controls() {
  const visit = useVisit();
  const { session, media } = visit;
  const may = session.may.value;
  const room = session.room.value;
  const isOn = media.isOn.value;
  const refusalOf = (kind: Kind): TextKey =>
    kind === "audio" && room.ownerOnlyBroadcast ? "onlyHosts" : REFUSED[kind];
  const labelOf = (kind: Kind, on: TextKey, off: TextKey): string =>
    may[kind] ? t(isOn[kind] ? off : on) : `${t(SHORT[kind])}: ${t(refusalOf(kind))}`;
  const isHandUp = session.isHandUp.value;
  const news = unread.value;
  const chatLabel = t(panel.value === "chat" ? "closeChat" : "openChat");
  return (
    <nav class="controls" aria-label={t("controls")}>
      <Control
        icon={isOn.audio ? "microphone" : "microphoneOff"}
        short="shortMicrophone"
        label={labelOf("audio", "unmute", "mute")}
        shortcut="M"
        tone={isOn.audio ? undefined : "off"}
        isDisabled={!may.audio}
        onClick={() => void visit.toggle("audio")}
      />
      {!room.audioOnlyRoom && (
        <Control
          icon={isOn.video ? "camera" : "cameraOff"}
          short="shortCamera"
          label={labelOf("video", "cameraOn", "cameraOff")}
          shortcut="V"
          tone={isOn.video ? undefined : "off"}
          isDisabled={!may.video}
          onClick={() => void visit.toggle("video")}
        />
      )}
      {media.canShareScreen && room.enableScreenSharing && !room.audioOnlyRoom && (
        <Control
          icon={isOn.screen ? "stop" : "screen"}
          short="shortScreen"
          label={labelOf("screen", "shareScreen", "stopScreen")}
          shortcut="S"
          tone={isOn.screen ? "active" : undefined}
          isDisabled={!may.screen}
          onClick={() => void visit.toggle("screen")}
        />
      )}
      <Control
        icon="hand"
        short="shortHand"
        label={t(isHandUp ? "lowerHand" : "raiseHand")}
        shortcut="H"
        tone={isHandUp ? "active" : undefined}
        onClick={() => visit.setHand(!isHandUp)}
      />
      {room.enableChat && (
        <Control
          icon="chat"
          short="shortChat"
          label={news > 0 ? `${chatLabel}, ${t("unread", { count: news })}` : chatLabel}
          shortcut="C"
          tone={panel.value === "chat" ? "active" : undefined}
          badge={news}
          onClick={() => togglePanel("chat")}
        />
      )}
      <MoreMenu />
      <button
        type="button"
        class="control leave"
        aria-label={t("leave")}
        title={t("leave")}
        onClick={() => visit.leave()}
      >
        <Icon name="leave" />
        <span class="control-text" aria-hidden="true">
          {t("leave")}
        </span>
      </button>
    </nav>
  );
}

/** Above the stage: the room, who is here, who waits. */
export function Header() {
  const { session } = useVisit();
  const waiting = session.queue.value.length;
  const people = session.people.value.length + 1;
  return (
    <header class="head">
      <h1 class="head-room" tabIndex={-1}>
        {session.room.value.roomName}
      </h1>
      <RecordingMark />
      {session.isLocked.value && (
        <span class="badge warn">
          <Icon name="lock" /> <span class="head-locked">{t("isLocked")}</span>
        </span>
      )}
      <button
        type="button"
        class="quiet head-people"
        aria-expanded={panel.value === "people"}
        title={t(panel.value === "people" ? "closePeople" : "openPeople")}
        onClick={() => togglePanel("people")}
      >
        <Icon name="people" />
        <span>{counted(people, "peopleOne", "peopleOther")}</span>
        {waiting > 0 && <span class="badge accent">{counted(waiting, "waitingOne", "waitingOther")}</span>}
      </button>
    </header>
  );
}

/** The bar below the stage. */
import type { Kind } from "../call/contract.ts";
import { hasKeys } from "../page/shortcuts.ts";
import { REACTION_SIGNS, REACTION_TEXTS, REACTIONS } from "../session/reactions.ts";
import type { TextKey } from "../texts/en.ts";
import { t } from "../texts/texts.ts";
import type { Visit } from "../visit/visit.ts";
import { unread } from "./chat.tsx";
import { DeviceMenu } from "./device-menu.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { Menu } from "./menu.tsx";
import { MoreMenu } from "./more.tsx";
import { dialog, panel, togglePanel, useVisit } from "./view.ts";

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
      aria-keyshortcuts={hasKeys() ? shortcut : undefined}
      aria-disabled={isDisabled === true}
      title={hasKeys() ? `${label} (${shortcut})` : label}
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
      <div class="split">
        <Control
          icon={isOn.audio ? "microphone" : "microphoneOff"}
          short="shortMicrophone"
          label={labelOf("audio", "unmute", "mute")}
          shortcut="M"
          tone={isOn.audio ? undefined : "off"}
          isDisabled={!may.audio}
          onClick={() => void visit.toggle("audio")}
        />
        <DeviceMenu kind="audio" />
      </div>
      {!room.audioOnlyRoom && (
        <div class="split">
          <Control
            icon={isOn.video ? "camera" : "cameraOff"}
            short="shortCamera"
            label={labelOf("video", "cameraOn", "cameraOff")}
            shortcut="V"
            tone={isOn.video ? undefined : "off"}
            isDisabled={!may.video}
            onClick={() => void visit.toggle("video")}
          />
          <DeviceMenu kind="video" />
        </div>
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
        onClick={() => visit.inside?.setHand(!isHandUp)}
      />
      <ReactionMenu />
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
        onClick={() => leave(visit)}
      >
        <Icon name="leave" />
        <span class="control-text" aria-hidden="true">
          {t("leave")}
        </span>
      </button>
    </nav>
  );
}

/** The last host is asked: the others would go on without one. */
function leave(visit: Visit): void {
  const { me, people } = visit.session;
  const isLastHost = me.value.isAdmin && people.value.length > 0 && !people.value.some(({ isAdmin }) => isAdmin);
  if (isLastHost) dialog.value = "leave";
  else visit.leave();
}

function ReactionMenu() {
  const visit = useVisit();
  return (
    <Menu
      label={t("react")}
      look="control"
      isRow
      button={
        <>
          <Icon name="smile" />
          <span class="control-text" aria-hidden="true">
            {t("shortReact")}
          </span>
        </>
      }
      // It stays open: applause is more than one.
      items={() =>
        REACTIONS.map((name) => (
          <button
            key={name}
            type="button"
            role="menuitem"
            tabIndex={-1}
            class="menu-sign"
            aria-label={t(REACTION_TEXTS[name])}
            title={t(REACTION_TEXTS[name])}
            // One too many in a second, or without a connection: the others miss one.
            onClick={() => void visit.inside?.react(name).catch(() => undefined)}
          >
            {REACTION_SIGNS[name]}
          </button>
        ))
      }
    />
  );
}

/** Inside the meeting. */
import { useEffect, useLayoutEffect } from "preact/hooks";
import { isWritingIn, type Shortcut, shortcutOf } from "../page/shortcuts.ts";
import { unreachedText } from "../session/unreached.ts";
import { duration, t } from "../texts/texts.ts";
import type { Visit } from "../visit/visit.ts";
import { ChatPanel, useUnread } from "./chat.tsx";
import { Controls } from "./controls.tsx";
import { Dialogs } from "./dialogs.tsx";
import { Header } from "./head.tsx";
import { useNow } from "./now.ts";
import { LobbyCard, PeoplePanel } from "./people.tsx";
import { DeviceProblems } from "./problems.tsx";
import { ConsentDialog, isRecordable, RecordingProblems, toggleRecording } from "./recording.tsx";
import { Sound } from "./sound.tsx";
import { Stage } from "./stage.tsx";
import { dialog, hasShortcuts, panel, resetView, togglePanel, useVisit } from "./view.ts";

/** The end of the meeting, or of one's own stay, is shown this long before. */
const ENDING_SHOWN_SECONDS = 300;

export function InsidePage() {
  const visit = useVisit();
  const { session } = visit;
  useUnread();
  useLayoutEffect(() => {
    // Screen readers begin with the room's name; the button that had the focus is gone.
    document.querySelector<HTMLElement>(".head-room")?.focus();
    return resetView;
  }, []);
  useEffect(() => followKeys(visit), []);
  const isChatShown = panel.value === "chat" && session.room.value.enableChat;
  return (
    <div class="inside">
      <Header />
      <main class="center">
        <div class="banners">
          <EndingBanner />
          <UnreachedBanner />
          <Sound />
          <DeviceProblems />
          <RecordingProblems />
        </div>
        <div class="middle">
          <Stage />
          <LobbyCard />
          {!session.isOnline.value && <Reconnecting />}
          {isChatShown && <ChatPanel />}
          {panel.value === "people" && <PeoplePanel />}
        </div>
      </main>
      <Controls />
      <Dialogs />
      <ConsentDialog />
    </div>
  );
}

function UnreachedBanner() {
  const { session } = useVisit();
  const text = unreachedText(session);
  return text === "" ? null : <p class="banner warn">{text}</p>;
}

/** Above the stage, which stays as it is: most losses are short. */
function Reconnecting() {
  const visit = useVisit();
  const now = useNow();
  const { value: atMs } = visit.session.retryAtMs;
  const seconds = atMs === undefined ? 0 : Math.ceil((atMs - now) / 1000);
  return (
    <div class="reconnecting">
      <span>{seconds > 0 ? t("retryIn", { time: duration(seconds) }) : t("reconnecting")}</span>
      <button type="button" class="small" onClick={() => visit.inside?.retry()}>
        {t("retryNow")}
      </button>
    </div>
  );
}

function EndingBanner() {
  const { session } = useVisit();
  const ending = session.ending.value;
  const now = useNow(ending !== undefined);
  const seconds = ending ? Math.round((ending.timeMs - now) / 1000) : Number.POSITIVE_INFINITY;
  if (!ending || seconds > ENDING_SHOWN_SECONDS || seconds < 0) return null;
  return <p class="banner warn">{t(ending.isForAll ? "endsIn" : "youLeaveIn", { time: duration(seconds) })}</p>;
}

function followKeys(visit: Visit): () => void {
  const { session, media } = visit;
  const run: Readonly<Record<Shortcut, () => void>> = {
    M: () => void visit.toggle("audio"),
    V: () => void visit.toggle("video"),
    S: () => media.canShareScreen && void visit.toggle("screen"),
    C: () => session.room.value.enableChat && togglePanel("chat"),
    H: () => visit.inside?.setHand(!session.isHandUp.value),
    R: () => isRecordable(visit) && toggleRecording(visit),
    "?": () => (dialog.value = "shortcuts"),
  };
  const pressed = (event: KeyboardEvent): void => {
    const isAsked = session.recording.value?.hasAgreed === false;
    if (!hasShortcuts.value || dialog.value !== undefined || isAsked) return;
    const shortcut = shortcutOf(event, isWritingIn(event.target));
    if (!shortcut) return;
    event.preventDefault();
    run[shortcut]();
  };
  addEventListener("keydown", pressed);
  return () => removeEventListener("keydown", pressed);
}

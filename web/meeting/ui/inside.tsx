/** Inside the meeting. */
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { isWritingIn, type Shortcut, shortcutOf } from "../page/shortcuts.ts";
import { unreachedText } from "../session/unreached.ts";
import { duration, t } from "../texts/texts.ts";
import type { Visit } from "../visit/visit.ts";
import { ChatPanel, useUnread } from "./chat.tsx";
import { Controls, Header } from "./controls.tsx";
import { Dialogs } from "./dialogs.tsx";
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
          {!session.isOnline.value && (
            <p class="banner warn" role="status">
              {t("reconnecting")}
            </p>
          )}
          <EndingBanner />
          <UnreachedBanner />
          <Sound />
          <DeviceProblems />
          <RecordingProblems />
        </div>
        <div class="middle">
          <Stage />
          <LobbyCard />
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

function EndingBanner() {
  const { session } = useVisit();
  const now = useSignal(Date.now());
  const ending = session.ending.value;
  useEffect(() => {
    if (!ending) return;
    const timer = setInterval(() => (now.value = Date.now()), 1000);
    return () => clearInterval(timer);
  }, [ending]);
  const seconds = ending ? Math.round((ending.timeMs - now.value) / 1000) : Number.POSITIVE_INFINITY;
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
    H: () => visit.setHand(!session.isHandUp.value),
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

/** Pages with one message: waiting in the lobby, why one cannot enter, why one was put out, and after leaving. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { isStranger } from "../page/door.ts";
import type { Ending } from "../room/contract.ts";
import type { Closed, Stage } from "../session/session.ts";
import type { TextKey } from "../texts/en.ts";
import { duration, moment, recordedBy, t, timeOfDay } from "../texts/texts.ts";
import { useNow } from "./now.ts";
import { UploadStatus } from "./recording.tsx";
import { useVisit } from "./view.ts";

interface MessageProps {
  readonly title: string;
  readonly text?: string;
  readonly children?: ComponentChildren;
  readonly isBusy?: boolean;
}

function Message({ title, text, children, isBusy }: MessageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  const { session } = useVisit();
  // Screen readers begin here; the button that had the focus is gone.
  useLayoutEffect(() => heading.current?.focus(), [title]);
  return (
    <main class="closed">
      <div class="card closed-card">
        <p class="door-room">{session.room.value.roomName}</p>
        {isBusy && <div class="dots" aria-hidden="true" />}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {text !== undefined && <p class="muted">{text}</p>}
        {children}
      </div>
    </main>
  );
}

export function LoadingPage() {
  const { session } = useVisit();
  return (
    <main class="closed" aria-busy="true">
      <div class="closed-card">
        <h1 class="hidden-text">{session.room.value.roomName}</h1>
        <div class="dots" aria-hidden="true" />
      </div>
    </main>
  );
}

type Waiting = Extract<Stage, { readonly at: "waiting" }>;

function waitingText({ hasHost, isLost }: Waiting): TextKey {
  if (isLost) return "waitingLost";
  return hasHost === undefined ? "waitingText" : hasHost ? "waitingSeen" : "waitingAlone";
}

export function WaitingPage(waiting: Waiting) {
  const visit = useVisit();
  return (
    <Message title={t("waitingTitle")} isBusy>
      <p class="muted" aria-live="polite">
        {t(waitingText(waiting))}
      </p>
      <p class="muted small">{t("waitingSince", { time: timeOfDay(waiting.sinceMs) })}</p>
      <button type="button" onClick={() => visit.stopWaiting()}>
        {t("stopWaiting")}
      </button>
    </Message>
  );
}

type MessageKeys = readonly [title: TextKey, text: TextKey];

const CLOSED: Readonly<Record<Closed, MessageKeys>> = {
  not_open: ["notOpenTitle", "notOpenTextPlain"],
  over: ["overTitle", "overText"],
  full: ["fullTitle", "fullText"],
  locked: ["lockedTitle", "lockedText"],
  invitation: ["invitationTitle", "invitationText"],
  stale: ["staleTitle", "staleText"],
  missing: ["missingTitle", "missingText"],
  busy: ["busyTitle", "busyText"],
  failed: ["failedTitle", "failedText"],
  refused: ["failedTitle", "somethingFailed"],
  declined: ["declinedTitle", "declinedText"],
  lobby_full: ["lobbyFullTitle", "lobbyFullText"],
  waiting_over: ["waitingOverTitle", "waitingOverText"],
};

/** Nothing changes by trying again. */
const FINAL: readonly Closed[] = ["over", "missing", "invitation", "not_open"];

export function ClosedPage({ why, timeMs, text }: Extract<Stage, { readonly at: "closed" }>) {
  const visit = useVisit();
  const [title, explanation] = CLOSED[why];
  const time = timeMs === undefined ? undefined : moment(timeMs, Date.now());
  if (why === "not_open" && timeMs !== undefined) return <NotOpenPage opensMs={timeMs} />;
  return (
    <Message title={t(title)} text={t(explanation)}>
      {why === "over" && time !== undefined && <p class="muted small">{t("overAt", { time })}</p>}
      {text !== undefined && text !== "" && <p>{t("declinedSaid", { text })}</p>}
      {why === "stale" && (
        <button type="button" onClick={() => void visit.withoutToken()}>
          {t("enterWithout")}
        </button>
      )}
      {why === "declined" && <AskAgain timeMs={timeMs ?? 0} />}
      {why !== "stale" && why !== "declined" && !FINAL.includes(why) && (
        <button type="button" class="primary" onClick={() => void visit.returnToDoor()}>
          {t("tryAgain")}
        </button>
      )}
    </Message>
  );
}

/** Visitors who are earlier than that come back for the meeting: the page does not ask them to stay. */
const WORTH_WAITING_MS = 3_600_000;

/** The page looks at the door again by itself (page/door.ts). */
function NotOpenPage({ opensMs }: { readonly opensMs: number }) {
  const door = useVisit().session.door.value;
  // The door is another one with each look.
  const nowMs = Date.now();
  const closesMs = (door?.closesAt ?? 0) * 1000;
  const ahead = [
    door?.recording && t("recordingAhead"),
    isStranger(door) && door?.enableRequestToJoin && t("privateRoom"),
    opensMs - nowMs <= WORTH_WAITING_MS && t("keepOpen"),
  ];
  return (
    <Message title={t("notOpenTitle")} text={t("notOpenText", { time: moment(opensMs, nowMs) })}>
      {closesMs > 0 && <p class="muted">{t("closesText", { time: moment(closesMs, opensMs) })}</p>}
      {ahead.some(Boolean) && <p class="muted">{ahead.filter(Boolean).join(" ")}</p>}
    </Message>
  );
}

/** The service refuses a declined visitor for a while: without the countdown that would look like a second decision of a host. */
function AskAgain({ timeMs }: { readonly timeMs: number }) {
  const visit = useVisit();
  const isWaiting = useSignal(true);
  const seconds = Math.max(0, Math.ceil((timeMs - useNow(isWaiting.value)) / 1000));
  const isEarly = seconds > 0;
  useEffect(() => {
    isWaiting.value = isEarly;
  }, [isEarly]);
  return (
    <>
      {/* The seconds are not read aloud, only that they are over. */}
      <p class="muted small" role="status">
        {isEarly ? <span aria-live="off">{t("askAgainIn", { time: duration(seconds) })}</span> : t("askAgainNow")}
      </p>
      <button type="button" class="primary" disabled={isEarly} onClick={() => void visit.returnToDoor()}>
        {t("tryAgain")}
      </button>
    </>
  );
}

const OUT: Readonly<Record<Ending, MessageKeys>> = {
  removed: ["removedTitle", "removedText"],
  ended: ["endedTitle", "endedText"],
  time: ["timeTitle", "timeText"],
  replaced: ["replacedTitle", "replacedText"],
  lost: ["lostTitle", "lostText"],
};

/** A meeting that is recorded is entered by a click on this, also where the page would enter by itself. */
export function ConsentPage({ by }: { readonly by: string }) {
  const visit = useVisit();
  return (
    <Message title={t("consentTitle")}>
      {by !== "" && <p>{recordedBy(by)}</p>}
      <p class="muted">{t("recordingMeaning")}</p>
      <button type="button" class="primary" onClick={() => visit.recording.agree()}>
        {t("agreeAndEnter")}
      </button>
      <p class="muted small">{t("consentOrClose")}</p>
    </Message>
  );
}

export function OutPage({ why }: { readonly why: Ending }) {
  const visit = useVisit();
  const [title, text] = OUT[why];
  // Without an invitation a person is not recognised: it could enter again.
  const isGuest = why === "removed" && !visit.hasToken;
  return (
    <Message title={t(title)} text={t(isGuest ? "removedGuestText" : text)}>
      <UploadStatus isRemoved={why === "removed"} />
      {why === "ended" && <RecordingPlace />}
      {why === "replaced" && (
        <button type="button" class="primary" onClick={() => void visit.bringBack()}>
          {t("bringBack")}
        </button>
      )}
      {(why === "ended" || why === "time") && (
        <Again
          text={why === "time" ? "enterAgain" : isStranger(visit.session.door.value) ? "askToEnter" : "newMeeting"}
        />
      )}
      {why === "lost" && (
        <button type="button" class="primary" onClick={() => void visit.returnToDoor()}>
          {t("enterAgain")}
        </button>
      )}
    </Message>
  );
}

/** For hosts, who look for them next. This page does not know who can sign in there. */
function RecordingPlace() {
  const { door, room } = useVisit().session;
  const isPossible = door.value?.recording || room.value.enableRecording;
  return isPossible && door.value?.you?.isAdmin ? <p class="muted">{t("recordingPlace")}</p> : null;
}

/** Only where the room can be entered: it takes a moment to find out, and nothing else moves meanwhile. */
function Again({ text }: { readonly text: TextKey }) {
  const visit = useVisit();
  const may = useSignal(false);
  useEffect(() => {
    void visit.mayReturn().then((answer) => (may.value = answer));
  }, []);
  return (
    <button
      type="button"
      class={may.value ? "primary" : "primary not-yet"}
      disabled={!may.value}
      onClick={() => void visit.returnToDoor()}
    >
      {t(text)}
    </button>
  );
}

export function LeftPage() {
  const visit = useVisit();
  return (
    <Message title={t("leftTitle")}>
      <UploadStatus done={t("leftText")} />
      <RecordingPlace />
      <button type="button" class="primary" onClick={() => void visit.returnToDoor()}>
        {t("enterAgain")}
      </button>
    </Message>
  );
}

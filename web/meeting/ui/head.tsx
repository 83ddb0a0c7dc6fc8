/** Above the stage: the room, for how long, what is recorded and presented, who is here, who waits. */
import { clockTime, counted, t } from "../texts/texts.ts";
import { Icon } from "./icons.tsx";
import { useNow } from "./now.ts";
import { RecordingMark } from "./recording.tsx";
import { layout, panel, togglePanel, useVisit } from "./view.ts";

export function Header() {
  const { session } = useVisit();
  const waiting = session.queue.value.length;
  const people = session.people.value.length + 1;
  const isGrid = layout.value === "grid";
  const viewText = t(isGrid ? "speakerView" : "gridView");
  return (
    <header class="head">
      <h1 class="head-room" tabIndex={-1}>
        {session.room.value.roomName}
      </h1>
      <Clock />
      <RecordingMark />
      {session.isLocked.value && (
        <span class="badge warn">
          <Icon name="lock" /> <span class="head-locked">{t("isLocked")}</span>
        </span>
      )}
      <Presenting />
      <button
        type="button"
        class="quiet icon-button head-view"
        aria-label={viewText}
        title={viewText}
        onClick={() => (layout.value = isGrid ? "speaker" : "grid")}
      >
        <Icon name={isGrid ? "speaker" : "grid"} />
      </button>
      <button
        type="button"
        class="quiet head-people"
        aria-expanded={panel.value === "people"}
        title={t(panel.value === "people" ? "closePeople" : "openPeople")}
        onClick={() => togglePanel("people")}
      >
        <Icon name="people" />
        <span class="head-number" aria-hidden="true">
          {people}
        </span>
        <span class="head-count">{counted(people, "peopleOne", "peopleOther")}</span>
        {waiting > 0 && <span class="badge accent">{counted(waiting, "waitingOne", "waitingOther")}</span>}
      </button>
    </header>
  );
}

function Clock() {
  const { session } = useVisit();
  const seconds = Math.floor((useNow() - session.beganMs.value) / 1000);
  return (
    <span class="head-clock muted" role="timer" title={t("meetingTime")}>
      {clockTime(seconds)}
    </span>
  );
}

/** One's own screen is no tile: it would show itself, again and again. */
function Presenting() {
  const visit = useVisit();
  if (!visit.media.isOn.value.screen) return null;
  return (
    <span class="presenting" role="status">
      <Icon name="screen" />
      <span class="presenting-text">{t("presenting")}</span>
      <button type="button" class="small" title={t("stopScreen")} onClick={() => void visit.toggle("screen")}>
        {t("stop")}
      </button>
    </span>
  );
}

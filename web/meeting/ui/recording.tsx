/** What is shown about the recording: the mark, the notice, the question to agree, faults, and what still has to be uploaded. */
import { useRef } from "preact/hooks";
import { announce } from "../page/announce.ts";
import { mayRecord } from "../page/rights.ts";
import type { Failure } from "../recording/contract.ts";
import { refusedAct } from "../session/refusals.ts";
import type { TextKey } from "../texts/en.ts";
import { duration, recordedBy, t } from "../texts/texts.ts";
import type { Visit } from "../visit/visit.ts";
import { Dialog } from "./dialog.tsx";
import { dialog, useVisit } from "./view.ts";

/** In the head, as long as the meeting is recorded. */
export function RecordingMark() {
  const { session } = useVisit();
  const now = session.recording.value;
  if (!now) return null;
  return (
    <span class="rec-mark" title={recordedBy(now.by)}>
      <span class="rec-dot" aria-hidden="true" />
      <span class="rec-by">{now.by === "" ? t("recordingMark") : t("recordingMarkBy", { name: now.by })}</span>
      <span class="rec-short" aria-hidden="true">
        {t("recordingShort")}
      </span>
    </span>
  );
}

/** For those who are inside when it starts. It cannot be closed without an answer. */
export function ConsentDialog() {
  const visit = useVisit();
  const now = visit.session.recording.value;
  if (!now || now.hasAgreed) return null;
  return (
    <Dialog title={t("consentTitle")}>
      {now.by !== "" && <p>{recordedBy(now.by)}</p>}
      <p class="muted">
        {t("recordingMeaning")} {t("consentNothingYet")}
      </p>
      <div class="dialog-actions">
        <button type="button" onClick={() => visit.leave()}>
          {t("leave")}
        </button>
        <button type="button" class="primary" onClick={() => visit.recording.agree()}>
          {t("agreeAndStay")}
        </button>
      </div>
    </Dialog>
  );
}

/** Above the button to enter a meeting that is recorded. */
export function RecordingNotice({ isAhead }: { readonly isAhead: boolean }) {
  return (
    <div class="rec-notice">
      <p class="rec-title">
        <span class="rec-dot" aria-hidden="true" />
        <strong>{t(isAhead ? "recordingAhead" : "recordingByRoom")}</strong>
      </p>
      <p class="small">{t("recordingMeaning")}</p>
    </div>
  );
}

const FAILURES: Readonly<Record<Failure, TextKey>> = {
  unsupported: "recordingUnsupported",
  refused: "recordingRefused",
  too_large: "recordingTooLarge",
  storage_full: "recordingStorageFull",
  queue_full: "recordingQueueFull",
  broken: "recordingBroken",
};

/** Why this page does not record; or that it does, and could lose something. */
export function RecordingProblems({ isRemoved = false }: { readonly isRemoved?: boolean }) {
  const { recording, uploads } = useVisit();
  const failure = recording.own.failure.value;
  // Its last part comes too late then: that is no fault, and `UploadStatus` says it.
  const isFault = failure !== undefined && !(isRemoved && failure === "refused");
  return (
    <div role="alert" class="problems">
      {isFault && <p class="notice warn">{t(FAILURES[failure])}</p>}
      {!failure && uploads.isInMemory.value && <p class="notice warn">{t("recordingInMemory")}</p>}
    </div>
  );
}

interface UploadStatusProps {
  /** Shown when nothing is left to upload. */
  readonly done?: string;
  readonly isRemoved?: boolean;
}

/** After leaving: how much is still to upload. */
export function UploadStatus({ done = "", isRemoved = false }: UploadStatusProps) {
  const { uploads, recording } = useVisit();
  const { runs, bytes, seconds } = uploads.pending.value;
  const most = useRef(0);
  const hadRuns = useRef(false);
  most.current = Math.max(most.current, bytes);
  if (runs > 0) hadRuns.current = true;
  const failure = recording.own.failure.value;
  if (!hadRuns.current && !failure && done === "") return null;
  const isUploaded = hadRuns.current && !failure;
  // The service takes nothing more from a person who was removed: whether the last part was refused, or the upload was complete before it.
  const end = isRemoved ? t("recordingCut") : isUploaded ? t("uploadDone") : "";
  const rest = bytes > 0 ? t("uploadRest", { time: duration(Math.max(1, seconds)) }) : t("uploadFinishing");
  return (
    <div class="upload">
      {/* Only that it waits and that it is done is read aloud, not every second. */}
      <p class="muted">{runs > 0 ? rest : end || done}</p>
      {runs > 0 && (
        <progress
          class="upload-bar"
          aria-label={t("uploadProgress")}
          max={Math.max(1, most.current)}
          value={most.current - bytes}
        />
      )}
      <p class="hidden-text" role="status">
        {runs > 0 ? t("uploadProgress") : end}
      </p>
      <RecordingProblems isRemoved={isRemoved} />
    </div>
  );
}

/** At the door: what an earlier page has left is finished here. */
export function EarlierUpload() {
  const { uploads } = useVisit();
  const { runs, bytes, seconds } = uploads.pending.value;
  if (runs === 0 || bytes === 0) return null;
  return <p class="muted small">{t("uploadEarlier", { time: duration(Math.max(1, seconds)) })}</p>;
}

/** Whether the person at this page may start and stop the recording. */
export const isRecordable = ({ session }: Visit): boolean =>
  mayRecord(session.room.value, session.me.value, session.people.value);

/** Starting is asked about first. */
export function toggleRecording(visit: Visit): void {
  if (!visit.session.recording.value) {
    dialog.value = "record";
    return;
  }
  visit.recording.record(false).catch((error: unknown) => announce(t(refusedAct(error) ?? "somethingFailed")));
}

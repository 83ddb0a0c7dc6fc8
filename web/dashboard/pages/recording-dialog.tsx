/** One recording: played from the service itself, with everything that is known of it. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Recording } from "../api/types.ts";
import { bytes, duration, exactTime } from "../lib/format.ts";
import { mayChange } from "../lib/session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Notice } from "../ui/notice.tsx";

interface RecordingDialogProps {
  readonly recording: Recording;
  /** Where its bytes are. */
  readonly address: string;
  readonly onDelete: (recording: Recording) => void;
  readonly onClose: () => void;
}

export function RecordingDialog({ recording, address, onDelete, onClose }: RecordingDialogProps) {
  return (
    <Dialog title={recording.fileName} onClose={onClose}>
      <div class="stack">
        {mayChange.value ? (
          <Player recording={recording} address={address} />
        ) : (
          <Notice>Only operators with the role admin can play or download recordings.</Notice>
        )}
        <Facts of={recording} />
        <div class="form-actions">
          {mayChange.value && (
            <>
              <button type="button" class="danger" onClick={() => onDelete(recording)}>
                Delete …
              </button>
              <a class="button" href={`${address}?download=1`} download={recording.fileName}>
                Download
              </a>
            </>
          )}
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

function Player({ recording: { type }, address }: { readonly recording: Recording; readonly address: string }) {
  const isBroken = useSignal(false);
  const media = { src: address, controls: true, onError: () => (isBroken.value = true) };
  if (isBroken.value)
    return (
      <div role="alert">
        <Notice kind="warn">
          The browser cannot play this file: it is damaged, or not of a type that browsers play. Download it instead.
        </Notice>
      </div>
    );
  return type === "audio" ? (
    <audio class="player" {...media} />
  ) : (
    <video class="player" playsInline preload="metadata" {...media} />
  );
}

function Facts({ of: recording }: { readonly of: Recording }) {
  const { startTime, endTime } = recording;
  const facts: readonly (readonly [name: string, value: ComponentChildren])[] = [
    ["Room", <code key="room">{recording.roomName ?? recording.room}</code>],
    ["Participant", recording.participantUsername],
    ["Type", recording.type],
    ["Size", bytes(recording.sizeInBytes)],
    ["Started", exactTime(startTime)],
    ["Length", duration(endTime - startTime)],
    ["Completed", exactTime(recording.completed)],
    ["Id", <code key="id">{recording._id}</code>],
    ["Meeting session", <code key="meeting">{recording.meetingSession}</code>],
    ["Participant session", <code key="participant">{recording.participantSession}</code>],
  ];
  return (
    <dl class="facts">
      {facts.flatMap(([name, value]) => [<dt key={name}>{name}</dt>, <dd key={`${name} value`}>{value}</dd>])}
    </dl>
  );
}

/** Plays a recording in a dialog, from the service itself. */
import { useSignal } from "@preact/signals";
import type { Recording } from "../api/types.ts";
import { bytes, duration } from "../lib/format.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Notice } from "../ui/notice.tsx";

interface PlayerProps {
  readonly recording: Recording;
  readonly address: string;
  readonly onClose: () => void;
}

export function Player({ recording, address, onClose }: PlayerProps) {
  const isBroken = useSignal(false);
  const { type, fileName, participantUsername, sizeInBytes, startTime, endTime } = recording;
  const media = { src: address, controls: true, autoplay: true, onError: () => (isBroken.value = true) };
  return (
    <Dialog title={`${participantUsername}, ${type}`} onClose={onClose}>
      <div class="stack">
        <div role="alert">
          {isBroken.value && (
            <Notice kind="bad">
              The browser cannot play this file: it is damaged, or not of a type that browsers play. Download it
              instead.
            </Notice>
          )}
        </div>
        {type === "audio" ? <audio class="player" {...media} /> : <video class="player" playsInline {...media} />}
        <p class="muted small">
          <code>{fileName}</code>, {bytes(sizeInBytes)}, {duration(endTime - startTime)}
        </p>
        <div class="form-actions">
          <a class="button" href={address} download={fileName}>
            Download
          </a>
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        </div>
      </div>
    </Dialog>
  );
}

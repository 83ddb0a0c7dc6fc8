/** Plays a recording from the service itself, which sends the parts that are asked for: seeking does not load the whole file. */
import { useSignal } from "@preact/signals";
import type { Recording } from "../../api/room-types.ts";
import { sourceOf } from "../../live/recordings.ts";
import { Notice } from "../../ui/notice.tsx";

interface PlayerProps {
  readonly recording: Recording;
  /** Where its bytes are. */
  readonly address: string;
  /** Where its thumbnail is. */
  readonly poster: string | undefined;
}

export function Player({ recording, address, poster }: PlayerProps) {
  const isBroken = useSignal(false);
  const media = {
    class: "player",
    src: address,
    controls: true,
    preload: "metadata" as const,
    "aria-label": `Recording of ${recording.participantUsername}, ${sourceOf(recording)}`,
    onError: () => {
      isBroken.value = true;
    },
  };
  if (isBroken.value)
    return (
      <div role="alert">
        <Notice kind="warn">
          Your browser cannot play this file: it is damaged, or its type is not supported. Download it instead.
        </Notice>
      </div>
    );
  return (
    <div class="stack">
      {recording.type === "audio" ? <audio {...media} /> : <video playsInline {...media} {...(poster && { poster })} />}
      {recording.mended === false && (
        <Notice kind="warn">
          This file could not be mended, so it is as the browser recorded it. It plays, but its length may be unknown
          until the end, and seeking may not work.
        </Notice>
      )}
    </div>
  );
}

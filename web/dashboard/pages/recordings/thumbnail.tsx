/** The small picture of a recording in a list, or what stands for it. */
import { useSignal } from "@preact/signals";
import { addressOf, segment } from "../../api/client.ts";
import type { Recording } from "../../api/room-types.ts";
import { mayChange } from "../../api/session.ts";
import { recordingsPath } from "../../live/recordings.ts";

/** A camera, a microphone, a screen: 16 units high and wide. */
const ICONS: Readonly<Record<Recording["type"], string>> = {
  video: "M1 4h9v8H1zM11 7l4-3v8l-4-3z",
  audio: "M6 1h4v8H6zM3 7h1.5v2a3.5 3.5 0 0 0 7 0V7H13v2a5 5 0 0 1-4.2 4.9V16H7.2v-2.1A5 5 0 0 1 3 9z",
  screen: "M1 2h14v9H1zM5 13h6v1H5z",
  composition: "M1 2h6v5H1zM9 2h6v5H9zM1 9h6v5H1zM9 9h6v5H9z",
};

export function Thumbnail({ app, of: one }: { readonly app: string; readonly of: Recording }) {
  const isGone = useSignal(false);
  const isShown = one.hasThumbnail && mayChange.value && !isGone.value;
  return (
    <span class="thumb" aria-hidden="true">
      {isShown ? (
        <img
          src={addressOf(`${recordingsPath(app)}/${segment(one._id)}/thumbnail`)}
          alt=""
          loading="lazy"
          onError={() => {
            isGone.value = true;
          }}
        />
      ) : (
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path fill="currentColor" d={ICONS[one.type]} />
        </svg>
      )}
    </span>
  );
}

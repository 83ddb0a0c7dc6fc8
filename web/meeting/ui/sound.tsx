/** Plays what others say. Browsers may refuse to before the first click: then a button asks for it. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { t } from "../texts/texts.ts";
import { useVisit } from "./view.ts";

type Playable = HTMLAudioElement & { setSinkId?: (deviceId: string) => Promise<void> };

export function Sound() {
  const { session, media } = useVisit();
  const isBlocked = useSignal(false);
  const box = useRef<HTMLDivElement>(null);
  const output = media.chosen("output");
  const audio = session.tracks.value.filter(({ kind }) => kind === "audio");
  const playAll = (): void => {
    isBlocked.value = false;
    for (const element of box.current?.querySelectorAll("audio") ?? [])
      element.play().catch(() => {
        isBlocked.value = true;
      });
  };
  return (
    <>
      <div ref={box} hidden>
        {audio.map(({ participantSession, track }) => (
          <Voice
            key={`${participantSession} ${track.id}`}
            track={track}
            output={output}
            onBlocked={() => (isBlocked.value = true)}
          />
        ))}
      </div>
      {isBlocked.value && (
        <div class="banner" role="alert">
          <span>{t("soundBlocked")}</span>
          <button type="button" class="primary small" onClick={playAll}>
            {t("playSound")}
          </button>
        </div>
      )}
    </>
  );
}

interface VoiceProps {
  readonly track: MediaStreamTrack;
  readonly output: string;
  readonly onBlocked: () => void;
}

function Voice({ track, output, onBlocked }: VoiceProps) {
  const element = useRef<HTMLAudioElement>(null);
  useEffect(() => {
    const audio = element.current;
    if (!audio) return;
    audio.srcObject = new MediaStream([track]);
    audio.play().catch((error: unknown) => {
      if (error instanceof Error && error.name === "NotAllowedError") onBlocked();
    });
    return () => {
      audio.srcObject = null;
    };
  }, [track]);
  useEffect(() => {
    // A loudspeaker that is gone: the system's is used.
    (element.current as Playable | null)?.setSinkId?.(output).catch(() => undefined);
  }, [output]);
  // biome-ignore lint/a11y/useMediaCaption: people speak live; there are no captions.
  return <audio ref={element} />;
}

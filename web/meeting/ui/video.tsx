/** Shows a track. Sound is played by sound.tsx alone. */
import { useLayoutEffect, useRef } from "preact/hooks";

interface VideoProps {
  readonly track: MediaStreamTrack;
  /** One's own camera is shown as in a mirror. */
  readonly isMirrored?: boolean;
  /** A screen is shown whole, a camera fills its tile. */
  readonly isWhole?: boolean;
  readonly label: string;
}

export function Video({ track, isMirrored, isWhole, label }: VideoProps) {
  const element = useRef<HTMLVideoElement>(null);
  useLayoutEffect(() => {
    const video = element.current;
    if (!video) return;
    video.srcObject = new MediaStream([track]);
    // Browsers that block it show the first picture, and go on with the next click.
    video.play().catch(() => undefined);
    return () => {
      video.srcObject = null;
    };
  }, [track]);
  const classes = ["video", isMirrored && "mirrored", isWhole && "whole"].filter(Boolean).join(" ");
  return <video ref={element} class={classes} autoplay playsinline muted aria-label={label} />;
}

/** The pictures and sounds of a meeting, side by side: one tile per person, and larger ones for screens. */
import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { recordingPage } from "../../address/links.ts";
import { addressOf, segment } from "../../api/client.ts";
import { recordingsPath, sourceOf } from "../../live/recordings.ts";
import type { MeetingPlayer } from "../../playback/meeting-player.ts";
import { isAt, isSpeaking, type Lane, type Timeline, type Track } from "../../playback/timeline.ts";

interface StageProps {
  readonly app: string;
  readonly timeline: Timeline;
  readonly player: MeetingPlayer;
}

/** A file is loaded that long before its time, so that nothing waits for it. */
const BEFORE_MS = 15_000;
const AFTER_MS = 2000;

export function Stage({ app, timeline, player }: StageProps) {
  // As texts: what follows the position ten times per second is drawn anew only when something changes.
  const near = useComputed(() => {
    const at = player.position.value;
    return idsOf(timeline.tracks.filter(({ from, to }) => from - BEFORE_MS <= at && at < to + AFTER_MS));
  }).value.split(" ");
  const now = useComputed(() => {
    const at = Math.min(player.position.value, timeline.length - 1);
    return idsOf(timeline.tracks.filter((one) => isAt(one, at)));
  }).value.split(" ");
  const tiles = timeline.lanes.flatMap((lane) =>
    [true, false].map((isLarge) => ({
      lane,
      isLarge,
      tracks: lane.tracks.filter((one) => one.isLarge === isLarge && near.includes(one.id)),
    })),
  );
  const shown = tiles.filter(({ tracks }) => tracks.length > 0);
  const isAny = shown.some(({ tracks }) => tracks.some(({ id }) => now.includes(id)));
  const isLarge = shown.some((tile) => tile.isLarge && tile.tracks.some(({ id }) => now.includes(id)));
  return (
    <div class={`stage ${isLarge ? "with-screen" : ""}`}>
      {shown.map((tile) => (
        <Tile key={`${tile.lane.id} ${tile.isLarge}`} {...tile} app={app} now={now} player={player} />
      ))}
      {!isAny && <p class="stage-empty">No one is recorded at this moment.</p>}
    </div>
  );
}

const idsOf = (tracks: readonly Track[]): string => tracks.map(({ id }) => id).join(" ");

interface TileProps {
  readonly app: string;
  readonly lane: Lane;
  readonly isLarge: boolean;
  /** Those that are played now or soon. */
  readonly tracks: readonly Track[];
  readonly now: readonly string[];
  readonly player: MeetingPlayer;
}

function Tile({ app, lane, isLarge, tracks, now, player }: TileProps) {
  // After a jump to a person it is them, even if others speak as well.
  const isHeard =
    useComputed(() => {
      const asked = player.asked.value;
      return asked === undefined ? isSpeaking(lane, player.position.value) : asked === lane.id;
    }).value && !isLarge;
  const current = tracks.find(({ id }) => now.includes(id));
  const isBroken = current !== undefined && player.broken.value.has(current.id);
  return (
    <figure class={`tile ${isLarge ? "large" : ""} ${isHeard ? "speaking" : ""}`} hidden={current === undefined}>
      {tracks.map((track) => (
        <TrackMedia key={track.id} app={app} track={track} isShown={track === current && !isBroken} player={player} />
      ))}
      {current && !current.hasPicture && !isBroken && <Initial of={lane.name} />}
      {current && isBroken && (
        <div class="tile-text">
          <p>This file cannot be played.</p>
          <a href={recordingPage(app, current.id)}>Open the recording</a>
        </div>
      )}
      <figcaption>
        <span class="name" title={lane.name}>
          {lane.name}
        </span>
        {isLarge && <span>{current ? sourceOf(current.recording) : ""}</span>}
        {!isLarge && player.muted.value.has(lane.id) && <span>muted</span>}
      </figcaption>
    </figure>
  );
}

const Initial = ({ of: name }: { readonly of: string }) => (
  <div class="tile-text initial" aria-hidden="true">
    {[...name.trim()][0]?.toUpperCase() ?? "?"}
  </div>
);

interface TrackMediaProps extends Pick<TileProps, "app" | "player"> {
  readonly track: Track;
  readonly isShown: boolean;
}

function TrackMedia({ app, track, isShown, player }: TrackMediaProps) {
  const element = useRef<HTMLVideoElement & HTMLAudioElement>(null);
  const poster = useSignal(track.recording.hasThumbnail === true).value;
  useEffect(() => {
    const media = element.current;
    if (!media) return undefined;
    const detach = player.attach(track, media);
    return () => {
      detach();
      // Otherwise the browser goes on loading it.
      media.removeAttribute("src");
      media.load();
    };
  }, [track, player]);
  const path = `${recordingsPath(app)}/${segment(track.id)}`;
  const media = {
    ref: element,
    src: addressOf(`${path}/file?pieces=1`),
    preload: "auto" as const,
    hidden: !isShown,
    "aria-label": `${track.recording.participantUsername}, ${sourceOf(track.recording)}`,
    onError: () => player.fail(track.id),
  };
  if (!track.hasPicture) return <audio {...media} />;
  return <video playsInline {...media} {...(poster && { poster: addressOf(`${path}/thumbnail`) })} />;
}

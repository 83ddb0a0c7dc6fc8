/** One lane per person: when they were recorded, when they spoke, when they shared a screen. A click seeks. */
import type { TargetedEvent } from "preact";
import { useMemo } from "preact/hooks";
import { mayChange } from "../../api/session.ts";
import type { MeetingPlayer } from "../../playback/meeting-player.ts";
import { type Lane, PATH_UNITS, pathOf, speechFrom, type Timeline } from "../../playback/timeline.ts";
import { duration } from "../../text/format.ts";

interface LanesProps {
  readonly timeline: Timeline;
  readonly player: MeetingPlayer;
}

export const Lanes = ({ timeline, player }: LanesProps) => (
  <div class="lanes">
    <ul class="bare">
      {timeline.lanes.map((lane) => (
        <LaneRow key={lane.id} lane={lane} length={timeline.length} player={player} />
      ))}
    </ul>
    <p class="legend-line muted small">
      <span class="key key-recorded" /> recorded <span class="key key-spoken" /> spoke <span class="key key-screen" />{" "}
      shared a screen
    </p>
  </div>
);

interface LaneProps {
  readonly lane: Lane;
  readonly length: number;
  readonly player: MeetingPlayer;
}

function LaneRow({ lane, length, player }: LaneProps) {
  const { id, name, spoken } = lane;
  const isMuted = player.muted.value.has(id);
  const next = (): void => {
    // Behind the last time comes the first one.
    const to = speechFrom([lane], player.position.peek(), 1) ?? speechFrom([lane], -1, 1);
    if (to !== undefined) player.seek(to, id);
  };
  return (
    <li class="lane">
      <div class="lane-head">
        <span class="lane-who">
          <span class="name" title={name}>
            {name}
          </span>
          <span class="muted small lane-spoke">{spokeText(lane)}</span>
        </span>
        {spoken && spoken.length > 0 && (
          <button type="button" class="small" aria-label={`Next time ${name} speaks`} onClick={next}>
            Next
          </button>
        )}
        {mayChange.value && (
          <button
            type="button"
            class="small lane-mute"
            aria-pressed={isMuted}
            aria-label={`Mute ${name}`}
            onClick={() => player.setMuted(id, !isMuted)}
          >
            {isMuted ? "Muted" : "Mute"}
          </button>
        )}
      </div>
      <LaneTrack lane={lane} length={length} player={player} />
    </li>
  );
}

const spokeText = ({ spoken, spokenMs }: Lane): string => {
  if (!spoken) return "not measured";
  return spokenMs === 0 ? "did not speak" : `spoke ${duration(Math.max(1, spokenMs / 1000))}`;
};

/** The slider above does the same by keyboard, and for screen readers. */
function LaneTrack({ lane, length, player }: LaneProps) {
  const paths = useMemo(() => {
    const of = (isLarge: boolean): string =>
      pathOf(
        lane.tracks.filter((one) => one.isLarge === isLarge).map(({ from, to }) => [from, to] as const),
        length,
      );
    return { recorded: of(false), screen: of(true), spoken: pathOf(lane.spoken ?? [], length) };
  }, [lane, length]);
  const seek = (event: TargetedEvent<HTMLDivElement, PointerEvent>): void => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    player.seek(((event.clientX - left) / Math.max(1, width)) * length);
  };
  return (
    <div
      class="lane-track"
      aria-hidden="true"
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        seek(event);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) seek(event);
      }}
    >
      {(["recorded", "spoken", "screen"] as const).map((what) => (
        <svg
          key={what}
          class={`lane-${what}`}
          viewBox={`0 0 ${PATH_UNITS} 1`}
          preserveAspectRatio="none"
          aria-hidden="true"
        >
          <path d={paths[what]} />
        </svg>
      ))}
      <Cursor length={length} player={player} />
    </div>
  );
}

const Cursor = ({ length, player }: Omit<LaneProps, "lane">) => (
  <span class="lane-cursor" style={{ left: `${(player.position.value / Math.max(1, length)) * 100}%` }} />
);

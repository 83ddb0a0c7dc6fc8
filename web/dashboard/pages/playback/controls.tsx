/** Play, pause, seek, speed, and jumps between those who speak. */
import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { mayChange } from "../../api/session.ts";
import { type MeetingPlayer, RATES } from "../../playback/meeting-player.ts";
import { speechFrom, type Timeline, ticksOf } from "../../playback/timeline.ts";
import { duration, position } from "../../text/format.ts";

interface ControlsProps {
  readonly timeline: Timeline;
  readonly player: MeetingPlayer;
}

const STEP_MS = 5000;
const LONG_STEP_MS = 30_000;
/** What the arrow keys and the space bar belong to while it has the focus. */
const KEEPS_KEYS = "button, a[href], select, textarea, summary, input:not([type=range])";

export function Controls({ timeline, player }: ControlsProps) {
  useKeys(player);
  const { length, lanes } = timeline;
  const isPlaying = player.isPlaying.value;
  const hasSpeech = lanes.some(({ spoken }) => spoken && spoken.length > 0);
  const jump = (direction: 1 | -1) => (): void => {
    const to = speechFrom(lanes, player.position.peek(), direction);
    if (to !== undefined) player.seek(to);
  };
  return (
    <div class="playback-controls">
      <div class="row">
        {mayChange.value && (
          <button type="button" class="primary play" onClick={() => player.toggle()}>
            {isPlaying ? "Pause" : "Play"}
          </button>
        )}
        <Clock length={length} player={player} />
        {hasSpeech && (
          <span class="row tight">
            <button type="button" onClick={jump(-1)}>
              Previous speaker
            </button>
            <button type="button" onClick={jump(1)}>
              Next speaker
            </button>
          </span>
        )}
        {mayChange.value && (
          <label class="row tight push">
            Speed{" "}
            <select
              value={String(player.rate.value)}
              onChange={(event) => player.setRate(Number(event.currentTarget.value))}
            >
              {RATES.map((rate) => (
                <option key={rate} value={String(rate)}>
                  {rate} ×
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      <Seek length={length} player={player} />
      <div class="seek-axis muted small" aria-hidden="true">
        {ticksOf(length).map((at) => (
          <span key={at} style={{ left: `${(at / Math.max(1, length)) * 100}%` }}>
            {position(at / 1000)}
          </span>
        ))}
      </div>
    </div>
  );
}

const Clock = ({ length, player }: { readonly length: number; readonly player: MeetingPlayer }) => (
  <span class="playback-clock">
    <span>
      {position(Math.floor(player.position.value / 1000))}
      <span class="muted"> / {position(length / 1000)}</span>
    </span>
    <span role="status" class="muted small">
      {player.isWaiting.value && "Loading …"}
    </span>
  </span>
);

function Seek({ length, player }: { readonly length: number; readonly player: MeetingPlayer }) {
  const at = player.position.value;
  return (
    <input
      type="range"
      class="seek"
      aria-label="Position in the meeting"
      aria-valuetext={`${duration(at / 1000)} of ${duration(length / 1000)}`}
      min={0}
      max={length}
      step={100}
      value={at}
      onInput={(event) => player.seek(Number(event.currentTarget.value))}
    />
  );
}

/** On the whole page: the space bar plays and pauses, the arrow keys go on and back. */
function useKeys(player: MeetingPlayer): void {
  const mayPlay = useSignal(mayChange.value);
  useEffect(() => {
    const steps: Readonly<Record<string, number>> = {
      ArrowLeft: -STEP_MS,
      ArrowRight: STEP_MS,
      PageDown: -LONG_STEP_MS,
      PageUp: LONG_STEP_MS,
    };
    const pressed = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (document.querySelector("dialog[open]")) return;
      const focused = event.target instanceof Element ? event.target : document.body;
      if (focused.closest(KEEPS_KEYS)) return;
      const isSlider = focused.matches("input[type=range]");
      const step = steps[event.key];
      if (event.key === " " && mayPlay.peek()) player.toggle();
      // Pages are scrolled with these keys, unless the slider has the focus.
      else if (step !== undefined && (isSlider || !event.key.startsWith("Page")))
        player.seek(player.position.peek() + step);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  }, [player]);
}

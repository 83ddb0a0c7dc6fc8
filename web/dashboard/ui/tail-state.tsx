/** Whether events come, and the buttons that every view of the tail has. */
import type { Tail, TailState } from "../tail/tail.ts";
import { whole } from "../text/format.ts";

const TEXTS: Readonly<Record<TailState, string>> = {
  connecting: "Connecting …",
  live: "Live",
  reconnecting: "Reconnecting …",
  refused: "Not connected",
  ended: "Session ended",
};

export function TailStatus({ tail }: { readonly tail: Tail }) {
  const isPaused = tail.isPaused.value && tail.state.value === "live";
  return (
    <span class={`tail-state ${isPaused ? "paused" : tail.state.value}`}>
      <span role="status">{isPaused ? "Paused" : TEXTS[tail.state.value]}</span>
      {tail.isPaused.value && <span class="muted"> · {whole(tail.waiting.value)} since</span>}
    </span>
  );
}

export const TailButtons = ({ tail }: { readonly tail: Tail }) => (
  <>
    <button type="button" onClick={() => (tail.isPaused.value ? tail.resume() : tail.pause())}>
      {tail.isPaused.value ? "Resume" : "Pause"}
    </button>
    <button type="button" onClick={() => tail.clear()}>
      Clear
    </button>
  </>
);

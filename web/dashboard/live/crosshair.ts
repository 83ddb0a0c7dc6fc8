/** One moment for all charts of a page: pointing at it in one of them shows the values of that time in all. */
import { signal } from "@preact/signals";

interface Crosshair {
  /** Unix seconds: the beginning of a step. */
  readonly at: number;
  /** The id of the chart that is pointed at. */
  readonly chart: string;
}

/** undefined: no chart is pointed at. */
export const crosshair = signal<Crosshair | undefined>(undefined);

export function pointAt(chart: string, at: number | undefined): void {
  const now = crosshair.peek();
  if (at === undefined) {
    if (now?.chart === chart) crosshair.value = undefined;
  } else if (now?.at !== at || now.chart !== chart) crosshair.value = { at, chart };
}

/** The index of the step that begins then; undefined: it is not in this chart. Series of one range may end a step apart. */
export function stepAt(times: readonly number[], at: number): number | undefined {
  const [first = 0, second = first + 1] = times;
  const index = Math.round((at - first) / (second - first));
  return index >= 0 && index < times.length ? index : undefined;
}

const JUMP_STEPS = 10;

/** Where a key moves the crosshair from one step to; undefined: it moves nothing. */
export function movedBy(key: string, from: number, count: number): number | undefined {
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: from - 1,
    ArrowDown: from - 1,
    ArrowRight: from + 1,
    ArrowUp: from + 1,
    PageDown: from - JUMP_STEPS,
    PageUp: from + JUMP_STEPS,
    Home: 0,
    End: count - 1,
  };
  const to = moves[key];
  return to === undefined ? undefined : Math.max(0, Math.min(count - 1, to));
}

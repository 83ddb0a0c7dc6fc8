/** The recordings of a meeting on one clock: who was recorded when, and who spoke when. All times are ms from the start of the first recording. */
import type { Recording } from "../api/room-types.ts";

/** From and to. */
export type Interval = readonly [from: number, to: number];

/** What the service says of one recording: ms from its start; null: not measured. */
export interface Speech {
  readonly _id: string;
  readonly intervals: readonly Interval[] | null;
}

export interface Track {
  readonly id: string;
  readonly lane: string;
  /** A shared screen, or a picture that a backend has put together, is shown large. */
  readonly isLarge: boolean;
  readonly hasPicture: boolean;
  readonly from: number;
  readonly to: number;
  readonly recording: Recording;
}

/** All recordings of one person's stay. */
export interface Lane {
  readonly id: string;
  readonly name: string;
  readonly tracks: readonly Track[];
  /** In order, without overlaps; undefined: not measured. */
  readonly spoken: readonly Interval[] | undefined;
  readonly spokenMs: number;
}

export interface Timeline {
  /** Unix ms. */
  readonly startMs: number;
  readonly length: number;
  readonly lanes: readonly Lane[];
  readonly tracks: readonly Track[];
}

/** So that one of unknown length can be seen and played. */
const TRACK_MIN_MS = 1000;
/** The service has the length of a file in whole seconds: none is cut. */
const ROUNDED_MS = 500;

export function timelineOf(recordings: readonly Recording[], speech: readonly Speech[]): Timeline {
  const sorted = [...recordings].sort((one, other) => startOf(one) - startOf(other));
  const startMs = sorted[0] ? startOf(sorted[0]) : 0;
  const tracks = sorted.map((one): Track => trackOf(one, startOf(one) - startMs));
  const spoken = new Map(speech.map(({ _id, intervals }) => [_id, intervals]));
  const ids = [...new Set(tracks.map(({ lane }) => lane))];
  const lanes = ids.map((id) => laneOf(id, tracks, spoken));
  return { startMs, length: Math.max(0, ...tracks.map(({ to }) => to)), lanes, tracks };
}

/** The service knows the ms of what pages have recorded. */
const startOf = ({ startTimeMs, startTime }: Recording): number => startTimeMs ?? startTime * 1000;

function trackOf(recording: Recording, from: number): Track {
  const { _id, participantSession, type, startTime, endTime } = recording;
  const length = Math.max(TRACK_MIN_MS, (endTime - startTime) * 1000 + (recording.mended ? ROUNDED_MS : 0));
  const isLarge = type === "screen" || type === "composition";
  return {
    id: _id,
    lane: participantSession,
    isLarge,
    hasPicture: type !== "audio",
    from,
    to: from + length,
    recording,
  };
}

function laneOf(id: string, all: readonly Track[], speech: ReadonlyMap<string, readonly Interval[] | null>): Lane {
  const tracks = all.filter(({ lane }) => lane === id);
  const measured = tracks.flatMap((track) => {
    const intervals = speech.get(track.id);
    return intervals ? [intervals.flatMap(([from, to]) => within(track, [track.from + from, track.from + to]))] : [];
  });
  const spoken = measured.length > 0 ? joined(measured.flat()) : undefined;
  return {
    id,
    name: tracks[0]?.recording.participantUsername ?? "",
    tracks,
    spoken,
    spokenMs: (spoken ?? []).reduce((sum, [from, to]) => sum + to - from, 0),
  };
}

/** What was heard while nothing of it arrived in the file cannot be played. The length of a file that was not mended is not known that well. */
function within({ to: end, recording }: Track, [from, to]: Interval): Interval[] {
  if (recording.mended !== true) return [[from, to]];
  return from < end ? [[from, Math.min(to, end)]] : [];
}

/** In order; those that touch or overlap are one. */
function joined(intervals: readonly Interval[]): Interval[] {
  const found: [number, number][] = [];
  for (const [from, to] of [...intervals].sort(([one], [other]) => one - other)) {
    const last = found.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else found.push([from, to]);
  }
  return found;
}

export const isAt = ({ from, to }: Pick<Track, "from" | "to">, at: number): boolean => from <= at && at < to;

export const isSpeaking = ({ spoken = [] }: Pick<Lane, "spoken">, at: number): boolean =>
  spoken.some(([from, to]) => from <= at && at < to);

/** A jump goes to a moment before the first word. */
const BEFORE_MS = 500;
/** What begins within this time of the present place is the present one. */
const HERE_MS = 1500;

/** Where speech begins next, or began last; undefined: nowhere. */
export function speechFrom(lanes: readonly Lane[], at: number, direction: 1 | -1): number | undefined {
  const begins = lanes.flatMap(({ spoken = [] }) => spoken.map(([from]) => from));
  const isThere = (one: number): boolean =>
    direction === 1 ? one - BEFORE_MS > at + 1 : one < at - HERE_MS + BEFORE_MS;
  const isNearer = (one: number, other: number): boolean => (direction === 1 ? one < other : one > other);
  let found: number | undefined;
  for (const one of begins) if (isThere(one) && (found === undefined || isNearer(one, found))) found = one;
  return found === undefined ? undefined : Math.max(0, found - BEFORE_MS);
}

/** A time at which one person speaks, with short pauses. */
export interface Turn {
  readonly lane: Lane;
  readonly from: number;
  readonly to: number;
}

/** A shorter pause is one of a person who goes on to speak. */
const PAUSE_MS = 3000;

/** In order. */
export const turnsOf = (lanes: readonly Lane[]): readonly Turn[] =>
  lanes
    .flatMap((lane) =>
      joined((lane.spoken ?? []).map(([from, to]) => [from, to + PAUSE_MS])).map(([from, to]) => ({
        lane,
        from,
        to: to - PAUSE_MS,
      })),
    )
    .sort((one, other) => one.from - other.from);

/** A jump to a turn goes there, as speechFrom does. */
export const startOfTurn = ({ from }: Turn): number => Math.max(0, from - BEFORE_MS);

const TICKS_MAX = 6;
const TICK_STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];

/** Round times for an axis of this length, in ms. */
export function ticksOf(length: number): readonly number[] {
  const seconds = length / 1000;
  const least = TICK_STEPS_S.find((step) => seconds / step <= TICKS_MAX);
  const step = least ?? Math.ceil(seconds / TICKS_MAX / 3600) * 3600;
  return Array.from({ length: Math.floor(seconds / step) + 1 }, (_, at) => at * step * 1000);
}

/** How wide the picture of a lane is; what is closer than one unit is drawn as one. */
export const PATH_UNITS = 2000;

/** Rectangles of an SVG path, PATH_UNITS wide and one high. */
export function pathOf(intervals: readonly Interval[], length: number): string {
  const unit = Math.max(1, length) / PATH_UNITS;
  const drawn: [number, number][] = [];
  for (const [from, to] of intervals) {
    const [x, end] = [Math.floor(from / unit), Math.max(Math.floor(from / unit) + 1, Math.ceil(to / unit))];
    const last = drawn.at(-1);
    if (last && x <= last[1]) last[1] = Math.max(last[1], end);
    else drawn.push([x, end]);
  }
  return drawn.map(([x, end]) => `M${x} 0H${end}V1H${x}Z`).join("");
}

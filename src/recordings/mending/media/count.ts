/**
 * What is in a file, counted without the library that mends: frames and their bytes, by track. It is counted before mending, so that a file which claims
 * more than its bytes can hold costs nothing else, and after it, so that no media is lost unnoticed.
 */
import { DURATION_MAX_SECONDS } from "../limits.ts";

export interface CountedTrack {
  readonly frames: number;
  readonly bytes: number;
}

/** By the number that a track has in its file. Only tracks of pictures and sound that have a frame. */
export type CountedMedia = ReadonlyMap<number, CountedTrack>;

/** One track from its input to the output. */
export interface WrittenTrack {
  readonly input: number;
  readonly output: number;
  /** Frames in front of the first one that is shown, which a player never shows: they were left out. */
  readonly leftOut: CountedTrack;
}

/** What a file claims cannot be. */
export class FalseClaim extends Error {}

/** A recorder writes at most two; a file that claims more was not written by one. */
const TRACKS_MAX = 8;
/** Frames that depend on others may be shown in another order, but not by more than this many. */
const LEFT_OUT_MAX_FRAMES = 16;
/** Where a file is damaged, two readers may find a different number of frames. */
const LOST_SHARE_MAX = 0.01;

/** Throws if the output does not have what the input has. */
export function requireAllOf(input: CountedMedia, output: CountedMedia, tracks: readonly WrittenTrack[]): void {
  for (const [number, seen] of input) {
    const track = tracks.find((one) => one.input === number);
    if (!track) throw new Error(`track ${number} of it cannot be read, and has ${seen.frames} frames`);
    const written = output.get(track.output) ?? { frames: 0, bytes: 0 };
    const { frames, bytes } = track.leftOut.frames > LEFT_OUT_MAX_FRAMES ? { frames: 0, bytes: 0 } : track.leftOut;
    const isLess = (has: number, wanted: number): boolean => has < wanted * (1 - LOST_SHARE_MAX);
    if (isLess(written.frames + frames, seen.frames) || isLess(written.bytes + bytes, seen.bytes))
      throw new Error(
        `only ${written.frames} of the ${seen.frames} frames of its track ${number} would be left (${written.bytes} of ${seen.bytes} bytes)`,
      );
  }
}

export function checkTracks(count: number): void {
  if (count > TRACKS_MAX) throw new FalseClaim(`it has ${count} tracks`);
}

export function checkDuration(seconds: number): void {
  if (seconds > DURATION_MAX_SECONDS) throw new FalseClaim("it claims to last longer than a recording can");
}

/** Counts frames while a file is read. */
export class Tally {
  /** Bound: TRACKS_MAX, then the file is listed as it came. */
  private readonly tracks = new Map<number, { frames: number; bytes: number }>();

  add(track: number, frames: number, bytes: number): void {
    const one = this.tracks.get(track);
    if (one) {
      one.frames += frames;
      one.bytes += bytes;
    } else {
      this.tracks.set(track, { frames, bytes });
      checkTracks(this.tracks.size);
    }
  }

  has(track: number): boolean {
    return this.tracks.has(track);
  }

  /** Without tracks of another kind, such as subtitles. */
  without(others: ReadonlySet<number>): CountedMedia {
    return new Map([...this.tracks].filter(([number, { frames }]) => frames > 0 && !others.has(number)));
  }
}

/** Which recorders should run, by what the page sends. */
import type { OwnTracks } from "../session/own-media.ts";
import type { Source } from "./contract.ts";

export interface PlannedRun {
  readonly source: Source;
  /** The page's own; a recorder has copies. */
  readonly tracks: readonly MediaStreamTrack[];
  /** There is nothing but a muted microphone: not worth a recording that begins now. */
  readonly isSilent: boolean;
}

/** Camera and microphone together, the microphone alone where there is no camera, the screen apart. */
export function plannedRuns({ audio, video, screen }: OwnTracks, isMuted: boolean): readonly PlannedRun[] {
  const sound = audio ? [audio] : [];
  return [
    ...(video ? [{ source: "camera" as const, tracks: [video, ...sound], isSilent: false }] : []),
    ...(!video && audio ? [{ source: "microphone" as const, tracks: sound, isSilent: isMuted }] : []),
    ...(screen ? [{ source: "screen" as const, tracks: [screen], isSilent: false }] : []),
  ];
}

/** A recorder cannot take another track: then it ends, and another begins. Muting changes no track. */
export const isSameRun = (a: PlannedRun, b: PlannedRun): boolean =>
  a.source === b.source && a.tracks.length === b.tracks.length && a.tracks.every((track, at) => track === b.tracks[at]);

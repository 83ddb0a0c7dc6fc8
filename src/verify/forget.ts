/**
 * Judges what has ended for good and drops it, so that a long run needs memory for what is open and not for all that has been.
 * Nothing is dropped without its verdict.
 */
import type { Findings } from "./findings.ts";
import { judgeLeaves, judgeTrack, trackExpected } from "./judge.ts";
import type { Connection, Place, Stay } from "./places.ts";
import type { Stream, Track } from "./stream.ts";

export function forgetEnded(place: Place, findings: Findings, all: readonly Connection[], beforeMs: number): void {
  const hasEnded = (stream: Stream): boolean => endedBefore(all[stream.connection - 1], beforeMs);
  const gone = place.streams.filter(hasEnded);
  if (gone.length > 0) {
    for (const stay of place.stays) if (stay.isOpen) judgeSenders(stay, gone, findings, all);
    for (const stream of gone) all[stream.connection - 1]?.streams.delete(place);
    place.streams = place.streams.filter((stream) => !hasEnded(stream));
  }
  const over = place.stays.filter((stay) => endedBefore(stay, beforeMs) && isDecided(stay, all));
  if (over.length === 0) return;
  for (const stay of over) judgeStay(stay, findings, all);
  const dropped = new Set(over);
  place.stays = place.stays.filter((stay) => !dropped.has(stay));
}

const endedBefore = (one: { readonly endedMs: number | undefined } | undefined, beforeMs: number): boolean =>
  one?.endedMs !== undefined && one.endedMs < beforeMs;

/** What an open listener has, or should have, of senders who are gone. */
function judgeSenders(stay: Stay, gone: readonly Stream[], findings: Findings, all: readonly Connection[]): void {
  for (const stream of gone) {
    trackExpected(stay, stream);
    const track = stay.tracks.get(stream);
    if (!track) continue;
    judgeTrack(stay, stream, track, findings, all);
    stay.tracks.delete(stream);
  }
}

/** An answer that is still to come could make a message lost, or undone. None comes to a connection that has ended. */
function isDecided({ tracks }: Stay, all: readonly Connection[]): boolean {
  const isFinal = (stream: Stream, track: Track): boolean =>
    !all[stream.connection - 1]?.isOpen || stream.unanswered.within(1, track.newest).isEmpty;
  for (const [stream, track] of tracks) if (!isFinal(stream, track)) return false;
  return true;
}

function judgeStay(stay: Stay, findings: Findings, all: readonly Connection[]): void {
  const { connection, place, tracks } = stay;
  for (const [stream, track] of tracks) judgeTrack(stay, stream, track, findings, all);
  judgeLeaves(stay, findings);
  tracks.clear();
  // An open connection may still get what was on the way when it unsubscribed: it is known by its stay.
  if (!connection.isOpen) connection.stays.delete(place);
}

/** The rules, applied to what a run left behind. */
import type { Findings } from "./findings.ts";
import { type Connection, type Place, type Stay, trackOf } from "./places.ts";
import type { Stream, Track } from "./stream.ts";

export function judgeDeliveries({ streams, stays }: Place, findings: Findings, all: readonly Connection[]): void {
  for (const stay of stays) {
    for (const stream of streams) trackExpected(stay, stream);
    for (const [stream, track] of stay.tracks) judgeTrack(stay, stream, track, findings, all);
  }
}

/** An open listener is owed all of a sender who began after its ack, also where it has heard nothing of it. */
export function trackExpected(stay: Stay, stream: Stream): void {
  const { connection, isOpen, streamsAtAck } = stay;
  if (!isOpen || streamsAtAck === undefined || stream.index < streamsAtAck) return;
  if (stream.connection !== connection.id && stream.sent > 0) trackOf(stay, stream);
}

export function judgeTrack(
  { connection, isOpen, place }: Stay,
  stream: Stream,
  track: Track,
  findings: Findings,
  all: readonly Connection[],
): void {
  const of = (): string => `of ${all[stream.connection - 1]?.peer} ${place.where}`;
  const lost = track.lost(isOpen);
  if (!lost.isEmpty) findings.add("lost", `${connection.peer} never got number ${lost} ${of()}`, lost.count);
  const seen = track.refusedButSeen;
  if (!seen.isEmpty)
    findings.add(
      "undone",
      `${connection.peer} got number ${seen} ${of()}, which the sender was told had failed`,
      seen.count,
    );
}

export function judgeLeaves({ connection, view, place }: Stay, findings: Findings): void {
  for (const peer of view.falselyLeft)
    findings.add("flapped", `${connection.peer} was told that ${peer} left, who did not, ${place.where}`);
}

export function judgePresence({ stays, where }: Place, findings: Findings): void {
  for (const stay of stays) {
    judgeLeaves(stay, findings);
    const { connection, view, isOpen, streamsAtAck } = stay;
    if (!isOpen || streamsAtAck === undefined) continue;
    const { missing, extra } = view.difference();
    if (missing.length + extra.length === 0 && view.hasRoster) continue;
    const faults = [
      ...(view.hasRoster ? [] : ["got no roster"]),
      ...(missing.length > 0 ? [`misses ${some(missing)}`] : []),
      ...(extra.length > 0 ? [`still has ${some(extra)}`] : []),
    ];
    findings.add("roster", `${connection.peer} ${faults.join(" and ")} ${where}`);
  }
}

export function judgeAnswers({ peer, streams }: Connection, findings: Findings): void {
  for (const [{ where }, { unanswered }] of streams)
    if (!unanswered.isEmpty)
      findings.add("unanswered", `${peer} got no answer to its number ${unanswered} ${where}`, unanswered.count);
}

const NAMES_SHOWN = 3;
const some = (peers: readonly string[]): string =>
  peers.slice(0, NAMES_SHOWN).join(", ") +
  (peers.length > NAMES_SHOWN ? ` and ${peers.length - NAMES_SHOWN} more` : "");

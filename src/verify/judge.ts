/** The rules, applied to what a run left behind. */
import type { Findings } from "./findings.ts";
import { type Connection, type Place, trackOf } from "./places.ts";

export function judgeDeliveries(
  { streams, stays, where }: Place,
  findings: Findings,
  all: readonly Connection[],
): void {
  for (const stay of stays) {
    const { connection, tracks, isOpen, streamsAtAck } = stay;
    // Senders of whom it has heard nothing at all since they began.
    if (isOpen && streamsAtAck !== undefined)
      for (const stream of streams.slice(streamsAtAck))
        if (stream.connection !== connection.id && stream.sent > 0) trackOf(stay, stream);
    for (const [stream, track] of tracks) {
      const of = `of ${all[stream.connection - 1]?.peer} ${where}`;
      const lost = track.lost(isOpen);
      if (!lost.isEmpty) findings.add("lost", `${connection.peer} never got number ${lost} ${of}`, lost.count);
      const seen = track.refusedButSeen;
      if (!seen.isEmpty)
        findings.add(
          "undone",
          `${connection.peer} got number ${seen} ${of}, which the sender was told had failed`,
          seen.count,
        );
    }
  }
}

export function judgePresence({ stays, where }: Place, findings: Findings): void {
  for (const { connection, view, isOpen, streamsAtAck } of stays) {
    for (const peer of view.falselyLeft)
      findings.add("flapped", `${connection.peer} was told that ${peer} left, who did not, ${where}`);
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

/** The rules, applied to the recorded events of a run. */
import { type Connection, type Destination, type Subscription, trackOf } from "./destinations.ts";
import type { Findings } from "./findings.ts";
import { judgeCursor } from "./history.ts";
import type { MessageSequence, Track } from "./sequence.ts";

export function judgeDeliveries(
  { sequences, subscriptions, order }: Destination,
  findings: Findings,
  all: readonly Connection[],
): void {
  for (const subscription of subscriptions) {
    // The positions say more than the numbers of each sender.
    if (order) {
      judgeCursor(subscription, findings, all);
      continue;
    }
    for (const sequence of sequences) trackExpected(subscription, sequence);
    for (const [sequence, track] of subscription.tracks) judgeTrack(subscription, sequence, track, findings, all);
  }
}

/** A sender that started after the ack of an open subscription owes it all messages, even if none has arrived so far. */
export function trackExpected(subscription: Subscription, sequence: MessageSequence): void {
  const { connection, isOpen, sequencesAtAck, destination } = subscription;
  if (!isOpen || destination.order || sequencesAtAck === undefined || sequence.index < sequencesAtAck) return;
  if (sequence.connection !== connection.id && sequence.sent > 0) trackOf(subscription, sequence);
}

export function judgeTrack(
  { connection, isOpen, destination }: Subscription,
  sequence: MessageSequence,
  track: Track,
  findings: Findings,
  all: readonly Connection[],
): void {
  const source = (): string => `of ${all[sequence.connection - 1]?.peer} ${destination.where}`;
  const lost = track.lost(isOpen);
  if (!lost.isEmpty) findings.add("lost", `${connection.peer} never got number ${lost} ${source()}`, lost.count);
  const seen = track.refusedButSeen;
  if (!seen.isEmpty)
    findings.add(
      "undone",
      `${connection.peer} got number ${seen} ${source()}, which was refused to its sender`,
      seen.count,
    );
}

export function judgeLeaves({ connection, view, destination }: Subscription, findings: Findings): void {
  for (const peer of view.falselyLeft)
    findings.add("flapped", `${connection.peer} was shown that ${peer} left, which it did not, ${destination.where}`);
}

export function judgePresence({ subscriptions, where }: Destination, findings: Findings): void {
  for (const subscription of subscriptions) {
    judgeLeaves(subscription, findings);
    const { connection, view, isOpen, sequencesAtAck } = subscription;
    if (!isOpen || sequencesAtAck === undefined) continue;
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

export function judgeAnswers({ peer, sequences }: Connection, findings: Findings): void {
  for (const [{ where }, { unanswered }] of sequences)
    if (!unanswered.isEmpty)
      findings.add("unanswered", `${peer} got no answer to its number ${unanswered} ${where}`, unanswered.count);
}

const NAMES_SHOWN = 3;
const some = (peers: readonly string[]): string =>
  peers.slice(0, NAMES_SHOWN).join(", ") +
  (peers.length > NAMES_SHOWN ? ` and ${peers.length - NAMES_SHOWN} more` : "");

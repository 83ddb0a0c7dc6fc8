/** Problems, counted by kind, with a few examples of each: a broken service must not fill the memory. */
/** The kinds of problems, in the order of the report. */
export const KINDS = {
  lost: "acked, but not received by an open connection",
  doubled: "received twice",
  disordered: "received after a later message of the same sender",
  undone: "refused, but received all the same",
  strange: "received by a connection to which it was not addressed, or never sent",
  hole: "missing in a channel with history, between messages that were received, or after a recovery",
  stale: "received from before the position of a subscription, or before its ack",
  split: "a position that means two messages, or a message with two positions",
  ahead: "acks of publishes whose position is not in line with the messages before and behind them",
  echoed: "own messages that a recovery replayed",
  miscounted: "replayed messages that were not announced, or announced and not replayed",
  backwards: "times that decrease within a channel, or differ for one message",
  unplaced: "acks and messages of a channel with history without a position",
  unanswered: "requests of an open connection without exactly one answer",
  roster: "rosters that differ from the actual members",
  flapped: "shown as joined or left although no connection started or ended",
  absent: "not connected at the end",
  idle: "nothing was delivered, so nothing was checked",
} as const;

export type Kind = keyof typeof KINDS;

export interface Problem {
  readonly kind: Kind;
  readonly count: number;
  readonly examples: readonly string[];
}

const EXAMPLES_MAX = 3;

export class Findings {
  private readonly found = new Map<Kind, { count: number; examples: string[] }>();

  /** `count`: the number of messages or members that the sentence is about. */
  add(kind: Kind, sentence: string, count = 1): void {
    const entry = this.found.get(kind) ?? { count: 0, examples: [] };
    entry.count += count;
    if (entry.examples.length < EXAMPLES_MAX) entry.examples.push(sentence);
    this.found.set(kind, entry);
  }

  copy(): Findings {
    const copy = new Findings();
    for (const [kind, { count, examples }] of this.found) copy.found.set(kind, { count, examples: [...examples] });
    return copy;
  }

  get problems(): readonly Problem[] {
    return (Object.keys(KINDS) as Kind[]).flatMap((kind) => {
      const entry = this.found.get(kind);
      return entry ? [{ kind, ...entry }] : [];
    });
  }
}

/** What was found wrong, counted by kind, the first few of each in words: a broken service must not fill the memory. */

/** In the order in which they are reported. */
export const KINDS = {
  lost: "acked, and not received in an open connection",
  doubled: "received twice",
  disordered: "received after a later one of the same sender",
  undone: "refused, and received all the same",
  strange: "received by somebody to whom it was not addressed, or never sent",
  unanswered: "without exactly one answer in an open connection",
  roster: "rosters that differ from the truth",
  flapped: "told as joined or left, without a connection that began or ended",
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

  /** `count`: how many messages or people one sentence is about. */
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

/** Whether the person at this page has agreed to be recorded. Each recording is asked about; one that the person has started is agreed to. */

/** What the service says about a recording that goes on. */
export interface RecordingFact {
  /** Who has started it; empty: the room itself. */
  readonly by: string;
  /** When, in Unix seconds; it tells one recording from the next. */
  readonly since: number;
}

export interface RecordingNow extends RecordingFact {
  readonly hasAgreed: boolean;
}

/** A meeting that begins with a person is recorded by its room from then on, which is a little later than its join. */
const SAME_WITHIN_SEC = 30;

/**
 * Whether the recording that has begun at `since` is this one. There may be no notice between two of them: the connection was lost, or the second
 * one began at once.
 */
export const isSameRecording = (since: number | undefined, fact: RecordingFact): boolean =>
  since !== undefined && Math.abs(since - fact.since) <= (fact.by === "" ? SAME_WITHIN_SEC : 0);

export class Consent {
  /** `next`: to the one that comes, or that the door has named. */
  #agreedTo: number | "next" | undefined;

  /** Kept for a reload; undefined: to none. */
  get agreedTo(): number | undefined {
    return this.#agreedTo === "next" ? undefined : this.#agreedTo;
  }

  /** After a reload of the page. */
  restore(agreedTo: number | undefined): void {
    this.#agreedTo = agreedTo;
  }

  agreeToNext(): void {
    this.#agreedTo = "next";
  }

  forget(): void {
    this.#agreedTo = undefined;
  }

  /** As the page shows it. */
  about(fact: RecordingFact): RecordingNow {
    if (this.#agreedTo === "next") this.#agreedTo = fact.since;
    return { ...fact, hasAgreed: isSameRecording(this.#agreedTo, fact) };
  }

  agreeTo(now: RecordingNow): RecordingNow {
    this.#agreedTo = now.since;
    return { ...now, hasAgreed: true };
  }
}

/** As it comes over the wire: a fact, or nothing. Older services say nothing about it. */
export function factOf(value: unknown): RecordingFact | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { by, since } = value as { readonly by?: unknown; readonly since?: unknown };
  return { by: typeof by === "string" ? by : "", since: typeof since === "number" ? since : 0 };
}

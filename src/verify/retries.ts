/** Publishes whose outcome is unknown, to be repeated with the same id: the service stores each once. */
import type { Mark } from "./mark.ts";

export interface Retry {
  readonly channel: string;
  readonly mark: Mark;
  /** When it was published first. */
  readonly sinceMs: number;
}

/** The service remembers ids for two minutes: a later repetition could be stored twice. */
const GIVEN_UP_AFTER_MS = 90_000;
const WAITING_MAX = 500;
/** A burst would exceed the frame rate of the connection. */
const AT_ONCE_MAX = 20;

export class Retries {
  private waiting: Retry[] = [];

  get isEmpty(): boolean {
    return this.waiting.length === 0;
  }

  add(retry: Retry): void {
    if (this.waiting.length < WAITING_MAX) this.waiting.push(retry);
  }

  /** Those to be repeated now, the oldest first. */
  take(nowMs: number): readonly Retry[] {
    this.waiting = this.waiting.filter(({ sinceMs }) => nowMs - sinceMs < GIVEN_UP_AFTER_MS);
    return this.waiting.splice(0, AT_ONCE_MAX);
  }
}

/** The id of a message: a peer never uses it for two messages of one channel. */
export const idOf = ({ connection, number }: Mark): string => `${connection}.${number}`;

/** How long a client waits before it connects again: the rules of docs/presence-and-reconnect.md, "for authors of clients", 5 and 6. */
export const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
const TOKEN_ENDED_CODE = 4002;

export class Pauses {
  private failures = 0;
  private advisedMs: number | undefined;

  welcomed(): void {
    this.failures = 0;
  }

  /** A connection ended before its welcome. */
  failed(): void {
    this.failures++;
  }

  /** The service is going away, and says when to return. */
  advise(afterMs: number): void {
    this.advisedMs = afterMs;
  }

  /** `code`: what the connection was closed with. */
  beforeNext(code: number): number {
    if (code === TOKEN_ENDED_CODE) return 0;
    const growing = Math.min(FIRST_PAUSE_MS * 2 ** this.failures, LONGEST_PAUSE_MS);
    return (this.advisedMs ?? growing) * (0.5 + Math.random() / 2);
  }

  /** What the service has advised counts for one connection. */
  ended(): void {
    this.advisedMs = undefined;
  }
}

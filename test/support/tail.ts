/** A reader of the live tail: everything that came, and waiting for what is to come. */
import { within } from "./wait.ts";

export interface TailEvent {
  readonly at: number;
  readonly kind: string;
  readonly app?: string;
  readonly channel?: string;
  readonly peerId?: string;
  readonly to?: string;
  readonly change?: string;
  readonly keyId?: string;
  readonly connectionId?: string;
  readonly address?: string;
  readonly nodeId?: string;
  readonly code?: string | number;
  readonly bytes?: number;
  readonly data?: unknown;
  readonly truncated?: boolean;
  readonly count?: number;
}

export class TailReader implements AsyncDisposable {
  /** The stream as it came. */
  text = "";
  isEnded = false;
  readonly ended: Promise<void>;
  private readonly wakers = new Set<() => void>();

  private constructor(
    readonly response: Response,
    private readonly control: AbortController,
  ) {
    this.ended = this.read();
  }

  /** Resolves when all nodes gather for this reader. `query` is without the question mark. */
  static async open(url: string, bearer: string, query = ""): Promise<TailReader> {
    const control = new AbortController();
    const response = await fetch(`${url}/api/internal/v1/tail${query === "" ? "" : `?${query}`}`, {
      headers: { Authorization: `Bearer ${bearer}` },
      signal: control.signal,
    });
    if (response.status !== 200) throw new Error(`GET /tail: ${response.status} ${await response.text()}`);
    const reader = new TailReader(response, control);
    await reader.until("all nodes gather", () => reader.text.includes(": watching"));
    return reader;
  }

  get events(): TailEvent[] {
    const whole = this.text.slice(0, this.text.lastIndexOf("\n\n") + 2);
    return whole
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => JSON.parse(line.slice("data: ".length)));
  }

  /** How many events the stream says are missing. */
  get dropped(): number {
    return this.events.reduce((sum, { count = 0 }) => sum + count, 0);
  }

  /** The first event for which it holds. */
  async event(what: string, fits: (event: TailEvent) => boolean): Promise<TailEvent> {
    await this.until(what, () => this.events.some(fits));
    return this.events.find(fits) as TailEvent;
  }

  until(what: string, holds: () => boolean): Promise<void> {
    const look = async (): Promise<void> => {
      while (!holds()) {
        if (this.isEnded) throw new Error(`the stream ended before: ${what}`);
        const { promise, resolve } = Promise.withResolvers<void>();
        this.wakers.add(resolve);
        await promise;
        this.wakers.delete(resolve);
      }
    };
    return within(what, look(), undefined, async () => this.text.slice(-2000));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.control.abort();
    await this.ended;
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    try {
      for await (const bytes of this.response.body ?? []) {
        this.text += decoder.decode(bytes, { stream: true });
        this.wake();
      }
    } catch {
      // Closed by the test, or cut.
    }
    this.isEnded = true;
    this.wake();
  }

  private wake(): void {
    for (const wake of this.wakers) wake();
  }
}

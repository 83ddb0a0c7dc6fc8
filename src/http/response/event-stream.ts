/**
 * A response of Server-Sent Events that lasts until its client, its operator's access or the node ends. Nothing is queued for a client
 * that does not read: `isReady` says whether it has taken what was written before.
 */
import type { Clock } from "../../base/clock.ts";
import { EVENT_HEARTBEAT_MS, EVENT_RETRY_MS } from "../limits.ts";
import type { Call } from "../request/call.ts";

interface EventStreamParts {
  readonly call: Call;
  readonly clock: Pick<Clock, "after">;
  /** Ends the stream. */
  readonly until: AbortSignal;
  /** Called once, however the stream ends. */
  readonly ended: () => void;
}

export const EVENT_STREAM_HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-store",
  // nginx would collect the events before it sends them.
  "X-Accel-Buffering": "no",
};

export class EventStream {
  private controller: ReadableStreamDefaultController<string> | undefined;
  private parts: EventStreamParts | undefined;
  /** How often the client has taken something, now and at the last heartbeat. */
  private taken = 0;
  private takenBefore = -1;
  private isOver = false;
  private readonly onAbort = (): void => this.end();

  get isReady(): boolean {
    return !this.isOver && (this.controller?.desiredSize ?? 0) > 0;
  }

  respond(parts: EventStreamParts): Response {
    const { call, until } = parts;
    this.parts = parts;
    // Nothing reads the body of a response to HEAD, so the stream would never end.
    if (call.request.method === "HEAD") {
      this.end();
      return new Response(null, { headers: EVENT_STREAM_HEADERS });
    }
    const body = new ReadableStream<string>(
      {
        start: (controller) => {
          this.controller = controller;
          // Browsers show the stream as open only when something has arrived.
          controller.enqueue(`retry: ${EVENT_RETRY_MS}\n\n`);
        },
        pull: () => {
          this.taken++;
        },
        cancel: () => this.end(),
      },
      { highWaterMark: 1 },
    );
    // The heartbeats are further apart than the usual idle timeout, and notice a client that takes nothing.
    call.suspendIdleTimeout();
    until.addEventListener("abort", this.onAbort);
    call.request.signal.addEventListener("abort", this.onAbort);
    if (until.aborted || call.request.signal.aborted) this.end();
    else this.beat();
    return new Response(body, { headers: EVENT_STREAM_HEADERS });
  }

  /** Each text is JSON on one line. */
  send(lines: readonly string[]): void {
    this.enqueue(lines.map((line) => `data: ${line}\n\n`).join(""));
  }

  /** For people who look at the stream; clients ignore it. */
  comment(text: string): void {
    this.enqueue(`: ${text}\n\n`);
  }

  end(): void {
    this.finish((controller) => controller.close());
  }

  private enqueue(text: string): void {
    if (!this.isOver) this.controller?.enqueue(text);
  }

  private beat(): void {
    this.parts?.clock.after(EVENT_HEARTBEAT_MS, () => {
      if (this.isOver) return;
      const isStuck = !this.isReady && this.taken === this.takenBefore;
      this.takenBefore = this.taken;
      // What waits for this client is discarded with its connection.
      if (isStuck) return this.finish((controller) => controller.error());
      if (this.isReady) this.comment("heartbeat");
      this.beat();
    });
  }

  private finish(close: (controller: ReadableStreamDefaultController<string>) => void): void {
    if (this.isOver) return;
    this.isOver = true;
    const { call, until, ended } = this.parts ?? {};
    until?.removeEventListener("abort", this.onAbort);
    call?.request.signal.removeEventListener("abort", this.onAbort);
    try {
      if (this.controller) close(this.controller);
    } catch {
      // The client has cancelled it already.
    }
    // The connection may serve further requests.
    call?.restoreIdleTimeout();
    ended?.();
  }
}

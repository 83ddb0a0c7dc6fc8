/**
 * A reader of Server-Sent Events. It holds a place and no queue: while its client takes nothing, nothing is written, and what has come
 * meanwhile is read from the node or the store when it goes on.
 */
import type { Position } from "../../../protocol/position.ts";
import { eventOf, isBase64 } from "../bodies.ts";
import type { Caller } from "../caller.ts";
import { COMMENT_EVERY_MS } from "../limits.ts";
import type { StreamPage } from "../pages.ts";
import type { View } from "../read-query.ts";
import { controlOf } from "./batches.ts";
import type { Feed } from "./feed.ts";
import type { LiveReader } from "./reader.ts";

interface EventReaderParts {
  readonly feed: Feed;
  readonly view: View;
  /** Above the one that the client has sent. */
  readonly cursor: number;
  readonly endsMs: number;
  readonly monotonicMs: () => number;
  /** Reads on behind a place that the node does not hold. */
  readonly read: (place: Position) => Promise<StreamPage>;
  readonly faulted: (error: unknown) => void;
  /** Called once. */
  readonly over: (reader: EventReader) => void;
}

const HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  // nginx would collect the events before it sends them.
  "X-Accel-Buffering": "no",
};

export class EventReader implements LiveReader {
  private controller: ReadableStreamDirectController | undefined;
  private finish: (() => void) | undefined;
  private isOver = false;
  /** The client has not taken what was written. */
  private isBlocked = false;
  private isReading = false;
  /** Monotonic ms. */
  private writtenMs: number;
  private at: Position;

  constructor(
    public caller: Caller,
    readonly channel: string,
    private readonly first: StreamPage,
    private readonly parts: EventReaderParts,
  ) {
    this.at = first.next;
    this.writtenMs = parts.monotonicMs();
  }

  respond(headers: Record<string, string>): Response {
    const source: Bun.DirectUnderlyingSource<Uint8Array> = {
      type: "direct",
      pull: (controller): Promise<void> | undefined => this.begin(controller),
      cancel: () => this.close(),
    };
    const { form } = this.first;
    if (isBase64(form, this.parts.view)) headers["Stream-SSE-Data-Encoding"] = "base64";
    return new Response(new ReadableStream(source), { headers: { ...HEADERS, ...headers } });
  }

  private begin(controller: ReadableStreamDirectController): Promise<void> | undefined {
    if (this.isOver) return void controller.end();
    this.controller = controller;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finish = resolve;
    this.writePage(this.first);
    this.wake();
    return promise;
  }

  wake(): 0 {
    const { feed, view, cursor } = this.parts;
    while (!this.isOver && this.controller && !this.isBlocked && !this.isReading && feed.hasMore(this.at)) {
      if (!feed.isOf(this.at.epoch)) this.end();
      else {
        const shared = feed.behind(this.at, view);
        if (!shared) void this.readOn();
        else {
          this.at = shared.batch.next;
          this.write(shared.textFor(cursor));
          if (shared.batch.isClosed) this.end();
        }
      }
    }
    return 0;
  }

  private async readOn(): Promise<void> {
    this.isReading = true;
    try {
      const page = await this.parts.read(this.at);
      // The same stream still, as far as it is known here; the next request finds out.
      if (this.isOver) return;
      if (page.epoch !== this.at.epoch) return this.end();
      this.at = page.next;
      this.writePage(page);
    } catch {
      // The store is away, the stream is gone, or trimmed behind this reader: its next request shows which.
      this.end();
    } finally {
      this.isReading = false;
    }
    try {
      this.wake();
    } catch (error) {
      this.parts.faulted(error);
      this.end();
    }
  }

  private writePage(page: StreamPage): void {
    const { view, cursor } = this.parts;
    this.write(eventOf(page.messages, page.next, page.form, view) + controlOf(page, cursor));
    if (page.isClosed) this.end();
  }

  private write(text: string): void {
    const { controller } = this;
    if (!controller) return;
    this.writtenMs = this.parts.monotonicMs();
    const written = controller.write(text);
    controller.flush();
    if (!(written instanceof Promise)) return;
    this.isBlocked = true;
    written.then(() => {
      this.isBlocked = false;
      this.wake();
    }, this.parts.faulted);
  }

  tick(nowMs: number): void {
    const isSilent = nowMs - this.writtenMs >= COMMENT_EVERY_MS;
    if (nowMs >= this.parts.endsMs || (isSilent && this.isBlocked)) return this.end();
    if (isSilent) this.write(": still here\n\n");
  }

  end(): void {
    const { controller } = this;
    this.close();
    controller?.end();
  }

  private close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.controller = undefined;
    this.finish?.();
    this.parts.over(this);
  }
}

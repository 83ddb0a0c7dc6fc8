/** The service's side of connections over HTTP: streams that the test writes to, and the batches that come for them. */
import type { FakeService } from "./service.ts";

type Sent = Record<string, unknown> & { readonly type: string };

const UTF8 = new TextEncoder();

export class FakeStream {
  /** Frames of all batches that were accepted. */
  readonly sent: Sent[] = [];
  isAborted = false;
  saysGoodbye = false;
  private controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      this.controller = controller;
    },
  });

  constructor(
    readonly url: string,
    signal: AbortSignal,
  ) {
    signal.addEventListener("abort", () => {
      this.isAborted = true;
      this.controller?.error(new TypeError("aborted"));
    });
  }

  /** Bytes as they come, cut wherever the test cuts them. */
  write(text: string | Uint8Array<ArrayBuffer>): void {
    this.controller?.enqueue(typeof text === "string" ? UTF8.encode(text) : text);
  }

  frames(...frames: object[]): void {
    this.write(frames.map((frame) => `data:${JSON.stringify(frame)}\n\n`).join(""));
  }

  comment(): void {
    this.write(":\n\n");
  }

  close(code: number, reason: string): void {
    this.write(`event: close\ndata:${JSON.stringify({ code, reason })}\n\n`);
    this.controller?.close();
  }

  /** The stream ends without saying why. */
  end(): void {
    this.controller?.close();
  }

  of(type: string): Sent[] {
    return this.sent.filter((frame) => frame.type === type);
  }

  ackOf(type: string, fields: object = {}): object {
    return { type: "ack", requestId: this.of(type).at(-1)?.requestId, ...fields };
  }
}

export interface Post {
  readonly n: number;
  readonly session: string | null;
  readonly isBye: boolean;
  readonly text: string;
  readonly keepalive: boolean | undefined;
}

export class FakeEvents {
  readonly streams: FakeStream[] = [];
  readonly posts: Post[] = [];
  /** The answer to a batch; it throws if there is none. */
  answer: (post: Post) => Response | Promise<Response> = () => new Response(null, { status: 204 });
  /** The answer to a GET instead of a stream. */
  refusal: (() => Response) | undefined;

  /** Everything but `/v1/events` is answered as before. */
  install(): this {
    const others = globalThis.fetch;
    Object.assign(globalThis, {
      fetch: (url: string, init: RequestInit = {}) =>
        url.includes("/events?") ? this.fetch(new URL(url), init) : others(url, init),
    });
    return this;
  }

  static in(service: FakeService): FakeEvents {
    service.install();
    return new FakeEvents().install();
  }

  get stream(): FakeStream {
    const stream = this.streams.at(-1);
    if (!stream) throw new Error("there is no connection over HTTP");
    return stream;
  }

  private async fetch(url: URL, { method = "GET", body, signal, keepalive }: RequestInit): Promise<Response> {
    if (method === "GET") {
      if (this.refusal) return this.refusal();
      if (!signal) throw new Error("it cannot be ended");
      const stream = new FakeStream(url.href, signal);
      this.streams.push(stream);
      return new Response(stream.body, { headers: { "Content-Type": "text/event-stream" } });
    }
    const { searchParams } = url;
    const isBye = searchParams.get("bye") === "1";
    const session = searchParams.get("session");
    const post = { n: Number(searchParams.get("n")), session, isBye, text: `${body}`, keepalive };
    this.posts.push(post);
    const response = await this.answer(post);
    const stream = this.streams[Number(session?.slice(1)) - 1];
    if (response.ok && isBye && stream) stream.saysGoodbye = true;
    if (response.ok && post.text) stream?.sent.push(...post.text.split("\n").map((line) => JSON.parse(line)));
    return response;
  }
}

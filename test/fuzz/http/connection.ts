/** One keep-alive connection: requests as bytes, responses as received. One request at a time. */
import { connect, type Socket } from "node:net";

export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
}

/** The connection ended before there was a complete response. */
export class Ended extends Error {}
export class Silent extends Error {}

const HEAD_END = Buffer.from("\r\n\r\n");

export class HttpConnection {
  private received = Buffer.alloc(0);
  private wake: () => void = () => undefined;
  isOver = false;

  private constructor(private readonly socket: Socket) {
    socket.on("data", (bytes: Buffer<ArrayBuffer>) => {
      this.received = this.received.length === 0 ? bytes : Buffer.concat([this.received, bytes]);
      this.wake();
    });
    const over = (): void => {
      this.isOver = true;
      this.wake();
    };
    socket.on("end", over);
    socket.on("close", over);
    socket.on("error", over);
  }

  static open(port: number, from: string): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ host: "127.0.0.1", port, localAddress: from });
      const connection = new HttpConnection(socket);
      socket.once("connect", () => resolve(connection));
      socket.once("error", reject);
    });
  }

  /** `hasBody` false: a response to HEAD. */
  async ask(bytes: Uint8Array, withinMs: number, hasBody = true): Promise<HttpAnswer> {
    this.received = Buffer.alloc(0);
    this.socket.write(bytes);
    const deadline = performance.now() + withinMs;
    for (;;) {
      const answer = this.parsed(hasBody);
      if (answer) return answer;
      if (this.isOver) throw new Ended(`it ended after ${this.received.length} bytes`);
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new Silent(`no whole answer within ${withinMs} ms, but ${this.received.length} bytes`);
      await this.news(leftMs);
    }
  }

  drop(): void {
    this.socket.destroy();
    this.isOver = true;
  }

  private async news(leftMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, leftMs);
    this.wake = resolve;
    await promise;
    clearTimeout(timer);
  }

  private parsed(hasBody: boolean): HttpAnswer | undefined {
    let from = 0;
    for (;;) {
      const end = this.received.indexOf(HEAD_END, from);
      if (end < 0) return undefined;
      const [first = "", ...lines] = this.received.toString("latin1", from, end).split("\r\n");
      const status = Number(/^HTTP\/1\.[01] (\d{3})/.exec(first)?.[1] ?? 0);
      from = end + HEAD_END.length;
      // 100 Continue: the final response follows.
      if (status >= 100 && status < 200 && status !== 101) continue;
      const headers = new Map(
        lines.map((line): [string, string] => {
          const colon = line.indexOf(":");
          return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
        }),
      );
      const body = hasBody && status !== 204 && status !== 304 ? this.body(headers, from) : "";
      if (headers.get("connection")?.toLowerCase() === "close") this.isOver ||= body !== undefined;
      return body === undefined ? undefined : { status, headers, text: body };
    }
  }

  private body(headers: ReadonlyMap<string, string>, from: number): string | undefined {
    // It does not end by itself: the head is the answer.
    if (headers.get("content-type") === "text/event-stream") {
      this.drop();
      return "";
    }
    if (headers.get("transfer-encoding")?.toLowerCase() === "chunked") return this.chunks(from);
    const length = headers.get("content-length");
    if (length === undefined) return this.isOver ? this.received.toString("utf8", from) : undefined;
    const to = from + Number(length);
    return this.received.length >= to ? this.received.toString("utf8", from, to) : undefined;
  }

  private chunks(from: number): string | undefined {
    const parts: Buffer[] = [];
    for (let at = from; ; ) {
      const end = this.received.indexOf("\r\n", at);
      if (end < 0) return undefined;
      const size = Number.parseInt(this.received.toString("latin1", at, end), 16);
      if (size === 0) return Buffer.concat(parts).toString("utf8");
      if (!(size > 0) || this.received.length < end + 2 + size + 2) return undefined;
      parts.push(this.received.subarray(end + 2, end + 2 + size));
      at = end + 2 + size + 2;
    }
  }
}

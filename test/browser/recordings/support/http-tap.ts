/** Reads the requests and responses that pass through a connection, and changes none of them. */

export interface Head {
  /** The first line, split at spaces: a method and a path, or a version and a status. */
  readonly firstLine: readonly [string, string, string];
  /** By names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
}

export interface Listener {
  /** A head has come, and its body begins. */
  head(head: Head): void;
  /** Some bytes of the body, which begin at `at` in it. Those of a body that is cut off are seen too. */
  body(bytes: Buffer, at: number): void;
  /** The body is whole. */
  end(): void;
}

const HEAD_ENDS = "\r\n\r\n";

/** Either direction of one HTTP/1.1 connection. Bodies have a length, or are chunked, as those of Chromium and of the service. */
export class HttpReader {
  private waiting: Buffer = Buffer.alloc(0);
  private left = 0;
  private at = 0;
  private isChunked = false;
  /** A WebSocket, or something that is not understood. */
  private isOver = false;

  constructor(private readonly listener: Listener) {}

  push(bytes: Buffer): void {
    if (this.isOver) return;
    this.waiting = this.waiting.length === 0 ? bytes : Buffer.concat([this.waiting, bytes]);
    while (this.waiting.length > 0 && !this.isOver && this.step());
  }

  /** false: more bytes are needed. */
  private step(): boolean {
    if (this.left > 0) return this.readBody();
    if (this.isChunked) return this.readChunkHead();
    return this.readHead();
  }

  private readHead(): boolean {
    const end = this.waiting.indexOf(HEAD_ENDS);
    if (end < 0) return false;
    const head = headOf(this.waiting.subarray(0, end).toString("latin1"));
    this.waiting = this.waiting.subarray(end + HEAD_ENDS.length);
    this.isOver = head.headers.has("upgrade") || head.firstLine[1] === "101";
    this.isChunked = /chunked/i.test(head.headers.get("transfer-encoding") ?? "");
    this.left = Number(head.headers.get("content-length") ?? 0);
    this.at = 0;
    this.listener.head(head);
    if (this.left === 0 && !this.isChunked) this.listener.end();
    return true;
  }

  private readBody(): boolean {
    const bytes = this.waiting.subarray(0, this.left);
    this.waiting = this.waiting.subarray(bytes.length);
    this.left -= bytes.length;
    this.listener.body(bytes, this.at);
    this.at += bytes.length;
    if (this.left === 0 && !this.isChunked) this.listener.end();
    return true;
  }

  private readChunkHead(): boolean {
    // The line before a chunk also ends the chunk before it.
    const from = this.at > 0 ? 2 : 0;
    const end = this.waiting.indexOf("\r\n", from);
    if (end < 0) return false;
    this.left = Number.parseInt(this.waiting.subarray(from, end).toString("latin1"), 16);
    if (this.left > 0) {
      this.waiting = this.waiting.subarray(end + 2);
      return true;
    }
    if (this.waiting.length < end + 4) return false;
    this.waiting = this.waiting.subarray(end + 4);
    this.isChunked = false;
    this.listener.end();
    return true;
  }
}

function headOf(text: string): Head {
  const [first = "", ...lines] = text.split("\r\n");
  const [one = "", two = "", ...rest] = first.split(" ");
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(":");
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return { firstLine: [one, two, rest.join(" ")], headers: new Map(headers) };
}

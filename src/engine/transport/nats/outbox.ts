/**
 * What is published in one turn of the event loop, as the bytes that the server reads. The client makes a buffer for each command and for
 * each payload, and writes to the socket in each microtask: sixteen messages that arrive together would be sixteen writes.
 */

const CHUNK_BYTES = 64 * 1024;
/** From here on it is written before the turn ends: the server can read while this node goes on. */
const WRITE_FROM_BYTES = 32 * 1024;
/** Bytes of UTF-8 that one character of a JavaScript string needs at most. */
const BYTES_PER_CHAR_MAX = 3;
const LINE_END = "\r\n";

export class NatsOutbox {
  /** Written once from start to end and then replaced: the socket may still hold parts of it. */
  private chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  private from = 0;
  private end = 0;
  private isTurnOpen = false;

  /** `write`: to the socket, which keeps what the kernel does not take. It does not throw. */
  constructor(private readonly write: (bytes: Uint8Array) => void) {}

  /** `bytes`: how long the payload is in UTF-8. */
  publish(subject: string, payload: string | Uint8Array, bytes: number, replyTo: string | undefined): void {
    const head =
      replyTo === undefined ? `PUB ${subject} ${bytes}${LINE_END}` : `PUB ${subject} ${replyTo} ${bytes}${LINE_END}`;
    if (typeof payload === "string")
      return this.command(head + payload + LINE_END, bytes - payload.length + head.length * (BYTES_PER_CHAR_MAX - 1));
    this.reserve(head.length * BYTES_PER_CHAR_MAX + payload.length + LINE_END.length);
    this.end += this.chunk.write(head, this.end);
    this.chunk.set(payload, this.end);
    this.end += payload.length;
    this.end += this.chunk.write(LINE_END, this.end);
    this.openTurn();
  }

  /** `more`: bytes that it needs at most, beyond one per character. */
  command(text: string, more = text.length * (BYTES_PER_CHAR_MAX - 1)): void {
    this.reserve(text.length + more);
    this.end += this.chunk.write(text, this.end);
    this.openTurn();
  }

  flush(): void {
    if (this.end === this.from) return;
    const bytes = this.chunk.subarray(this.from, this.end);
    this.from = this.end;
    this.write(bytes);
  }

  private reserve(bytes: number): void {
    if (this.end + bytes <= this.chunk.length) return;
    this.flush();
    this.chunk = Buffer.allocUnsafeSlow(Math.max(bytes, CHUNK_BYTES));
    this.from = 0;
    this.end = 0;
  }

  private openTurn(): void {
    if (this.end - this.from >= WRITE_FROM_BYTES) return this.flush();
    if (this.isTurnOpen) return;
    this.isTurnOpen = true;
    // No boundary: `write` catches what fails.
    setImmediate(this.endTurn);
  }

  private readonly endTurn = (): void => {
    this.isTurnOpen = false;
    this.flush();
  };
}

/**
 * Finds messages in what the server sends, and leaves everything else to the client's parser. The client passes each read through a
 * promise and an asynchronous iterator, looks at each byte in a state machine and makes five objects per message: half of what a node
 * spent on taking one. Here a message is found in place.
 */

/** Where messages go, and all other commands. */
export interface ReaderOutput {
  /** `bytes` from `subjectFrom` to `subjectTo` are the subject. */
  message(
    sid: number,
    bytes: Buffer,
    subjectFrom: number,
    subjectTo: number,
    replyTo: string | undefined,
    payload: Uint8Array,
  ): void;
  /** The client's parser, which remembers where it is in a command. */
  parse(bytes: Uint8Array): void;
}

/** Bound: the beginning of a command whose end has not arrived. Of a longer one, the client's parser gets the parts. */
export const REST_MAX_BYTES = 64 * 1024;

const LINE_END = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const ZERO = 0x30;
const NINE = 0x39;
const [H, M] = [0x48, 0x4d];
const COMMAND_CHARS = 3;
/** Behind a payload. */
const CRLF_BYTES = 2;
const NUMBER_DIGITS_MAX = 15;

/** `read` has not found the end of a command. */
const INCOMPLETE = -1;
/** It has found what the server does not send. */
const UNKNOWN = -2;

export class NatsReader {
  private rest: Buffer | undefined;
  /** Bytes of a long message that are still to come, for the client's parser. */
  private passed = 0;
  /** Bytes of the command that was not complete, or 0 if not even its first line was. */
  private commandBytes = 0;
  /** Set for good once something was not understood: from then on the client reads by itself. */
  private isOff = false;
  /** Where the number that was read last ends. */
  private at = 0;

  constructor(private readonly output: ReaderOutput) {}

  read(frame: Buffer): void {
    if (this.isOff) return this.output.parse(frame);
    const bytes = this.rest ? Buffer.concat([this.rest, frame]) : frame;
    this.rest = undefined;
    let at = Math.min(this.passed, bytes.length);
    if (at > 0) {
      this.passed -= at;
      this.output.parse(bytes.subarray(0, at));
    }
    while (at < bytes.length) {
      const end = this.command(bytes, at);
      if (end < 0) return this.keep(bytes, at, end);
      at = end;
    }
  }

  /** Where it ends. */
  private command(bytes: Buffer, from: number): number {
    const kind = bytes[from];
    if (kind === M) return this.message(bytes, from);
    this.commandBytes = 0;
    const lineEnd = bytes.indexOf(LINE_END, from);
    if (lineEnd < 0) return INCOMPLETE;
    let end = lineEnd + 1;
    if (kind === H) {
      const size = numberBefore(bytes, lineEnd);
      if (size < 0) return UNKNOWN;
      end += size + CRLF_BYTES;
      this.commandBytes = end - from;
      if (end > bytes.length) return INCOMPLETE;
    }
    this.output.parse(bytes.subarray(from, end));
    return end;
  }

  /** `MSG <subject> <sid> [reply subject] <bytes>`, then the payload. */
  private message(bytes: Buffer, from: number): number {
    this.commandBytes = 0;
    const subjectFrom = from + COMMAND_CHARS + 1;
    if (subjectFrom <= bytes.length && bytes[subjectFrom - 1] !== SPACE) return UNKNOWN;
    const subjectTo = endOfToken(bytes, subjectFrom);
    const sid = this.number(bytes, subjectTo + 1);
    let at = this.at;
    if (at >= bytes.length) return INCOMPLETE;
    if (sid < 0 || bytes[at] !== SPACE) return UNKNOWN;
    const [from3, to3] = [at + 1, endOfToken(bytes, at + 1)];
    if (to3 >= bytes.length) return INCOMPLETE;
    let replyTo: string | undefined;
    at = from3;
    if (bytes[to3] === SPACE) {
      replyTo = bytes.toString("utf8", from3, to3);
      at = to3 + 1;
    }
    const size = this.number(bytes, at);
    at = this.at;
    if (at + 1 >= bytes.length) return INCOMPLETE;
    if (size < 0 || bytes[at] !== CARRIAGE_RETURN || bytes[at + 1] !== LINE_END) return UNKNOWN;
    const payloadFrom = at + CRLF_BYTES;
    const end = payloadFrom + size + CRLF_BYTES;
    this.commandBytes = end - from;
    if (end > bytes.length) return INCOMPLETE;
    const payload = bytes.subarray(payloadFrom, payloadFrom + size);
    this.output.message(sid, bytes, subjectFrom, subjectTo, replyTo, payload);
    return end;
  }

  /** Sets `at` behind it. Less than 0: there is none. */
  private number(bytes: Buffer, from: number): number {
    let value = 0;
    let at = from;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (byte < ZERO || byte > NINE) break;
      value = value * 10 + byte - ZERO;
    }
    this.at = at;
    return at === from || at - from > NUMBER_DIGITS_MAX ? -1 : value;
  }

  private keep(bytes: Buffer, from: number, why: number): void {
    const length = bytes.length - from;
    if (why === UNKNOWN || (this.commandBytes === 0 && length > REST_MAX_BYTES)) this.isOff = true;
    else if (this.commandBytes <= REST_MAX_BYTES) {
      // A copy: a view would keep the whole read in memory.
      this.rest = Buffer.from(bytes.subarray(from));
      return;
    } else this.passed = this.commandBytes - length;
    this.output.parse(bytes.subarray(from));
  }
}

/** Up to a space or the end of the line. */
function endOfToken(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== SPACE && bytes[at] !== CARRIAGE_RETURN) at++;
  return at;
}

/** The last number of a line. */
function numberBefore(bytes: Buffer, lineEnd: number): number {
  const line = bytes.toString("latin1", Math.max(0, lineEnd - NUMBER_DIGITS_MAX - CRLF_BYTES), lineEnd);
  const found = / (\d+)\r?$/.exec(line);
  return found ? Number(found[1]) : -1;
}

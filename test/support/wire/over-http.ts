/**
 * A connection over HTTP that tests see as a WebSocket: what they write as frames goes out in POSTs, and each event becomes a frame again. Pings are
 * answered here, because HTTP has none.
 */
import type { Socket } from "bun";
import { until } from "../wait.ts";
import type { ConnectOptions, Refused } from "./connect.ts";
import { closePayload, encodeFrame, OPCODE } from "./frames.ts";
import { Wire } from "./wire.ts";

const FRAMES_MAX = 64;
const BYTES_MAX = 200_000;
/** Before a POST is sent again. */
const REPEAT_MS = 100;

/** The head of a response, and its body as it arrives without its chunks. */
class ResponseReader {
  status = 0;
  readonly headers = new Headers();
  private unread: Buffer = Buffer.alloc(0);
  private hasHead = false;
  /** Bytes of the chunk that is being read, with its line break. */
  private left = 0;
  isComplete = false;

  push(bytes: Uint8Array): string {
    this.unread = Buffer.concat([this.unread, bytes]);
    if (!this.hasHead && !this.readHead()) return "";
    const body: Buffer[] = [];
    for (let part = this.part(); part; part = this.part()) body.push(part);
    return Buffer.concat(body).toString("utf8");
  }

  private readHead(): boolean {
    const end = this.unread.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const [first = "", ...lines] = this.unread.toString("latin1", 0, end).split("\r\n");
    this.status = Number(first.split(" ")[1]);
    for (const line of lines)
      this.headers.append(line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim());
    this.unread = this.unread.subarray(end + 4);
    this.hasHead = true;
    return true;
  }

  private part(): Buffer | undefined {
    if (this.headers.get("transfer-encoding") !== "chunked") return this.whole();
    if (this.left === 0) {
      const end = this.unread.indexOf("\r\n");
      if (end < 0) return undefined;
      const size = Number.parseInt(this.unread.toString("latin1", 0, end), 16);
      this.unread = this.unread.subarray(end + 2);
      if (size === 0) this.isComplete = true;
      this.left = size + 2;
    }
    const taken = this.unread.subarray(0, this.left);
    if (taken.length === 0) return undefined;
    this.unread = this.unread.subarray(taken.length);
    const text = taken.subarray(0, Math.max(0, Math.min(taken.length, this.left - 2)));
    this.left -= taken.length;
    return text;
  }

  private whole(): Buffer | undefined {
    const length = Number(this.headers.get("content-length") ?? 0);
    if (this.isComplete || this.unread.length < length) return undefined;
    this.isComplete = true;
    return this.unread;
  }
}

/** One client: its session, and the frames that wait for their POST. */
class Poster {
  session = "";
  private n = 0;
  private readonly waiting: string[] = [];
  private isBye = false;
  private isSending = false;

  constructor(private readonly address: string) {}

  add(frame: string): void {
    this.waiting.push(frame.replaceAll(/[\r\n]/g, " "));
    void this.send();
  }

  bye(): void {
    this.isBye = true;
    void this.send();
  }

  private async send(): Promise<void> {
    if (this.isSending) return;
    this.isSending = true;
    try {
      while (this.waiting.length > 0 || this.isBye) if (!(await this.post())) return;
    } finally {
      this.isSending = false;
    }
  }

  private async post(): Promise<boolean> {
    const frames: string[] = [];
    let bytes = 0;
    while (this.waiting.length > 0 && frames.length < FRAMES_MAX) {
      bytes += Buffer.byteLength(this.waiting[0] as string);
      if (frames.length > 0 && bytes > BYTES_MAX) break;
      frames.push(this.waiting.shift() as string);
    }
    const bye = this.isBye && this.waiting.length === 0 ? "&bye=1" : "";
    if (bye !== "") this.isBye = false;
    const url = `${this.address}?session=${this.session}&n=${++this.n}${bye}`;
    for (;;) {
      const response = await fetch(url, {
        method: "POST",
        body: frames.join("\n"),
        keepalive: false,
        headers: { "Content-Type": "text/plain" },
        tls: { rejectUnauthorized: false },
      });
      await response.text();
      if (response.status === 204) return true;
      if (response.status !== 503) return false;
      await Bun.sleep(REPEAT_MS);
    }
  }
}

/** The frames of a client as `Wire` writes them: masked, and none in pieces. */
function clientFrames(bytes: Buffer): { opcode: number; payload: Buffer }[] {
  const frames: { opcode: number; payload: Buffer }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const short = (bytes[at + 1] as number) & 0x7f;
    const extra = short < 126 ? 0 : short === 126 ? 2 : 8;
    const length =
      extra === 0 ? short : extra === 2 ? bytes.readUInt16BE(at + 2) : Number(bytes.readBigUInt64BE(at + 2));
    const mask = at + 2 + extra;
    const payload = Buffer.from(bytes.subarray(mask + 4, mask + 4 + length));
    for (let i = 0; i < payload.length; i++) payload[i] = (payload[i] as number) ^ (bytes[mask + (i & 3)] as number);
    frames.push({ opcode: (bytes[at] as number) & 0x0f, payload });
    at = mask + 4 + length;
  }
  return frames;
}

const frame = (opcode: number, payload: string | Uint8Array): Buffer =>
  encodeFrame(opcode, Buffer.from(payload as string, "utf8"), { masked: false });

export function attemptOverHttp(url: string, options: ConnectOptions = {}): Promise<Wire | Refused> {
  const { hostname, port, protocol } = new URL(url);
  const { query = "", headers = {} } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Wire | Refused>();
  const reader = new ResponseReader();
  const poster = new Poster(`${url}/v1/events`);
  let wire: Wire | undefined;
  let body = "";
  const event = (text: string): void => {
    const [data = ""] = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
    if (data === "") return;
    if (text.startsWith("event: close")) {
      const { code, reason } = JSON.parse(data);
      return wire?.received(frame(OPCODE.close, closePayload(code, reason)));
    }
    if (poster.session === "") poster.session = JSON.parse(data).session ?? "";
    wire?.received(frame(OPCODE.text, data));
  };
  const socketOf = (socket: Socket<unknown>): Socket<unknown> =>
    ({
      write: (bytes: Buffer) => {
        for (const { opcode, payload } of clientFrames(bytes))
          if (opcode === OPCODE.text) poster.add(payload.toString("utf8"));
          else if (opcode === OPCODE.close) poster.bye();
          else if (opcode === OPCODE.ping) wire?.received(frame(OPCODE.pong, payload));
        return bytes.length;
      },
      pause: () => socket.pause(),
      resume: () => socket.resume(),
      terminate: () => socket.terminate(),
    }) as unknown as Socket<unknown>;
  const received = (socket: Socket<unknown>, bytes: Uint8Array): void => {
    body += reader.push(bytes);
    if (reader.status === 0) return;
    if (reader.status !== 200) {
      if (!reader.isComplete) return;
      resolve({ status: reader.status, headers: reader.headers, body: JSON.parse(body) });
      socket.end();
      return;
    }
    if (!wire) {
      wire = new Wire(socketOf(socket), true, options.heard);
      wire.headers = reader.headers;
      resolve(wire);
    }
    const events = body.split("\n\n");
    body = events.pop() ?? "";
    for (const one of events) event(one);
    if (reader.isComplete) {
      wire.over();
      socket.end();
    }
  };
  const target = `/v1/events${query === "" ? "" : `?${query}`}`;
  const lines = Object.entries(headers as Record<string, string>).map(([name, value]) => `${name}: ${value}\r\n`);
  void Bun.connect({
    hostname,
    port: Number(port),
    tls: protocol === "https:" ? { rejectUnauthorized: false } : false,
    socket: {
      open: (socket) =>
        void socket.write(`GET ${target} HTTP/1.1\r\nHost: ${hostname}:${port}\r\n${lines.join("")}\r\n`),
      data: received,
      close: () => {
        wire?.over();
        reject(new Error("the connection ended before an answer"));
      },
      error: (_socket, error) => reject(error),
      connectError: (_socket, error) => reject(error),
    },
  }).catch(reject);
  return promise;
}

export interface OverHttp {
  readonly wire: Wire;
  /** Empty if there is none: it is closed at once. */
  readonly session: string;
  readonly peerId: string;
}

/** A connection whose first event has come. */
export async function connectOverHttp(url: string, options: ConnectOptions = {}): Promise<OverHttp> {
  const wire = await attemptOverHttp(url, options);
  if (!(wire instanceof Wire)) throw new Error(`the connect was refused: ${wire.status} ${JSON.stringify(wire.body)}`);
  await until("the first event", () => wire.events.length > 0);
  const { session = "", peerId = "" } = (wire.frames[0] ?? {}) as { session?: string; peerId?: string };
  return { wire, session, peerId };
}

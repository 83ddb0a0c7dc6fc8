/** A WebSocket on a raw socket: thousands of them in a process cost little, and every frame can be inspected. */
import type { Socket } from "bun";
import { CLOSE, clientFrame, FrameReader, PING, PONG, TEXT } from "./frames.ts";

export interface Address {
  readonly host: string;
  readonly port: number;
  /** Source addresses of connections: each has some 28,000 ports to one server. */
  readonly source: string;
}

/** How a connection ends: by the closing handshake, by ending the socket only, or by a reset. */
export type Ending = "close" | "end" | "reset";

const NORMAL_CLOSURE = Buffer.from([0x03, 0xe8]);
const HEAD_END = "\r\n\r\n";

export class WebSocketLine {
  private socket: Socket<undefined> | undefined;
  private head = "";
  private isUpgraded = false;
  private isOver = false;
  private readonly reader: FrameReader;
  private readonly upgraded = Promise.withResolvers<void>();
  private readonly over = Promise.withResolvers<void>();

  private constructor(
    private readonly text: (payload: Buffer) => void,
    private readonly ended: () => void,
  ) {
    this.reader = new FrameReader((opcode, payload) => {
      if (opcode === TEXT) this.text(payload);
      else if (opcode === PING) this.write(clientFrame(PONG, payload));
      else if (opcode === CLOSE) this.socket?.end();
    });
  }

  /** Resolves when the server has accepted the upgrade. Frames may arrive before that is noticed. */
  static async connect(
    { host, port, source }: Address,
    path: string,
    text: (payload: Buffer) => void,
    ended: () => void,
  ): Promise<WebSocketLine> {
    const line = new WebSocketLine(text, ended);
    const options = {
      hostname: host,
      port,
      // Bun has this option, its types do not yet.
      localAddress: source,
      data: undefined,
      socket: {
        open: (socket: Socket<undefined>) => {
          line.socket = socket;
          line.write(Buffer.from(handshake(host, port, path)));
        },
        data: (_socket: Socket<undefined>, chunk: Buffer) => line.receive(chunk),
        close: () => line.finish("the server closed the connection"),
        error: (_socket: Socket<undefined>, error: Error) => line.finish(error.message),
      },
    };
    await Bun.connect<undefined>(options);
    await line.upgraded.promise;
    return line;
  }

  send(frame: object): void {
    this.write(clientFrame(TEXT, Buffer.from(JSON.stringify(frame))));
  }

  /** Resolves when the socket is closed. */
  leave(how: Ending): Promise<void> {
    if (how === "reset") this.socket?.terminate();
    else if (how === "end") this.socket?.end();
    else this.write(clientFrame(CLOSE, NORMAL_CLOSURE));
    return this.over.promise;
  }

  private write(bytes: Uint8Array): void {
    if (this.isOver) return;
    // Everything sent here is small: if the kernel has no buffer space for it, the server has stopped reading.
    if (this.socket?.write(bytes) !== bytes.length) this.socket?.terminate();
  }

  private receive(chunk: Buffer): void {
    if (this.isUpgraded) return this.reader.push(chunk);
    this.head += chunk.toString("latin1");
    const end = this.head.indexOf(HEAD_END);
    if (end < 0) return;
    if (!this.head.startsWith("HTTP/1.1 101 ")) return this.finish(`refused: ${this.head.slice(0, 300)}`);
    this.isUpgraded = true;
    const rest = Buffer.from(this.head.slice(end + HEAD_END.length), "latin1");
    this.head = "";
    this.upgraded.resolve();
    if (rest.length > 0) this.reader.push(rest);
  }

  private finish(why: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.upgraded.reject(new Error(why));
    this.over.resolve();
    this.ended();
  }
}

const handshake = (host: string, port: number, path: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    `Host: ${host}:${port}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version: 13",
    "",
    "",
  ].join("\r\n");

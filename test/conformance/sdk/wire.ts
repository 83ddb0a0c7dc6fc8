/** The frames on a client's sockets: the SDK drops what it has seen before, so duplicates show only here. */
import type { PresencePeer, WebSocketLike } from "@metered-ca/realtime";

/** Both Bun's WebSocket and that of `ws` can be ended without a handshake. */
export type Socket = WebSocketLike & { terminate(): void };
export type OpenSocket = (url: string) => Socket;

export interface Frame {
  readonly type: string;
  readonly channel?: string;
  readonly from?: string;
  readonly joined?: readonly PresencePeer[];
  readonly left?: readonly PresencePeer[];
  readonly snapshot?: boolean;
  readonly metadata?: unknown;
}

export interface SeenPresence {
  readonly joined: readonly string[];
  readonly left: readonly string[];
  readonly rosters: number;
}

/** One socket and the frames that it received. */
export class Line {
  /** Parsed only when needed, so that the runtime under test spends its time on the SDK. */
  private readonly unread: string[] = [];
  private readonly read: Frame[] = [];
  /** undefined while it is open. */
  closeCode: number | undefined;

  constructor(
    readonly socket: Socket,
    private readonly changed: () => void,
  ) {
    socket.addEventListener("message", (event) => {
      this.unread.push((event as { data: string }).data);
      this.changed();
    });
    socket.addEventListener("close", (event) => {
      this.closeCode = (event as { code: number }).code;
      this.changed();
    });
    // Under `ws` an unhandled error event ends the process, and the SDK removes its listener before we do.
    socket.addEventListener("error", () => undefined);
  }

  get frames(): readonly Frame[] {
    for (const text of this.unread.splice(0)) this.read.push(JSON.parse(text));
    return this.read;
  }

  /** Peer ids in presence frames, in order, duplicates included; `from`: number of frames to skip. */
  presenceOf(channel: string, from = 0): SeenPresence {
    const frames = this.frames.slice(from).filter((frame) => frame.type === "presence" && frame.channel === channel);
    const ids = (entries: readonly PresencePeer[] = []): string[] => entries.map((entry) => entry.peerId);
    return {
      joined: frames.flatMap((frame) => ids(frame.joined)),
      left: frames.flatMap((frame) => ids(frame.left)),
      rosters: frames.filter((frame) => frame.snapshot === true).length,
    };
  }

  count(type: string): number {
    return this.frames.filter((frame) => frame.type === type).length;
  }
}

/** A client's sockets, in the order they were opened. */
export class Wire {
  readonly lines: Line[] = [];

  constructor(
    private readonly openSocket: OpenSocket,
    private readonly changed: () => void,
  ) {}

  readonly open = (url: string): Socket => {
    const socket = this.openSocket(url);
    this.lines.push(new Line(socket, this.changed));
    return socket;
  };

  /** The newest socket. */
  get line(): Line {
    const line = this.lines.at(-1);
    if (!line) throw new Error("this client has not connected yet");
    return line;
  }
}

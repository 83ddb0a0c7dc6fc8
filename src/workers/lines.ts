/** JSON lines over a Unix socket, in both directions: how the supervisor and its workers talk. */
import type { Socket } from "bun";

/** Bound: the longest line is the metrics of a whole service, about 50 KiB. */
const LINE_MAX_BYTES = 4 * 1024 * 1024;
/** Bound: the other end does not read. It is then cut off. */
const PENDING_MAX_BYTES = 16 * 1024 * 1024;

export interface LineEvents<In> {
  received(message: In): void;
  /** The other end has ended, or was cut off. Called once. */
  closed(): void;
}

/** One end of a connection. */
export class Lines<In, Out> {
  events: LineEvents<In> = { received: () => undefined, closed: () => undefined };
  /** The beginning of a line whose end has not arrived. Bound: LINE_MAX_BYTES, then the connection is cut. */
  private partial: Uint8Array[] = [];
  private partialBytes = 0;
  private pending: Uint8Array = new Uint8Array();
  private isClosed = false;
  private isEnding = false;
  private readonly gone = Promise.withResolvers<void>();

  constructor(private readonly socket: Pick<Socket<unknown>, "write" | "terminate" | "end">) {}

  send(message: Out): void {
    if (this.isClosed) return;
    const bytes = Buffer.from(`${JSON.stringify(message)}\n`);
    this.pending = this.pending.length === 0 ? bytes : Buffer.concat([this.pending, bytes]);
    if (this.pending.length > PENDING_MAX_BYTES) return this.cut();
    this.flush();
  }

  /** To be called when the socket takes bytes again. */
  flush(): void {
    if (this.isClosed) return;
    const written = this.pending.length === 0 ? 0 : this.socket.write(this.pending);
    // Negative: the socket is closed already.
    if (written > 0) this.pending = this.pending.subarray(written);
    if (this.isEnding && this.pending.length === 0) this.socket.end();
  }

  /** To be called with what the socket has received. */
  take(bytes: Uint8Array): void {
    let from = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, from)) {
      const line = Buffer.concat([...this.partial, bytes.subarray(from, end)]).toString();
      this.partial = [];
      this.partialBytes = 0;
      from = end + 1;
      const message = parsed<In>(line);
      if (message === undefined) return this.cut();
      this.events.received(message);
      if (this.isClosed) return;
    }
    // A copy: the runtime reuses its buffer.
    if (from < bytes.length) this.partial.push(bytes.slice(from));
    this.partialBytes += bytes.length - from;
    if (this.partialBytes > LINE_MAX_BYTES) this.cut();
  }

  /** Sends what waits, then closes. Resolves when the other end has closed too. */
  end(): Promise<void> {
    this.isEnding = true;
    this.flush();
    return this.gone.promise;
  }

  cut(): void {
    this.socket.terminate();
    this.ended();
  }

  /** To be called when the socket has closed. */
  ended(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.gone.resolve();
    this.events.closed();
  }
}

function parsed<In>(line: string): In | undefined {
  try {
    return JSON.parse(line) as In;
  } catch {
    return undefined;
  }
}

interface SocketData {
  lines: { take(bytes: Uint8Array): void; flush(): void; ended(): void };
}

const handlers = {
  data: (socket: Socket<SocketData>, bytes: Uint8Array): void => socket.data.lines.take(bytes),
  drain: (socket: Socket<SocketData>): void => socket.data.lines.flush(),
  // Without this, the socket of a process that has ended would stay half open.
  end: (socket: Socket<SocketData>): void => {
    socket.terminate();
    socket.data.lines.ended();
  },
  close: (socket: Socket<SocketData>): void => socket.data.lines.ended(),
  // Also when `received` has thrown: the runtime would keep such a socket open.
  error: (socket: Socket<SocketData>): void => {
    socket.terminate();
    socket.data.lines.ended();
  },
};

export interface LineServer {
  close(): void;
}

/** Listens at a path; `accepted` gets each connection. */
export function serveLines<In, Out>(path: string, accepted: (lines: Lines<In, Out>) => void): LineServer {
  const listener = Bun.listen<SocketData>({
    unix: path,
    socket: {
      ...handlers,
      open: (socket) => {
        const lines = new Lines<In, Out>(socket);
        socket.data = { lines };
        accepted(lines);
      },
    },
  });
  return { close: () => listener.stop(true) };
}

/** Rejects if no one listens there. */
export async function connectLines<In, Out>(path: string, events: LineEvents<In>): Promise<Lines<In, Out>> {
  const { promise, resolve } = Promise.withResolvers<Lines<In, Out>>();
  await Bun.connect<SocketData>({
    unix: path,
    socket: {
      ...handlers,
      open: (socket) => {
        const lines = new Lines<In, Out>(socket);
        lines.events = events;
        socket.data = { lines };
        resolve(lines);
      },
    },
  });
  return promise;
}

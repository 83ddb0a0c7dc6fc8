/** A WebSocket client for tests: it records what it receives, and sends frames. */
import type { Json } from "../../support/http.ts";

const PATIENCE_MS = 30_000;

export interface ServerFrame extends Json {
  readonly type: string;
}

export class Listener {
  readonly frames: ServerFrame[] = [];
  /** The same frames as text. */
  readonly texts: string[] = [];
  /** undefined while the connection is open. */
  closeCode: number | undefined;
  private readonly watchers = new Set<() => void>();
  private readTo = 0;
  private requests = 0;

  private constructor(private readonly socket: WebSocket) {
    socket.onmessage = ({ data }) => {
      this.texts.push(String(data));
      this.frames.push(JSON.parse(String(data)));
      this.wake();
    };
    socket.onclose = ({ code }) => {
      this.closeCode = code;
      this.wake();
    };
  }

  /** `query` is `token=…` or `key=…`. Resolves with the welcome. */
  static async connect(url: string, query: string): Promise<Listener> {
    const listener = new Listener(new WebSocket(`${url.replace(/^http/, "ws")}/v1?${query}`));
    await listener.next("welcome");
    return listener;
  }

  /** Resolves with the roster. */
  async join(channel: string, fields: Json = {}): Promise<ServerFrame> {
    const answer = await this.request({ type: "subscribe", channel, ...fields });
    if (answer.type !== "ack") throw new Error(`${channel}: ${JSON.stringify(answer)}`);
    return this.next("presence", (frame) => frame.channel === channel && frame.snapshot === true);
  }

  send(frame: Json | string): void {
    this.socket.send(typeof frame === "string" ? frame : JSON.stringify(frame));
  }

  /** Sends a frame with a requestId and resolves with its answer. */
  async request(frame: Json): Promise<ServerFrame> {
    const requestId = `listener ${++this.requests}`;
    this.send({ ...frame, requestId });
    return this.until(() => this.frames.find((one) => one.requestId === requestId), JSON.stringify(frame));
  }

  /** The next unread frame of that type for which `fits` holds; frames before it count as read. */
  async next(type: string, fits: (frame: ServerFrame) => boolean = () => true): Promise<ServerFrame> {
    const at = await this.until(() => {
      const found = this.frames.findIndex((frame, at) => at >= this.readTo && frame.type === type && fits(frame));
      return found < 0 ? undefined : found;
    }, type);
    this.readTo = at + 1;
    return this.frames[at] as ServerFrame;
  }

  closed(): Promise<number> {
    return this.until(() => this.closeCode, "the close");
  }

  close(): void {
    this.socket.close(1000);
  }

  [Symbol.dispose](): void {
    this.close();
  }

  private wake(): void {
    for (const watcher of this.watchers) watcher();
  }

  private async until<T>(look: () => T | undefined, what: string): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const watcher = (): void => {
      const seen = look();
      if (seen !== undefined) resolve(seen);
    };
    const late = (): void =>
      reject(new Error(`${what} did not come; the last were\n${JSON.stringify(this.frames.slice(-5), null, 1)}`));
    const timer = setTimeout(late, PATIENCE_MS);
    this.watchers.add(watcher);
    watcher();
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.watchers.delete(watcher);
    }
  }
}

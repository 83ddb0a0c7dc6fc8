/** A service without a network: sockets whose other end is the test, and the answers of its plain GET. */
import type { Socket, WebSocketClass } from "../connection/options.ts";
import type { Welcome } from "../events/frames.ts";
import { settled } from "./clock.ts";

type Sent = Record<string, unknown> & { readonly type: string; readonly requestId?: string };
type Event = { readonly data: unknown; readonly code: number; readonly reason: string };

export class FakeSocket implements Socket {
  onmessage: ((event: never) => void) | null = null;
  onclose: ((event: never) => void) | null = null;
  onerror: ((event: never) => void) | null = null;
  readonly sent: Sent[] = [];
  /** The code with which the client has closed it. */
  closedWith: number | undefined;

  constructor(readonly url: string) {}

  send(text: string): void {
    this.sent.push(JSON.parse(text));
  }

  close(code?: number): void {
    this.closedWith = code ?? 1005;
  }

  /** What the client has sent of a type. */
  of(type: string): Sent[] {
    return this.sent.filter((frame) => frame.type === type);
  }

  /** The last frame of a type. */
  last(type: string): Sent {
    const frame = this.of(type).at(-1);
    if (!frame) throw new Error(`the client has sent no ${type}`);
    return frame;
  }

  text(data: unknown): void {
    this.event("onmessage", { data });
  }

  /** Several frames in one turn, as some runtimes read them. */
  frames(...frames: object[]): void {
    for (const frame of frames) this.text(JSON.stringify(frame));
  }

  async receive(...frames: object[]): Promise<void> {
    this.frames(...frames);
    await settled();
  }

  async welcome(fields: Partial<Welcome> = {}): Promise<void> {
    await this.receive(welcomeFrame(fields));
  }

  /** The ack of the last frame of a type. */
  async ack(type: string, fields: object = {}): Promise<void> {
    await this.receive(this.ackOf(type, fields));
  }

  ackOf(type: string, fields: object = {}): object {
    return { type: "ack", requestId: this.last(type).requestId, ...fields };
  }

  async refuse(type: string, code: string): Promise<void> {
    await this.receive({ type: "error", requestId: this.last(type).requestId, code, message: "no" });
  }

  /** The service, or the network, ends it. */
  async end(code = 1006, reason = ""): Promise<void> {
    this.event("onclose", { code, reason });
    await settled();
  }

  /** An error of which the runtime says no more. */
  async fail(): Promise<void> {
    this.event("onerror", {});
    await settled();
  }

  private event(name: "onmessage" | "onclose" | "onerror", event: Partial<Event>): void {
    (this[name] as ((event: Partial<Event>) => void) | null)?.(event);
  }
}

export const welcomeFrame = (fields: Partial<Welcome> = {}): Welcome => ({
  type: "welcome",
  peerId: "me",
  expiresAt: null,
  serverTime: 1_700_000_000,
  maxMessageSize: 65_536,
  features: ["history", "state", "renew", "send-id", "events"],
  connection: "c1",
  ...fields,
});

const realFetch = globalThis.fetch;

export class FakeService {
  readonly sockets: FakeSocket[] = [];
  /** Addresses of plain GETs. */
  readonly asked: string[] = [];
  /** The answer to a plain GET; `undefined`: there is none. */
  answer: (() => Response | Promise<Response>) | undefined;
  readonly WebSocket: WebSocketClass;
  answersPings = false;

  constructor() {
    const service = this;
    const { sockets } = this;
    this.WebSocket = class extends FakeSocket {
      constructor(url: string) {
        super(url);
        sockets.push(this);
      }

      override send(text: string): void {
        super.send(text);
        if (service.answersPings && text === '{"type":"ping"}') queueMicrotask(() => this.frames({ type: "pong" }));
      }
    };
  }

  install(): this {
    const ask = async (url: string, { signal }: { readonly signal: AbortSignal }): Promise<Response> => {
      this.asked.push(url);
      if (!this.answer) throw new TypeError("fetch failed");
      const aborted = new Promise<never>((_, reject) =>
        signal.addEventListener("abort", () => reject(new TypeError("aborted"))),
      );
      // An answer that throws at once leaves no one who waits for it.
      aborted.catch(() => undefined);
      return Promise.race([this.answer(), aborted]);
    };
    Object.assign(globalThis, { fetch: ask });
    return this;
  }

  restore(): void {
    globalThis.fetch = realFetch;
  }

  /** The newest connection. */
  get socket(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (!socket) throw new Error("the client has not connected");
    return socket;
  }

  refuses(status: number, error: string, headers: Record<string, string> = {}): void {
    this.answer = () => Response.json({ error, message: `because of ${error}` }, { status, headers });
  }
}

/**
 * `parley-client/http`: a connection over plain HTTP that looks like a WebSocket, for clients that take a class or a factory for it.
 *
 *     new SignallingClient({ url, tokenProvider, webSocketFactory: (url) => new HttpSocket(url) })
 */
import { HttpLink } from "./connection/http-link.ts";

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;
/** The connection was lost, or never made. */
const ABNORMAL = 1006;

/** As much of an EventTarget as the types say: programs without those of browsers must compile too. */
interface Target {
  addEventListener(type: string, listener: (event: never) => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: string, listener: (event: never) => void): void;
  dispatchEvent(event: never): boolean;
}

const Base = EventTarget as unknown as new () => Target;

export class HttpSocket extends Base {
  static readonly CONNECTING = CONNECTING;
  static readonly OPEN = OPEN;
  static readonly CLOSING = CLOSING;
  static readonly CLOSED = CLOSED;
  readonly CONNECTING = CONNECTING;
  readonly OPEN = OPEN;
  readonly CLOSING = CLOSING;
  readonly CLOSED = CLOSED;
  /** Frames are text: it changes nothing. */
  binaryType: "blob" | "arraybuffer" = "blob";
  readonly protocol = "";
  readonly extensions = "";
  onopen: ((event: { readonly type: string }) => void) | null = null;
  onmessage: ((event: { readonly data: string }) => void) | null = null;
  onerror: ((event: { readonly type: string }) => void) | null = null;
  onclose: ((event: { readonly code: number; readonly reason: string; readonly wasClean: boolean }) => void) | null =
    null;
  readonly #link: HttpLink;

  /** The address of a WebSocket: `wss://parley.example.com/v1?token=…` */
  constructor(readonly url: string) {
    super();
    this.#link = new HttpLink(new URL(url).href);
    for (const type of ["open", "message", "error", "close"] as const)
      this.addEventListener(type, (event) => this[`on${type}`]?.(event));
    const emit = (type: string, fields: object = {}): unknown =>
      this.dispatchEvent(Object.assign(new Event(type), fields) as never);
    this.#link.onopen = () => emit("open");
    this.#link.onmessage = (event) => emit("message", event);
    this.#link.onclose = (closing) => {
      const wasClean = closing.code !== ABNORMAL;
      if (!wasClean) emit("error");
      emit("close", { ...closing, wasClean });
    };
  }

  get readyState(): 0 | 1 | 2 | 3 {
    return this.#link.readyState;
  }

  /** How many characters the service does not have yet. */
  get bufferedAmount(): number {
    return this.#link.unsent.join("").length;
  }

  /** What is sent before the connection is open waits for it. */
  send(text: string): void {
    this.#link.send(text);
  }

  /** With 1000 or without a code it is a goodbye. */
  close(code?: number, reason?: string): void {
    void this.#link.close(code, reason);
  }
}

/**
 * Keeps one connection to the service: connects, notices when it is dead, and comes back.
 *
 *     connecting → connected → reconnecting → connected …
 *          └──────────┴─────────────┴───────→ closed
 *
 * The first connect is retried by the same rule as every later one. Only a close code or a refusal that is final ends it.
 */
import { KEY_REVOKED, KICKED } from "../../src/protocol/close.ts";
import { isFinalClose, PUT_OUT_CODE } from "../../src/protocol/final-close.ts";
import { type ErrorCode, ParleyError } from "./errors.ts";
import type { Frame, Request, Welcome } from "./frames.ts";
import type { LinkOptions, Socket, TokenReason } from "./options.ts";
import { onWake } from "./wake.ts";

export interface Status {
  readonly state: "connecting" | "connected" | "reconnecting" | "closed";
  /** Why it is not connected. */
  readonly error?: ParleyError | undefined;
}

export interface LinkEvents {
  status(status: Status): void;
  welcome(welcome: Welcome): void;
  frame(frame: Frame, length: number): void;
  /** The connection has ended: nothing that was sent will be answered. */
  lost(): void;
  /** Something went wrong that does not end the client. */
  error(error: ParleyError): void;
  renew(token: string): Promise<Frame>;
}

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 20_000;
/** From the attempt to the welcome. */
const CONNECT_MAX_MS = 15_000;
const CHECK_EVERY_MS = 5000;
/** Silence after which the client pings: the service does so every 30 s, but browsers hide that. */
const PING_AFTER_MS = 25_000;
const PONG_WITHIN_MS = 10_000;
/** After a sleep the connection is probably dead. */
const PONG_AFTER_WAKE_MS = 4000;
/** A token is renewed this long before it ends, or when three quarters of its life are over. */
const RENEW_BEFORE_MS = 60_000;
/** A token of which less is left is not used for a connect. */
const TOKEN_LEFT_MS = 5000;
/** Sent when the client itself gives up a connection: not a goodbye, so that members stay where the service allows it. */
const GIVEN_UP = 4000;
const GOODBYE = 1000;
const ABNORMAL = 1006;
const NO_WEBSOCKET = "There is no WebSocket here. In Node 20, import Parley from parley-client/node.";

interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retryAfterMs: number;
  readonly status: number;
}

export class Link {
  status: Status = { state: "connecting" };
  private socket: Socket | undefined;
  private isReady = false;
  /** Failed attempts in a row. */
  private failures = 0;
  private retryAfterMs = 0;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private connectTimer: ReturnType<typeof setTimeout> | undefined;
  private renewTimer: ReturnType<typeof setTimeout> | undefined;
  private checkTimer: ReturnType<typeof setInterval> | undefined;
  private heardMs = 0;
  /** When the answer to a ping must have come; 0 if none is awaited. */
  private pongByMs = 0;
  private token: string | undefined;
  /** By this client's clock; not known before a welcome. */
  private tokenEndsMs = Number.POSITIVE_INFINITY;
  /** The last token was refused: the next refusal is final. */
  private wasRefused = false;
  private serverAheadMs = 0;
  private features: readonly string[] = [];
  private endWake: (() => void) | undefined;

  constructor(
    private readonly options: LinkOptions,
    private readonly events: LinkEvents,
  ) {
    if ((options.key === undefined) === (options.token === undefined))
      throw new TypeError("parley: give either `key` or `token`");
  }

  open(): void {
    if (this.checkTimer || this.status.state === "closed") return;
    this.checkTimer = setInterval(() => this.check(), CHECK_EVERY_MS);
    this.endWake = onWake(() => this.wake());
    void this.connect();
  }

  get isConnected(): boolean {
    return this.isReady;
  }

  has(feature: string): boolean {
    return this.features.includes(feature);
  }

  send(frame: Request): void {
    this.socket?.send(JSON.stringify(frame));
  }

  close(): void {
    this.end(new ParleyError("closed", "The client was closed."), GOODBYE);
  }

  // Connecting

  private async connect(): Promise<void> {
    this.retryTimer = undefined;
    const query = await this.query();
    if (query === undefined || this.status.state === "closed" || this.socket) return;
    const { WebSocket = globalThis.WebSocket } = this.options;
    if (!WebSocket) return this.end(new ParleyError("unreachable", NO_WEBSOCKET));
    const url = `${this.options.url.replace(/^http/, "ws").replace(/\/+$/, "")}/v1?${query}`;
    let socket: Socket;
    try {
      socket = new WebSocket(url);
    } catch (error) {
      return this.end(new ParleyError("unreachable", `${this.options.url} is not an address.`, { cause: error }));
    }
    this.socket = socket;
    const isCurrent = (): boolean => this.socket === socket;
    this.connectTimer = setTimeout(() => isCurrent() && this.giveUp(), CONNECT_MAX_MS);
    socket.onmessage = ({ data }: { readonly data: unknown }) => isCurrent() && this.received(String(data));
    socket.onclose = ({ code }: { readonly code: number }) => isCurrent() && void this.ended(code, url);
    // A close follows.
    socket.onerror = () => undefined;
  }

  /** `undefined`: there is no token, and what follows from that is arranged. */
  private async query(): Promise<string | undefined> {
    const { key } = this.options;
    if (key !== undefined) return `key=${encodeURIComponent(key)}`;
    // The same token serves for several connects: it is asked for when there is none, or too little of it is left.
    if (this.token === undefined || Date.now() > this.tokenEndsMs - TOKEN_LEFT_MS) {
      this.token = await this.newToken(this.wasRefused ? "refused" : "connect");
      this.tokenEndsMs = Number.POSITIVE_INFINITY;
    }
    return this.token && `token=${encodeURIComponent(this.token)}`;
  }

  private async newToken(reason: TokenReason): Promise<string | undefined> {
    try {
      const token = await this.options.token?.({ reason });
      if (typeof token === "string") return token;
      this.end(new ParleyError("unauthorized", "There is no token for this client any more."));
    } catch (error) {
      const failure = new ParleyError("token_failed", "The function that gets tokens has failed.", { cause: error });
      this.events.error(failure);
      if (!this.isReady) this.retry(failure);
    }
    return undefined;
  }

  private received(text: string): void {
    this.heardMs = Date.now();
    this.pongByMs = 0;
    let frame: Frame;
    try {
      frame = JSON.parse(text) as Frame;
    } catch {
      return;
    }
    if (frame.type === "welcome") return this.welcomed(frame as unknown as Welcome);
    if (frame.type === "going_away") this.retryAfterMs = frame.retryAfterMs ?? 0;
    this.events.frame(frame, text.length);
  }

  private welcomed(welcome: Welcome): void {
    clearTimeout(this.connectTimer);
    this.isReady = true;
    this.failures = 0;
    this.retryAfterMs = 0;
    this.wasRefused = false;
    this.features = welcome.features ?? [];
    this.events.welcome(welcome);
    this.show({ state: "connected" });
    this.serverAheadMs = welcome.serverTime * 1000 - Date.now();
    if (welcome.expiresAt !== null) this.tokenLasts((welcome.expiresAt - welcome.serverTime) * 1000);
  }

  // Ending

  private async ended(code: number, url: string): Promise<void> {
    const wasReady = this.isReady;
    this.forget();
    if (isFinalClose(code)) return this.end(finalError(code));
    if (wasReady || code !== ABNORMAL) return this.retry(lostError(code));
    // Browsers do not say why a WebSocket was refused.
    const refusal = await whyRefused(url);
    if (this.status.state === "closed" || this.socket) return;
    if (!refusal) return this.retry(new ParleyError("unreachable", "The service cannot be reached."));
    const error = new ParleyError(refusal.code, refusal.message);
    // With a function for tokens, one refusal may be a token that has ended meanwhile.
    if (refusal.status === 401) {
      if (this.wasRefused || !this.options.token) return this.end(error);
      this.wasRefused = true;
      this.token = undefined;
    }
    this.retryAfterMs = refusal.retryAfterMs;
    this.retry(error);
  }

  private retry(error: ParleyError): void {
    if (this.status.state === "closed" || this.retryTimer) return;
    const most = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.failures++);
    // Full jitter, so that the clients of a node that has restarted do not come back at the same moment.
    const waitMs = this.retryAfterMs + Math.random() * most;
    this.retryAfterMs = 0;
    this.retryTimer = setTimeout(() => void this.connect(), waitMs);
    const state = this.status.state === "connecting" ? "connecting" : "reconnecting";
    this.show({ state, error });
  }

  private end(error: ParleyError, code = GOODBYE): void {
    if (this.status.state === "closed") return;
    const { socket } = this;
    this.forget();
    clearTimeout(this.retryTimer);
    clearInterval(this.checkTimer);
    this.endWake?.();
    this.show({ state: "closed", error });
    socket?.close(code);
  }

  private giveUp(): void {
    const { socket } = this;
    this.forget();
    socket?.close(GIVEN_UP);
    this.retry(new ParleyError("connection_lost", "The connection was silent for too long."));
  }

  /** From here on the socket is none of ours. */
  private forget(): void {
    const wasReady = this.isReady;
    this.socket = undefined;
    this.isReady = false;
    this.pongByMs = 0;
    clearTimeout(this.connectTimer);
    clearTimeout(this.renewTimer);
    if (wasReady) this.events.lost();
  }

  // Staying connected

  private check(): void {
    if (!this.isReady) return;
    const nowMs = Date.now();
    if (this.pongByMs > 0 && nowMs > this.pongByMs) this.giveUp();
    else if (this.pongByMs === 0 && nowMs - this.heardMs > PING_AFTER_MS) this.ping(PONG_WITHIN_MS);
  }

  private ping(withinMs: number): void {
    this.pongByMs = Date.now() + withinMs;
    this.send({ type: "ping" });
  }

  /** The network is back, the page is visible again, or the machine has slept. */
  private wake(): void {
    if (this.isReady) {
      this.ping(PONG_AFTER_WAKE_MS);
      setTimeout(() => this.check(), PONG_AFTER_WAKE_MS + 1);
    } else if (this.retryTimer) {
      clearTimeout(this.retryTimer);
      void this.connect();
    }
  }

  private tokenLasts(lifeMs: number): void {
    this.tokenEndsMs = Date.now() + lifeMs;
    clearTimeout(this.renewTimer);
    this.renewTimer = setTimeout(() => void this.renew(), lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs / 4));
  }

  private async renew(): Promise<void> {
    const { socket } = this;
    const token = await this.newToken("renew");
    if (!token || this.socket !== socket) return;
    try {
      // Without this feature the service ends the connection when the old token ends, and the new one is used to come back.
      const renewed = this.has("renew") ? await this.events.renew(token) : undefined;
      if (this.socket !== socket) return;
      this.token = token;
      if (typeof renewed?.expiresAt === "number") this.tokenLasts(renewed.expiresAt * 1000 - this.serverNowMs());
      else this.tokenEndsMs = Number.POSITIVE_INFINITY;
    } catch (error) {
      if (this.socket === socket) this.events.error(error as ParleyError);
    }
  }

  private serverNowMs(): number {
    return Date.now() + this.serverAheadMs;
  }

  private show(status: Status): void {
    this.status = status;
    this.events.status(status);
  }
}

function finalError(code: number): ParleyError {
  if (code === KEY_REVOKED.code) return new ParleyError("key_revoked", "The key was revoked.");
  if (code === KICKED.code) return new ParleyError("kicked", "The backend has disconnected this peer.");
  if (code === PUT_OUT_CODE) return new ParleyError("put_out", "This stay in the room has ended.");
  return new ParleyError("closed", `The service has closed the connection for good (${code}).`);
}

const lostError = (code: number): ParleyError =>
  new ParleyError("connection_lost", `The connection has ended (${code}).`);

/** Asks the same address over HTTP. `undefined`: there is no answer, or the service would let this client in now. */
async function whyRefused(url: string): Promise<Refusal | undefined> {
  try {
    const response = await fetch(url.replace(/^ws/, "http"), { signal: AbortSignal.timeout(CONNECT_MAX_MS) });
    const { status, headers } = response;
    if (status < 400 || status === 426) return undefined;
    const { error, message } = (await response.json()) as { error: ErrorCode; message: string };
    const seconds = Number(headers.get("Retry-After") ?? 0);
    return { code: error, message, status, retryAfterMs: seconds > 0 ? seconds * 1000 : 0 };
  } catch {
    return undefined;
  }
}

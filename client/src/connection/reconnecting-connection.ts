/**
 * Keeps one connection to the service: connects, notices when it is dead, and comes back.
 *
 *     connecting → connected → reconnecting → connected …
 *          └──────────┴─────────────┴───────→ closed
 *
 * The first connect is retried by the same rule as every later one. Only a close code or a refusal that is final ends it.
 */
import type { Closing } from "../../../src/protocol/close.ts";
import { isFinalClose } from "../../../src/protocol/final-close.ts";
import { ParleyError } from "../events/errors.ts";
import type { Frame, Welcome } from "../events/frames.ts";
import type { Status } from "../events/types.ts";
import { type Debug, debugOf, frameLine, statusLine, traced } from "./debug.ts";
import type { ConnectionOptions, Socket, TokenReason } from "./options.ts";
import { boundedRetryAfter, closeError, whyRefused } from "./refusal.ts";
import { steadyClock } from "./steady-clock.ts";
import { Tokens } from "./tokens.ts";
import { onWake } from "./wake.ts";

export interface ConnectionEvents {
  status(status: Status): void;
  welcome(welcome: Welcome): void;
  frame(frame: Frame, length: number): void;
  /** The connection has ended: nothing that was sent will be answered. */
  lost(error: ParleyError): void;
  /** Something went wrong that does not end the client. */
  error(error: ParleyError): void;
  renew(token: string): Promise<Frame>;
}

const RETRY_MIN_MS = 500;
const RETRY_MAX_MS = 20_000;
/** A connection that ends sooner counts as a failed attempt: otherwise a client that is cut at once would never wait longer. */
const STABLE_MS = 2000;
/** From the attempt to the welcome. */
const CONNECT_WITHIN_MS = 15_000;
/** Silence after which the client pings: the service does so every 30 s, but browsers hide that. */
const PING_AFTER_MS = 25_000;
const PONG_WITHIN_MS = 10_000;
/** After a sleep the connection is probably dead. */
const PONG_AFTER_WAKE_MS = 4000;
const LATE_MS = 2000;
/** A token is renewed this long before it ends, or when two thirds of its life are over. */
const RENEW_BEFORE_MS = 60_000;
const RENEW_AGAIN_MIN_MS = 1000;
const RENEW_AGAIN_MAX_MS = 10_000;
/** Sent when the client itself gives up a connection: not a goodbye, so that members stay where the service allows it. */
const GIVEN_UP = 4000;
const GOODBYE = 1000;
/** Below it are the codes of WebSocket itself, which runtimes also use for a refused handshake. */
const SERVICE_CODES_FROM = 4000;

type Timer = ReturnType<typeof setTimeout>;

export class ReconnectingConnection {
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  status: Status = { state: "connecting" };
  isConnected = false;
  readonly #tokens: Tokens | undefined;
  readonly #debug: Debug;
  #socket: Socket | undefined;
  /** What belongs to an earlier attempt, and ends late, changes nothing. */
  #attempt = 0;
  #endWake: (() => void) | undefined;
  #asking: AbortController | undefined;
  /** Failed attempts in a row. */
  #failures = 0;
  #retryAfterMs = 0;
  #retryTimer: Timer | undefined;
  #connectTimer: Timer | undefined;
  #renewTimer: Timer | undefined;
  #pongTimer: Timer | undefined;
  // Times of a clock that is never set: a change of the clock on the wall must not keep a dead connection alive.
  #notBeforeMs = 0;
  readonly #steadyMs = steadyClock();
  /** Steady ms. */
  #welcomedMs = 0;
  #heardMs = 0;
  #welcome: Welcome | undefined;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    this.#debug = debugOf(options);
    if (options.token) this.#tokens = new Tokens(traced(options.token, this.#debug));
  }

  open(): void {
    if (this.status.state === "closed") return;
    if (this.#endWake) return this.isConnected ? undefined : this.#wake();
    // Not in the constructor: pages that Node 20 renders make a client, and only their browsers connect it.
    if (!(this.#options.WebSocket ?? globalThis.WebSocket))
      throw new TypeError(
        "parley: this runtime has no WebSocket. With Node 20, run `npm install ws` or `node --experimental-websocket`, or use Node 22 or later; elsewhere give the option `WebSocket`.",
      );
    this.#endWake = onWake(
      () => this.#look(),
      () => this.#wake(),
    );
    void this.#connect();
  }

  /** `frame` is what the text says. */
  send(text: string, frame: Partial<Frame>): void {
    this.#debug?.(frameLine("→", frame));
    this.#socket?.send(text);
  }

  close(): void {
    this.#end(new ParleyError("closed", "The client was closed."));
  }

  /** Gives up this connection, and makes another. */
  restart(error: ParleyError): void {
    const socket = this.#socket;
    this.#forget(error);
    socket?.close(GIVEN_UP);
    this.#retry(error);
  }

  // Connecting

  async #connect(): Promise<void> {
    this.#retryTimer = undefined;
    const attempt = ++this.#attempt;
    let token: string | undefined;
    try {
      // Also without one this is not the turn of the constructor: there are listeners now.
      token = await this.#tokens?.forConnect();
    } catch (error) {
      if (attempt === this.#attempt) this.#noToken(error as ParleyError);
      return;
    }
    const { url, key = "" } = this.#options;
    const credential = token === undefined ? `key=${encodeURIComponent(key)}` : `token=${encodeURIComponent(token)}`;
    if (attempt !== this.#attempt) return;
    const address = `${url.replace(/^http/i, "ws").replace(/\/+$/, "")}/v1`;
    this.#debug?.(`connect ${address}`);
    this.#dial(`${address}?${credential}`);
  }

  #dial(url: string): void {
    const { WebSocket = globalThis.WebSocket } = this.#options;
    let socket: Socket;
    try {
      socket = new WebSocket(url);
    } catch {
      // Without the cause, which contains the token.
      return this.#end(
        new ParleyError(
          "unreachable",
          `${this.#options.url} cannot be opened; a page over https: needs an https: url.`,
        ),
      );
    }
    this.#socket = socket;
    this.#connectTimer = setTimeout(
      () => this.restart(new ParleyError("unreachable", "The service did not answer in time.")),
      CONNECT_WITHIN_MS,
    );
    socket.onmessage = ({ data }: { readonly data: unknown }) => this.#socket === socket && this.#received(data);
    const closed = ({ code, reason }: Closing): unknown =>
      this.#socket === socket && void this.#closed(code, closeError(code, reason), url);
    socket.onclose = closed;
    // A close follows, except in Node 22 when the connect was refused.
    socket.onerror = () => this.isConnected || closed({ code: 1006, reason: "" });
  }

  #noToken(error: ParleyError): void {
    if (error.code === "no_token") return this.#end(error);
    this.#events.error(error);
    this.#retry(error);
  }

  #received(data: unknown): void {
    this.#heardMs = performance.now();
    clearTimeout(this.#pongTimer);
    this.#pongTimer = undefined;
    try {
      this.#read(String(data));
    } catch (cause) {
      if (cause instanceof SyntaxError) return;
      // Thrown from here it would end a program of Node.
      this.#events.error(new ParleyError("internal_error", "A frame from the service could not be read.", { cause }));
    }
  }

  #read(text: string): void {
    const frame: Frame | null = JSON.parse(text);
    if (!frame?.type) return;
    this.#debug?.(frameLine("←", frame));
    if (frame.type === "welcome") this.#welcomed(frame as unknown as Welcome);
    else {
      if (frame.type === "going_away") this.#retryAfterMs = boundedRetryAfter(Number(frame.retryAfterMs));
      this.#events.frame(frame, text.length);
    }
  }

  #welcomed(welcome: Welcome): void {
    if (this.isConnected) return;
    clearTimeout(this.#connectTimer);
    this.isConnected = true;
    this.#welcomedMs = this.#steadyMs();
    this.#welcome = welcome;
    if (typeof welcome.expiresAt === "number") this.#tokenLasts(welcome.expiresAt);
    this.#events.welcome(welcome);
    if (this.isConnected) this.#show({ state: "connected" });
  }

  // Ending

  async #closed(code: number, error: ParleyError, url: string): Promise<void> {
    const { isConnected } = this;
    this.#forget(error);
    if (isFinalClose(code)) return this.#end(error);
    if (isConnected || code >= SERVICE_CODES_FROM) return this.#retry(error);
    this.#asking = new AbortController();
    const timer = setTimeout(() => this.#asking?.abort(), CONNECT_WITHIN_MS);
    const refusal = await whyRefused(url, this.#asking.signal);
    clearTimeout(timer);
    if (refusal.isCredential && !this.#tokens?.refused()) return this.#end(refusal.error);
    this.#retryAfterMs = refusal.retryAfterMs;
    this.#retry(refusal.error);
  }

  #retry(error: ParleyError): void {
    if (this.status.state === "closed" || this.#retryTimer) return;
    const mostMs = Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** this.#failures++);
    this.#notBeforeMs = performance.now() + this.#retryAfterMs;
    // Full jitter, so that the clients of a node that has restarted do not come back at the same moment.
    const retryInMs = this.#retryAfterMs + Math.random() * mostMs;
    this.#retryTimer = setTimeout(() => void this.#connect(), retryInMs);
    this.#retryAfterMs = 0;
    const state = this.status.state === "connecting" ? "connecting" : "reconnecting";
    this.#show({ state, error, retryInMs });
  }

  #end(error: ParleyError): void {
    if (this.status.state === "closed") return;
    const socket = this.#socket;
    this.#attempt++;
    this.status = { state: "closed", error };
    clearTimeout(this.#retryTimer);
    this.#endWake?.();
    this.#asking?.abort();
    this.#tokens?.close();
    this.#forget(error);
    this.#show(this.status);
    socket?.close(GOODBYE);
  }

  /** From here on the socket is none of ours. */
  #forget(error: ParleyError): void {
    const { isConnected } = this;
    this.#socket = undefined;
    this.isConnected = false;
    for (const timer of [this.#connectTimer, this.#renewTimer, this.#pongTimer]) clearTimeout(timer);
    this.#pongTimer = undefined;
    if (!isConnected) return;
    if (this.#steadyMs() - this.#welcomedMs > STABLE_MS) this.#failures = 0;
    this.#events.lost(error);
  }

  // Staying connected

  #look(): void {
    if (this.isConnected && performance.now() - this.#heardMs > PING_AFTER_MS) this.#ping(PONG_WITHIN_MS);
  }

  #ping(withinMs: number): void {
    if (this.#pongTimer) return;
    this.send('{"type":"ping"}', { type: "ping" });
    const byMs = this.#steadyMs() + withinMs;
    const error = new ParleyError("connection_lost", "The connection was silent for too long.");
    // A timer that is late itself was asleep: the pong may have come, and wait to be read.
    this.#pongTimer = setTimeout(
      () => (this.#steadyMs() - byMs > LATE_MS ? this.#wake() : this.restart(error)),
      withinMs,
    );
  }

  /** The network is back, the page is visible again, or the machine has slept. */
  #wake(): void {
    if (this.isConnected) {
      // A timer of before the sleep would end the connection before the pong can come.
      clearTimeout(this.#pongTimer);
      this.#pongTimer = undefined;
      this.#ping(PONG_AFTER_WAKE_MS);
    } else if (this.#retryTimer) {
      clearTimeout(this.#retryTimer);
      this.#failures = 0;
      this.#retryTimer = setTimeout(() => void this.#connect(), this.#notBeforeMs - performance.now());
    }
  }

  /** `expiresAt` is in seconds of the service's clock. */
  #tokenLasts(expiresAt: number): void {
    const leftMs = this.#leftMs(expiresAt);
    this.#tokens?.accepted(leftMs);
    // A little earlier by chance, because many tokens may have been made in the same moment.
    this.#renewIn(leftMs - Math.min(RENEW_BEFORE_MS, leftMs / 3) * (1 + Math.random() / 4), "renew", expiresAt);
  }

  /** At least: the service's clock is in whole seconds, and may have been almost a second further. */
  #leftMs(expiresAt: number): number {
    return (expiresAt - (this.#welcome?.serverTime ?? 0) - 1) * 1000 - (this.#steadyMs() - this.#welcomedMs);
  }

  #renewIn(ms: number, reason: TokenReason, expiresAt: number): void {
    clearTimeout(this.#renewTimer);
    // A token that has ended already must not be asked for in a loop.
    this.#renewTimer = setTimeout(() => void this.#renew(reason, expiresAt), Math.max(RENEW_AGAIN_MIN_MS, ms));
  }

  async #renew(reason: TokenReason, expiresAt: number): Promise<void> {
    const socket = this.#socket;
    const tokens = this.#tokens;
    try {
      const token = await tokens?.ask(reason);
      // Without this feature the service ends the connection when the old token ends, and the new one is used to come back.
      if (token === undefined || !this.#welcome?.features?.includes("renew")) return;
      const renewed = await this.#events.renew(token);
      if (this.#socket === socket && typeof renewed.expiresAt === "number") this.#tokenLasts(renewed.expiresAt);
    } catch (error) {
      if (this.#socket !== socket || !socket) return;
      const { code } = error as ParleyError;
      if (code === "no_token") return this.#end(error as ParleyError);
      // It is used for a connect instead.
      if (code === "message_too_large") return;
      const isRefused = code === "invalid_token" || code === "token_expired";
      if (isRefused) tokens?.refused();
      this.#events.error(error as ParleyError);
      const againMs = Math.min(RENEW_AGAIN_MAX_MS, this.#leftMs(expiresAt) / 3);
      this.#renewIn(againMs, isRefused ? "refused" : "renew", expiresAt);
    }
  }

  #show(status: Status): void {
    this.#debug?.(statusLine(status));
    this.status = status;
    this.#events.status(status);
  }
}

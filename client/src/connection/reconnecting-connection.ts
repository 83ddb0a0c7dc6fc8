/**
 * Keeps one connection to the service: connects, notices when it is dead, and comes back.
 *
 *     connecting → connected → reconnecting → connected …
 *          └──────────┴─────────────┴───────→ closed
 *
 * The first connect is retried by the same rule as every later one. Only a close code or a refusal that is final ends it.
 */
import type { Closing } from "../../../src/protocol/close.ts";
import { isFinalClose, PUT_OUT_CODE } from "../../../src/protocol/final-close.ts";
import { ParleyError } from "../events/errors.ts";
import type { Frame, Welcome } from "../events/frames.ts";
import type { Status } from "../events/types.ts";
import { isBlocked, setBlocked } from "./blocked.ts";
import type { ConnectionEvents } from "./connection-events.ts";
import { type Debug, debugOf, frameLine, statusLine, traced } from "./debug.ts";
import { HttpLink } from "./http-link.ts";
import type { ConnectionOptions, Socket, WebSocketClass } from "./options.ts";
import { boundedRetryAfter, closeError, whyRefused } from "./refusal.ts";
import { Renewals } from "./renewals.ts";
import { steadyClock } from "./steady-clock.ts";
import { Tokens } from "./tokens.ts";
import { onWake } from "./wake.ts";
import { WayBack } from "./way-back.ts";

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
/** Sent when the client itself gives up a connection: not a goodbye, so that members stay where the service allows it. */
const GIVEN_UP = 4000;
const GOODBYE = 1000;
/** Below it are the codes of WebSocket itself, which runtimes also use for a refused handshake. */
const SERVICE_CODES_FROM = 4000;
const ABNORMAL = 1006;
/** WebSockets that the network cuts within this time count as blocked, if three in a row are. */
const SHORT_MS = 10_000;
const SHORT_MAX = 3;

type Timer = ReturnType<typeof setTimeout>;

export class ReconnectingConnection {
  readonly #options: ConnectionOptions;
  readonly #events: ConnectionEvents;
  status: Status = { state: "connecting" };
  isConnected = false;
  readonly #tokens: Tokens | undefined;
  readonly #debug: Debug;
  readonly #renewals: Renewals | undefined;
  readonly #wayBack: WayBack | undefined;
  readonly #address: string;
  /** With the credential. */
  #url = "";
  #socket: Socket | undefined;
  readonly #WebSocket: WebSocketClass;
  readonly #isAuto: boolean;
  #isHttp = false;
  /** WebSockets in a row that were cut soon. */
  #shorts = 0;
  /** What belongs to an earlier attempt, and ends late, changes nothing. */
  #attempt = 0;
  #endWake: (() => void) | undefined;
  #asking: AbortController | undefined;
  /** Failed attempts in a row. */
  #failures = 0;
  #retryAfterMs = 0;
  #retryTimer: Timer | undefined;
  #connectTimer: Timer | undefined;
  #pongTimer: Timer | undefined;
  // Times of a clock that is never set: a change of the clock on the wall must not keep a dead connection alive.
  #notBeforeMs = 0;
  readonly #steadyMs = steadyClock();
  /** Steady ms. */
  #welcomedMs = 0;
  #heardMs = 0;

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#options = options;
    this.#events = events;
    this.#debug = debugOf(options);
    const { transport = "auto", WebSocket = globalThis.WebSocket } = options;
    this.#isAuto = transport === "auto";
    // Node 20 has none.
    this.#WebSocket = WebSocket;
    this.#address = `${options.url.replace(/^http/i, "ws").replace(/\/+$/, "")}/v1`;
    if (!options.token) return;
    this.#tokens = new Tokens(traced(options.token, this.#debug));
    this.#renewals = new Renewals({
      ...events,
      tokens: this.#tokens,
      steadyMs: this.#steadyMs,
      end: (error) => this.#end(error),
    });
    if (!this.#isAuto) return;
    this.#wayBack = new WayBack({
      dial: () => this.#dial(this.#attempt).catch(() => undefined),
      failed: () => setBlocked(this.#address, true),
      settled: events.settled,
      take: (socket, frames) => this.#take(socket, frames),
    });
  }

  open(): void {
    if (this.status.state === "closed") return;
    if (this.#endWake) return this.isConnected ? undefined : this.#wake();
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
    this.#isHttp = this.#isAuto ? !this.#WebSocket || isBlocked(this.#address) : this.#options.transport === "http";
    try {
      const socket = await this.#dial(attempt, this.#isHttp);
      if (socket) this.#use(socket);
    } catch (error) {
      if (attempt === this.#attempt) this.#notDialled(error as ParleyError);
    }
  }

  /** Also without a token this is not the turn of the constructor: there are listeners now. */
  async #dial(attempt: number, isHttp = false): Promise<Socket | undefined> {
    const { url, key = "" } = this.#options;
    const token = await this.#tokens?.forConnect();
    if (attempt !== this.#attempt) return undefined;
    this.#debug?.(`connect ${this.#address}${isHttp ? " http" : ""}`);
    this.#url = `${this.#address}?${token === undefined ? "key" : "token"}=${encodeURIComponent(token ?? key)}`;
    try {
      return new (isHttp ? HttpLink : this.#WebSocket)(this.#url);
    } catch {
      // Without the cause, which contains the token.
      throw new ParleyError("unreachable", `${url} cannot be opened; a page over https: needs an https: url.`);
    }
  }

  #use(socket: Socket): void {
    this.#socket = socket;
    const closed = ({ code, reason }: Closing, error = closeError(code, reason)): unknown =>
      this.#socket === socket && void this.#closed(code, error);
    this.#connectTimer = setTimeout(() => {
      closed({ code: ABNORMAL, reason: "" }, new ParleyError("unreachable", "The service did not answer in time."));
      socket.close(GIVEN_UP);
    }, CONNECT_WITHIN_MS);
    socket.onmessage = ({ data }: { readonly data: unknown }) => this.#socket === socket && this.#received(data);
    socket.onclose = closed;
    // A close follows, except in Node 22 when the connect was refused.
    socket.onerror = () => this.isConnected || closed({ code: ABNORMAL, reason: "" });
  }

  /** Goes on with this WebSocket instead of the connection over HTTP. */
  #take(socket: Socket, frames: readonly string[]): Socket | undefined {
    const before = this.#socket;
    const error = closeError(GOODBYE, "replaced");
    this.#forget(error);
    this.#isHttp = false;
    setBlocked(this.#address, false);
    this.#use(socket);
    for (const frame of frames) this.#received(frame);
    if (!this.isConnected) this.#show({ state: "reconnecting", error });
    return before;
  }

  #notDialled(error: ParleyError): void {
    if (error.code !== "token_failed") return this.#end(error);
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
    this.#renewals?.begin(welcome);
    if (this.#isHttp) this.#wayBack?.wait();
    this.#events.welcome(welcome);
    if (this.isConnected) this.#show({ state: "connected", transport: this.#isHttp ? "http" : "websocket" });
  }

  // Ending

  async #closed(code: number, error: ParleyError): Promise<void> {
    const { isConnected } = this;
    // In a room, a newer connection of the same stay replaces the one before.
    if (code === PUT_OUT_CODE && this.#wayBack?.take?.()) return;
    if (isConnected && code === ABNORMAL && !this.#isHttp) {
      this.#shorts = this.#steadyMs() - this.#welcomedMs < SHORT_MS ? this.#shorts + 1 : 0;
      if (this.#shorts >= SHORT_MAX) setBlocked(this.#address, true);
    }
    this.#forget(error);
    if (isFinalClose(code)) return this.#end(error);
    if (isConnected || code >= SERVICE_CODES_FROM) return this.#retry(error);
    this.#asking = new AbortController();
    const timer = setTimeout(() => this.#asking?.abort(), CONNECT_WITHIN_MS);
    const refusal = await whyRefused(this.#url, this.#asking.signal);
    clearTimeout(timer);
    if (refusal.isCredential && !this.#tokens?.refused()) return this.#end(refusal.error);
    if (refusal.isUpgrade && this.#isAuto) {
      setBlocked(this.#address, !this.#isHttp);
      if (!this.#isHttp && this.status.state !== "closed") return this.#connect();
    }
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
    clearTimeout(this.#connectTimer);
    clearTimeout(this.#pongTimer);
    this.#renewals?.stop();
    this.#wayBack?.stop();
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
      void this.#wayBack?.go();
    } else if (this.#retryTimer) {
      clearTimeout(this.#retryTimer);
      this.#failures = 0;
      this.#retryTimer = setTimeout(() => void this.#connect(), this.#notBeforeMs - performance.now());
    }
  }

  #show(status: Status): void {
    this.#debug?.(statusLine(status));
    this.status = status;
    this.#events.status(status);
  }
}

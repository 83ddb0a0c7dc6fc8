/** One peer of a fleet. It reconnects as the public SDK does, and reports every event to the checker. */
import { SILENCE_MAX_MS } from "../protocol/limits.ts";
import type { Checker } from "./checker.ts";
import {
  PING_FRAME,
  publishFrame,
  readFrame,
  type ServerFrame,
  sendFrame,
  subscribeFrame,
  unsubscribeFrame,
} from "./frames.ts";
import type { Outcome } from "./stream.ts";
import type { Tally } from "./tally.ts";

/** What all clients of a fleet share. */
export interface ClientContext {
  readonly checker: Checker;
  readonly tally: Tally;
  /** When a client reconnects by itself; "once welcome": only the fleet retries its first connect. */
  readonly reconnect: "never" | "once welcome" | "always";
  /** The address for this client's next attempt, with a new token. */
  readonly addressFor: (client: Client) => string;
  /** The state of a client has changed; the fleet may wait for that. */
  readonly changed: () => void;
  /** A connection ended before its `welcome`. */
  readonly unwelcome?: (client: Client) => void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Bun does not report pings of the server, so the client sends its own to tell a dead connection from an idle one. */
const PING_EVERY_SECONDS = 25;
const SILENCE_MAX_SECONDS = SILENCE_MAX_MS / 1000;
/** The key was revoked, or the backend disconnected this peer. */
const FINAL_CODES: readonly number[] = [4001, 4020];
const TOKEN_ENDED_CODE = 4002;
/** Codes of errors that end a subscription. */
const SUBSCRIPTION_ENDING_CODES: readonly string[] = ["channel_not_authorized", "action_not_permitted"];

/** A request without an answer yet. */
type PendingRequest =
  | { readonly kind: "subscribe" }
  | { readonly kind: "unsubscribe" }
  | { readonly kind: "publish"; readonly channel: string; readonly number: number }
  | { readonly kind: "send"; readonly peer: string; readonly number: number };

export class Client {
  /** Connects that failed or ended since the start: every attempt goes to the next address. */
  tries = 0;
  /** Why the service refuses this client for good; undefined if it does not. */
  refusal: string | undefined;
  /** It has been connected at least once; until then the fleet decides when it retries. */
  wasWelcome = false;
  private socket: WebSocket | undefined;
  /** The checker's id of the connection; undefined before the welcome and after the end. */
  private connection: number | undefined;
  private isSubscribed = false;
  private isJoining = false;
  private hasRoster = false;
  private isStopped = false;
  private failures = 0;
  private advisedPauseMs: number | undefined;
  private timer: Timer | undefined;
  private requests = 0;
  private readonly pending = new Map<string, PendingRequest>();
  private silentSeconds = 0;
  private seconds = 0;

  constructor(
    readonly index: number,
    readonly peer: string,
    readonly channel: string,
    private readonly context: ClientContext,
  ) {}

  /** Subscribed, and has its roster. */
  get isListening(): boolean {
    return this.isSubscribed && this.hasRoster;
  }

  get isGone(): boolean {
    return this.socket === undefined;
  }

  connect(): void {
    const socket = new WebSocket(this.context.addressFor(this));
    this.socket = socket;
    this.silentSeconds = this.seconds = 0;
    socket.onmessage = ({ data }) => {
      this.silentSeconds = 0;
      this.handle(readFrame(String(data)));
    };
    socket.onclose = ({ code }) => this.ended(code);
    // A close event follows every error and is handled there.
    socket.onerror = () => undefined;
  }

  publish(channel: string): void {
    const { checker } = this.context;
    if (this.connection === undefined) return;
    const number = checker.publishing(this.connection, channel);
    const requestId = this.register({ kind: "publish", channel, number });
    this.socket?.send(publishFrame(channel, { connection: this.connection, number }, requestId));
  }

  sendTo(peer: string): void {
    const { checker } = this.context;
    if (this.connection === undefined) return;
    const number = checker.sending(this.connection, peer);
    const requestId = this.register({ kind: "send", peer, number });
    this.socket?.send(sendFrame(peer, { connection: this.connection, number }, requestId));
  }

  get isConnected(): boolean {
    return this.connection !== undefined;
  }

  /** Unsubscribes from its channel, and stays connected. */
  leave(): void {
    if (this.connection === undefined || !this.isSubscribed) return;
    this.context.checker.unsubscribed(this.connection, this.channel);
    this.isSubscribed = this.hasRoster = false;
    this.socket?.send(unsubscribeFrame(this.channel, this.register({ kind: "unsubscribe" })));
  }

  /** Subscribes to its channel unless it has already. */
  join(): void {
    if (this.connection === undefined || this.isSubscribed || this.isJoining) return;
    this.isJoining = true;
    this.context.checker.subscribing(this.connection, this.channel);
    this.socket?.send(subscribeFrame(this.channel, this.register({ kind: "subscribe" })));
  }

  /** Called once per second. */
  tick(): void {
    if (!this.socket) return;
    this.silentSeconds++;
    this.seconds++;
    if (this.silentSeconds > SILENCE_MAX_SECONDS) this.socket.terminate();
    else if (this.connection !== undefined && this.seconds % PING_EVERY_SECONDS === 0) this.socket.send(PING_FRAME);
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.socket?.close(1000);
  }

  terminate(): void {
    this.socket?.terminate();
  }

  private register(request: PendingRequest): string {
    const requestId = String(++this.requests);
    this.pending.set(requestId, request);
    if (isMessage(request)) this.context.tally.sent++;
    return requestId;
  }

  private handle(frame: ServerFrame): void {
    const { checker, tally, changed } = this.context;
    if (frame.type === "welcome") return this.welcomed();
    if (this.connection === undefined) return;
    switch (frame.type) {
      case "message":
        return checker.message(this.connection, frame.channel, frame.from, frame.mark);
      case "direct":
        return checker.direct(this.connection, frame.from, frame.mark);
      case "ack":
        return this.answered(this.connection, frame.requestId, undefined, "");
      case "error":
        return this.answered(this.connection, frame.requestId, frame.code, frame.message);
      case "presence":
        tally.presenceFrames++;
        checker.presence(this.connection, frame.channel, frame);
        if (frame.snapshot) this.hasRoster = true;
        return changed();
      case "going_away":
        this.advisedPauseMs = frame.retryAfterMs;
        return;
      case "other":
        return;
    }
  }

  private welcomed(): void {
    const { checker, tally } = this.context;
    if (this.connection !== undefined) return;
    this.connection = checker.opened(this.peer);
    this.failures = 0;
    if (this.wasWelcome) tally.reconnects++;
    this.wasWelcome = true;
    this.join();
  }

  private answered(connection: number, requestId: string, code: string | undefined, message: string): void {
    const { checker, tally, changed } = this.context;
    const request = this.pending.get(requestId);
    if (!request)
      return requestId === "" && code !== undefined
        ? this.notified(connection, code, message)
        : checker.unasked(connection, requestId);
    this.pending.delete(requestId);
    if (request.kind === "unsubscribe") return changed();
    if (request.kind === "subscribe") {
      this.isJoining = false;
      if (code === undefined) {
        this.isSubscribed = true;
        checker.subscribed(connection, this.channel);
      } else this.refusal = `subscribing to ${this.channel} was refused: ${code}: ${message}`;
      return changed();
    }
    const outcome = outcomeOf(request.kind, code);
    tally[outcome]++;
    if (code !== undefined) tally.error(code);
    if (request.kind === "publish") checker.published(connection, request.channel, request.number, outcome);
    else checker.sent(connection, request.peer, request.number, outcome);
  }

  /** An error without a request id is a notification. It may say that an edit of the key has ended the subscription. */
  private notified(connection: number, code: string, message: string): void {
    if (!SUBSCRIPTION_ENDING_CODES.includes(code) || !message.includes(JSON.stringify(this.channel))) return;
    this.context.checker.unsubscribed(connection, this.channel);
    this.isSubscribed = this.hasRoster = false;
    this.context.changed();
  }

  private ended(code: number): void {
    const { checker, tally, reconnect, changed } = this.context;
    const isUnwelcome = this.connection === undefined;
    if (this.connection === undefined) this.failures++;
    else {
      checker.closed(this.connection);
      if (!this.isStopped) tally.closed(code);
    }
    for (const request of this.pending.values()) if (isMessage(request)) tally.unknown++;
    this.pending.clear();
    this.tries++;
    this.socket = this.connection = undefined;
    this.isSubscribed = this.hasRoster = this.isJoining = false;
    if (FINAL_CODES.includes(code)) this.refusal = `the service closed it permanently: ${code}`;
    const willReconnect = reconnect === "always" || (reconnect === "once welcome" && this.wasWelcome);
    if (willReconnect && !this.isStopped && this.refusal === undefined)
      this.timer = setTimeout(() => this.connect(), this.pauseMs(code));
    this.advisedPauseMs = undefined;
    if (isUnwelcome) this.context.unwelcome?.(this);
    changed();
  }

  /** The rules of docs/presence-and-reconnect.md, "for authors of clients", 5 and 6. */
  private pauseMs(code: number): number {
    if (code === TOKEN_ENDED_CODE) return 0;
    const growing = Math.min(FIRST_PAUSE_MS * 2 ** this.failures, LONGEST_PAUSE_MS);
    return (this.advisedPauseMs ?? growing) * (0.5 + Math.random() / 2);
  }
}

const isMessage = ({ kind }: PendingRequest): boolean => kind === "publish" || kind === "send";

/** `backend_error` of a publish means that nothing was delivered; of a send, that the outcome is unknown. */
function outcomeOf(kind: "publish" | "send", code: string | undefined): Outcome {
  if (code === undefined) return "acked";
  if (code === "internal_error" || (kind === "send" && code === "backend_error")) return "unknown";
  return "refused";
}

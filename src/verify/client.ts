/** One peer of a fleet: a connection, and after its end another, as the public SDK would do it. Tells the checker everything. */
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
export interface Surroundings {
  readonly checker: Checker;
  readonly tally: Tally;
  /** When a client comes back by itself; "once welcome": its first connect is tried again by the fleet alone. */
  readonly reconnect: "never" | "once welcome" | "always";
  /** The address for this client's next try, with a fresh token. */
  readonly addressFor: (client: Client) => string;
  /** Something happened that somebody may wait for. */
  readonly changed: () => void;
  /** A connection ended without a welcome. */
  readonly unwelcome?: (client: Client) => void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Bun shows us no pings, so we make our own noise to tell silence from an idle channel. */
const PING_EVERY_SECONDS = 25;
const SILENCE_MAX_SECONDS = SILENCE_MAX_MS / 1000;
/** The key was revoked; the backend closed this peer. */
const FINAL_CODES: readonly number[] = [4001, 4020];
const TOKEN_ENDED_CODE = 4002;
/** Of an error that says that a subscription has ended. */
const SUBSCRIPTION_ENDING_CODES: readonly string[] = ["channel_not_authorized", "action_not_permitted"];

/** What was asked and not answered yet. */
type Asked =
  | { readonly kind: "subscribe" }
  | { readonly kind: "unsubscribe" }
  | { readonly kind: "publish"; readonly channel: string; readonly number: number }
  | { readonly kind: "send"; readonly peer: string; readonly number: number };

export class Client {
  /** Connects that failed or ended since the start: every try goes to another address. */
  tries = 0;
  /** Why the service does not take it; undefined: it does, as far as is known. */
  refusal: string | undefined;
  /** It has been connected at least once; until then the fleet decides when it tries again. */
  wasWelcome = false;
  private socket: WebSocket | undefined;
  /** The checker's name for the connection; undefined before the welcome and after the end. */
  private connection: number | undefined;
  private isSubscribed = false;
  private isJoining = false;
  private hasRoster = false;
  private isStopped = false;
  private failures = 0;
  private advisedPauseMs: number | undefined;
  private timer: Timer | undefined;
  private requests = 0;
  private readonly asked = new Map<string, Asked>();
  private silentSeconds = 0;
  private seconds = 0;

  constructor(
    readonly index: number,
    readonly peer: string,
    readonly channel: string,
    private readonly around: Surroundings,
  ) {}

  /** Subscribed, and told who is there. */
  get isListening(): boolean {
    return this.isSubscribed && this.hasRoster;
  }

  get isGone(): boolean {
    return this.socket === undefined;
  }

  get waitsForAnswers(): boolean {
    return this.asked.size > 0;
  }

  connect(): void {
    const socket = new WebSocket(this.around.addressFor(this));
    this.socket = socket;
    this.silentSeconds = this.seconds = 0;
    socket.onmessage = ({ data }) => {
      this.silentSeconds = 0;
      this.hear(readFrame(String(data)));
    };
    socket.onclose = ({ code }) => this.ended(code);
    // The close that follows says all there is to say.
    socket.onerror = () => undefined;
  }

  publish(channel: string): void {
    const { checker } = this.around;
    if (this.connection === undefined) return;
    const number = checker.publishing(this.connection, channel);
    const requestId = this.ask({ kind: "publish", channel, number });
    this.socket?.send(publishFrame(channel, { connection: this.connection, number }, requestId));
  }

  sendTo(peer: string): void {
    const { checker } = this.around;
    if (this.connection === undefined) return;
    const number = checker.sending(this.connection, peer);
    const requestId = this.ask({ kind: "send", peer, number });
    this.socket?.send(sendFrame(peer, { connection: this.connection, number }, requestId));
  }

  get isConnected(): boolean {
    return this.connection !== undefined;
  }

  /** Leaves its channel, and stays connected. */
  leave(): void {
    if (this.connection === undefined || !this.isSubscribed) return;
    this.around.checker.unsubscribed(this.connection, this.channel);
    this.isSubscribed = this.hasRoster = false;
    this.socket?.send(unsubscribeFrame(this.channel, this.ask({ kind: "unsubscribe" })));
  }

  /** Subscribes to its channel, where it does not. */
  join(): void {
    if (this.connection === undefined || this.isSubscribed || this.isJoining) return;
    this.isJoining = true;
    this.around.checker.subscribing(this.connection, this.channel);
    this.socket?.send(subscribeFrame(this.channel, this.ask({ kind: "subscribe" })));
  }

  /** Once a second. */
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

  private ask(asked: Asked): string {
    const requestId = String(++this.requests);
    this.asked.set(requestId, asked);
    if (isMessage(asked)) this.around.tally.sent++;
    return requestId;
  }

  private hear(frame: ServerFrame): void {
    const { checker, tally, changed } = this.around;
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
    const { checker, tally } = this.around;
    if (this.connection !== undefined) return;
    this.connection = checker.opened(this.peer);
    this.failures = 0;
    if (this.wasWelcome) tally.reconnects++;
    this.wasWelcome = true;
    this.join();
  }

  private answered(connection: number, requestId: string, code: string | undefined, message: string): void {
    const { checker, tally, changed } = this.around;
    const asked = this.asked.get(requestId);
    if (!asked)
      return requestId === "" && code !== undefined
        ? this.informed(connection, code, message)
        : checker.unasked(connection, requestId);
    this.asked.delete(requestId);
    if (asked.kind === "unsubscribe") return changed();
    if (asked.kind === "subscribe") {
      this.isJoining = false;
      if (code === undefined) {
        this.isSubscribed = true;
        checker.subscribed(connection, this.channel);
      } else this.refusal = `subscribing to ${this.channel} was refused: ${code}: ${message}`;
      return changed();
    }
    const outcome = outcomeOf(asked.kind, code);
    tally[outcome]++;
    if (code !== undefined) tally.error(code);
    if (asked.kind === "publish") checker.published(connection, asked.channel, asked.number, outcome);
    else checker.sent(connection, asked.peer, asked.number, outcome);
  }

  /** An error that answers nothing is news. One of them: an edit of the key has ended the subscription. */
  private informed(connection: number, code: string, message: string): void {
    if (!SUBSCRIPTION_ENDING_CODES.includes(code) || !message.includes(JSON.stringify(this.channel))) return;
    this.around.checker.unsubscribed(connection, this.channel);
    this.isSubscribed = this.hasRoster = false;
    this.around.changed();
  }

  private ended(code: number): void {
    const { checker, tally, reconnect, changed } = this.around;
    const isUnwelcome = this.connection === undefined;
    if (this.connection === undefined) this.failures++;
    else {
      checker.closed(this.connection);
      if (!this.isStopped) tally.closed(code);
    }
    for (const asked of this.asked.values()) if (isMessage(asked)) tally.unknown++;
    this.asked.clear();
    this.tries++;
    this.socket = this.connection = undefined;
    this.isSubscribed = this.hasRoster = this.isJoining = false;
    if (FINAL_CODES.includes(code)) this.refusal = `the service closed it for good: ${code}`;
    const comesBack = reconnect === "always" || (reconnect === "once welcome" && this.wasWelcome);
    if (comesBack && !this.isStopped && this.refusal === undefined)
      this.timer = setTimeout(() => this.connect(), this.pauseMs(code));
    this.advisedPauseMs = undefined;
    if (isUnwelcome) this.around.unwelcome?.(this);
    changed();
  }

  /** docs/presence-and-reconnect.md, for authors of clients, 5 and 6. */
  private pauseMs(code: number): number {
    if (code === TOKEN_ENDED_CODE) return 0;
    const growing = Math.min(FIRST_PAUSE_MS * 2 ** this.failures, LONGEST_PAUSE_MS);
    return (this.advisedPauseMs ?? growing) * (0.5 + Math.random() / 2);
  }
}

const isMessage = ({ kind }: Asked): boolean => kind === "publish" || kind === "send";

/** `backend_error` of a publish says that nothing was delivered; of a send, that nobody knows. */
function outcomeOf(kind: "publish" | "send", code: string | undefined): Outcome {
  if (code === undefined) return "acked";
  if (code === "internal_error" || (kind === "send" && code === "backend_error")) return "unknown";
  return "refused";
}

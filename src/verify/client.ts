/**
 * One peer of a fleet, which reports every event to the checker. It reconnects by the rules for authors of clients (pauses.ts), not as
 * parley-client does.
 */
import { SILENCE_MAX_MS } from "../protocol/limits.ts";
import type { Checker } from "./checker.ts";
import {
  type AckFields,
  historyFrame,
  PING_FRAME,
  publishFrame,
  readFrame,
  type ServerFrame,
  sendFrame,
  subscribeFrame,
  unsubscribeFrame,
} from "./frames.ts";
import { FIRST_PAUSE_MS, Pauses } from "./pauses.ts";
import {
  FINAL_CODES,
  isMessage,
  outcomeOf,
  PASSING_CODES,
  type PendingRequest,
  SUBSCRIPTION_ENDING_CODE,
} from "./requests.ts";
import { idOf, Retries, type Retry } from "./retries.ts";
import type { Tally } from "./tally.ts";

/** What all clients of a fleet share. */
export interface ClientContext {
  readonly checker: Checker;
  readonly tally: Tally;
  /** When a client reconnects by itself; "once welcome": only the fleet retries its first connect. */
  readonly reconnect: "never" | "once welcome" | "always";
  /** The address for this client's next attempt, with a new token. */
  readonly addressFor: (client: Client) => string;
  /** Makes published messages longer. */
  readonly padding?: string | undefined;
  /** The state of a client has changed; the fleet may wait for that. */
  readonly changed: () => void;
  /** A connection ended before its `welcome`. */
  readonly unwelcome?: (client: Client) => void;
}

/** Bun does not report pings of the server, so the client sends its own to tell a dead connection from an idle one. */
const PING_EVERY_SECONDS = 25;
const SILENCE_MAX_SECONDS = SILENCE_MAX_MS / 1000;
/** As WebSocket clients report a connection that ended without a close frame. */
const LOST_CODE = 1006;

export class Client {
  /** Connects that failed or ended since the start: every attempt goes to the next address. */
  tries = 0;
  /** Why the service refuses this client for good, or why its first subscribe failed; undefined if neither is so. */
  refusal: string | undefined;
  /** It has been connected at least once; until then the fleet decides when it retries. */
  wasWelcome = false;
  private wasSubscribed = false;
  private socket: WebSocket | undefined;
  /** The checker's id of the connection; undefined before the welcome and after the end. */
  private connection: number | undefined;
  /** The id that the service gave this connection. */
  private wireId = "";
  /** The last position that was seen in its channel, if that has history, and the last connection that was subscribed. */
  private position: string | undefined;
  private subscribedOn: { readonly connection: number; readonly wireId: string } | undefined;
  private readonly retries = new Retries();
  private isSubscribed = false;
  private isJoining = false;
  private hasRoster = false;
  private isStopped = false;
  private readonly pauses = new Pauses();
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
    const mark = { connection: this.connection, number: checker.publishing(this.connection, channel) };
    this.sendPublish({ channel, mark, sinceMs: performance.now() }, false);
  }

  sendTo(peer: string): void {
    const { checker } = this.context;
    if (this.connection === undefined) return;
    const number = checker.sending(this.connection, peer);
    const requestId = this.register({ kind: "send", peer, number });
    this.socket?.send(sendFrame(peer, { connection: this.connection, number }, requestId));
  }

  /** Publishes wait to be repeated. */
  get isRetrying(): boolean {
    return !this.retries.isEmpty;
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
    const { position, subscribedOn } = this;
    const requestId = this.register({ kind: "subscribe" });
    if (position === undefined) {
      this.context.checker.subscribing(this.connection, this.channel);
      this.socket?.send(subscribeFrame(this.channel, requestId));
      return;
    }
    this.context.checker.subscribing(this.connection, this.channel, {
      pos: position,
      without: subscribedOn?.connection,
    });
    const resume = { recover: position, connection: subscribedOn?.wireId };
    this.socket?.send(subscribeFrame(this.channel, requestId, resume));
  }

  /** Called once per second. */
  tick(): void {
    if (!this.socket) return;
    this.silentSeconds++;
    this.seconds++;
    if (this.silentSeconds > SILENCE_MAX_SECONDS) this.terminate();
    else if (this.connection !== undefined && this.seconds % PING_EVERY_SECONDS === 0) this.socket.send(PING_FRAME);
    if (this.isSubscribed) for (const retry of this.retries.take(performance.now())) this.sendPublish(retry, true);
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.timer);
    this.socket?.close(1000);
  }

  /** Ends the connection without a goodbye, as when a link breaks. */
  terminate(): void {
    const { socket } = this;
    if (!socket) return;
    // Bun may report the end seconds later, and until then the client would not reconnect.
    socket.onmessage = socket.onclose = null;
    socket.terminate();
    this.ended(LOST_CODE);
  }

  private sendPublish({ channel, mark, sinceMs }: Retry, isRetry: boolean): void {
    const { checker, tally, padding } = this.context;
    if (this.connection === undefined) return;
    if (isRetry) {
      tally.retries++;
      checker.retrying(this.connection, channel, mark);
    }
    const requestId = this.register({ kind: "publish", channel, mark, sinceMs, isRetry });
    const id = checker.hasHistory(channel) ? idOf(mark) : undefined;
    this.socket?.send(publishFrame(channel, mark, requestId, { id, padding }));
  }

  private register(request: PendingRequest): string {
    const requestId = String(++this.requests);
    this.pending.set(requestId, request);
    if (isMessage(request)) this.context.tally.sent++;
    return requestId;
  }

  private handle(frame: ServerFrame): void {
    const { checker, tally, changed } = this.context;
    if (frame.type === "welcome") return this.welcomed(frame.connection);
    if (this.connection === undefined) return;
    switch (frame.type) {
      case "message":
        if (this.isSubscribed && frame.stored) this.position = frame.stored.pos;
        return checker.message(this.connection, frame.channel, frame.from, frame.mark, frame.stored);
      case "direct":
        return checker.direct(this.connection, frame.from, frame.mark);
      case "ack":
        return this.answered(this.connection, frame.requestId, frame);
      case "error":
        return this.answered(this.connection, frame.requestId, undefined, frame.code, frame.message);
      case "presence":
        tally.presenceFrames++;
        checker.presence(this.connection, frame.channel, frame);
        if (frame.snapshot) this.hasRoster = true;
        return changed();
      case "history":
        this.pending.delete(frame.requestId);
        return checker.page(this.connection, this.channel, frame.entries);
      case "going_away":
        this.pauses.advise(frame.retryAfterMs);
        return;
      case "other":
        return;
    }
  }

  private welcomed(wireId: string): void {
    const { checker, tally } = this.context;
    if (this.connection !== undefined) return;
    this.connection = checker.opened(this.peer);
    this.wireId = wireId;
    this.pauses.welcomed();
    if (this.wasWelcome) tally.reconnects++;
    this.wasWelcome = true;
    this.join();
  }

  /** `ack` is undefined for an error, which has a code. */
  private answered(connection: number, requestId: string, ack: AckFields | undefined, code = "", message = ""): void {
    const { checker, tally, changed, reconnect } = this.context;
    const request = this.pending.get(requestId);
    if (!request)
      return requestId === "" && !ack
        ? this.notified(connection, code, message)
        : checker.unasked(connection, requestId);
    this.pending.delete(requestId);
    if (request.kind === "unsubscribe" || request.kind === "history") return changed();
    if (request.kind === "subscribe") {
      this.isJoining = false;
      if (ack) this.subscribed(connection, ack);
      else if (PASSING_CODES.includes(code) && (this.wasSubscribed || reconnect === "always"))
        this.timer = setTimeout(() => this.join(), FIRST_PAUSE_MS);
      else this.refusal = `subscribing to ${this.channel} was refused: ${code}: ${message}`;
      return changed();
    }
    if (!ack) tally.error(code);
    if (request.kind === "publish") return this.publishAnswered(connection, request, ack, code);
    // After `backend_error` it may have been delivered all the same (UNAVAILABLE in engine.ts).
    const outcome = ack ? "acked" : PASSING_CODES.includes(code) ? "unknown" : "refused";
    tally[outcome]++;
    checker.sent(connection, request.peer, request.number, outcome);
  }

  private subscribed(connection: number, { pos, recovered, replay }: AckFields): void {
    this.isSubscribed = this.wasSubscribed = true;
    this.subscribedOn = { connection, wireId: this.wireId };
    // After a recovery the position moves with the replayed messages.
    if (recovered !== true) this.position = pos;
    this.context.checker.subscribed(
      connection,
      this.channel,
      pos === undefined ? undefined : { pos, recovered, replay },
    );
    // What it missed is not replayed: a client would show a page of the history instead.
    if (recovered === false) this.socket?.send(historyFrame(this.channel, this.register({ kind: "history" })));
  }

  private publishAnswered(
    connection: number,
    request: Retry & { isRetry: boolean },
    ack: AckFields | undefined,
    code: string,
  ): void {
    const { checker, tally } = this.context;
    const { channel, mark, isRetry } = request;
    const placed = ack?.pos === undefined ? undefined : { pos: ack.pos, isDuplicate: ack.isDuplicate };
    if (ack?.isDuplicate) tally.duplicates++;
    else if (placed && channel === this.channel && this.isSubscribed) this.position = placed.pos;
    const outcome = ack ? "acked" : outcomeOf(code, checker.hasHistory(channel));
    if (outcome === "unknown") this.repeatLater(request);
    if (isRetry) {
      if (ack) checker.retried(connection, channel, mark, placed);
      return;
    }
    tally[outcome]++;
    checker.published(connection, channel, mark.number, outcome, placed);
  }

  private repeatLater({ channel, mark, sinceMs }: Retry): void {
    if (this.context.checker.hasHistory(channel) && !this.isStopped) this.retries.add({ channel, mark, sinceMs });
  }

  /** An error without a request id is a notification. It may say that an edit of the key has ended the subscription. */
  private notified(connection: number, code: string, message: string): void {
    if (code !== SUBSCRIPTION_ENDING_CODE || !message.includes(JSON.stringify(this.channel))) return;
    this.context.checker.unsubscribed(connection, this.channel);
    this.isSubscribed = this.hasRoster = false;
    this.context.changed();
  }

  private ended(code: number): void {
    const { checker, tally, reconnect, changed } = this.context;
    const isUnwelcome = this.connection === undefined;
    if (this.connection === undefined) this.pauses.failed();
    else {
      checker.closed(this.connection);
      if (!this.isStopped) tally.closed(code);
    }
    for (const request of this.pending.values()) {
      if (isMessage(request)) tally.unknown++;
      if (request.kind === "publish") this.repeatLater(request);
    }
    this.pending.clear();
    this.tries++;
    this.socket = this.connection = undefined;
    this.isSubscribed = this.hasRoster = this.isJoining = false;
    if (FINAL_CODES.includes(code)) this.refusal = `the service closed it permanently: ${code}`;
    const willReconnect = reconnect === "always" || (reconnect === "once welcome" && this.wasWelcome);
    if (willReconnect && !this.isStopped && this.refusal === undefined)
      this.timer = setTimeout(() => this.connect(), this.pauses.beforeNext(code));
    this.pauses.ended();
    if (isUnwelcome) this.context.unwelcome?.(this);
    changed();
  }
}

/** The client: one connection, its channels, and direct messages. */
import { Channel, makeRoom, messageKey, randomId } from "./channel.ts";
import { checkOptions } from "./connection/check.ts";
import type { ConnectionOptions } from "./connection/options.ts";
import { ReconnectingConnection } from "./connection/reconnecting-connection.ts";
import { Emitter } from "./events/emitter.ts";
import { type ErrorCode, ParleyError } from "./events/errors.ts";
import type { Frame, Request, Welcome } from "./events/frames.ts";
import type { ChannelOptions } from "./events/message.ts";
import type { Direct, ParleyEvents, Status } from "./events/types.ts";
import type { Outbox, SendOptions } from "./outbox.ts";

export type ParleyOptions = ConnectionOptions & {
  /** Keeps messages while there is no connection: see parley-client/queue. */
  readonly queue?: Outbox;
  /** False: `connect()` connects. */
  readonly autoConnect?: boolean;
};

const ANSWER_WITHIN_MS = 15_000;
/** Requests that wait for an answer. */
const PENDING_MAX = 1000;
/** The service ends a connection whose frame is larger than a message and this. */
const ENVELOPE_BYTES = 2048;
/** For how long the service takes a direct message with the same id for a repeat. */
const REPEATED_WITHIN_MS = 120_000;

interface Pending {
  /** Called before the next frame is read, which a promise is not in every runtime. */
  readonly answered: ((frame: Frame) => void) | undefined;
  readonly resolve: (frame: Frame) => void;
  readonly reject: (error: ParleyError) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

export class Parley extends Emitter<ParleyEvents> {
  readonly #connection: ReconnectingConnection;
  /** Weak: an application may visit any number of names. Those that it neither has nor listens to are forgotten. */
  readonly #channels = new Map<string, WeakRef<Channel>>();
  readonly #forgotten = new FinalizationRegistry<string>((name) => {
    if (!this.#find(name)) this.#channels.delete(name);
  });
  /** @internal Those that something listens to, waits for or has given options, whether or not the application has them. */
  readonly used: Set<Channel> = new Set();
  readonly #pending = new Map<string, Pending>();
  /** By sender and id: until when one on another connection is a repeat. Bound: IDS_MAX in channel.ts. */
  readonly #directs = new Map<string, readonly [untilMs: number, connect: number]>();
  /** Called when nothing waits for an answer. */
  #settled: (() => unknown) | undefined;
  #lastRequest = 0;
  #connects = 0;
  #welcomed: Welcome | undefined;
  /** @internal */
  readonly outbox: Outbox | undefined;

  constructor(options: ParleyOptions) {
    super("parley");
    checkOptions(options);
    this.outbox = options.queue;
    this.outbox?.connected(false);
    this.#connection = new ReconnectingConnection(options, {
      status: (status) => this.#showStatus(status),
      welcome: (welcome) => this.#begin(welcome),
      frame: (frame, length) => this.#received(frame, length),
      lost: (error) => this.#lost(error),
      error: (error) => this.report(error),
      settled: (then) => {
        this.#settled = then;
        this.request({ type: "ping" }).catch(() => undefined);
      },
      renew: (token) => this.request({ type: "renew", token }, ({ metadata }) => this.#renewed(metadata)),
    });
    if (options.autoConnect !== false) this.#connection.open();
  }

  /** Also ends the wait for the next attempt. */
  connect(): void {
    this.#connection.open();
  }

  /** The same object until it changes. */
  get status(): Status {
    return this.#connection.status;
  }

  get isConnected(): boolean {
    return this.#connection.isConnected;
  }

  /** The id of the last connection; a publishable key gets a new one with each. */
  get peerId(): string | undefined {
    return this.#welcomed?.peerId;
  }

  /** What the token carries for this peer alone, such as TURN servers. */
  get metadata(): unknown {
    return this.#welcomed?.metadata;
  }

  /** The same object for the same name. Options of later calls are added; they count when the channel is subscribed to next. */
  channel<T = unknown, M = unknown>(name: string, options?: ChannelOptions): Channel<T, M> {
    let channel = this.#find(name);
    if (!channel) {
      channel = new Channel(name, this);
      this.#channels.set(name, new WeakRef(channel));
      this.#forgotten.register(channel, name);
      if (this.ended) channel.end(this.ended);
    }
    if (options) this.used.add(channel);
    Object.assign(channel.options, options);
    return channel as unknown as Channel<T, M>;
  }

  /**
   * Resolves when the message was handed to a connection of that peer. After `backend_error`, `timeout` or `connection_lost` that is
   * not known: sent again with the same `id` within two minutes, it is delivered once, to each client of that peer.
   */
  async send<T = unknown>(peerId: string, data: T, options: SendOptions = {}): Promise<void> {
    const { id = randomId() } = options;
    const send = (): Promise<Frame> => this.request({ type: "send", to: peerId, data, id });
    // An earlier version of the service delivers a message with the same id again.
    const isIdempotent = (): boolean => this.#welcomed?.features?.includes("send-id") === true;
    await (this.outbox ? this.outbox.add(send, { ...options, isIdempotent }) : send());
  }

  /** For good. What waits for an answer is rejected. */
  close(): void {
    this.#connection.close();
  }

  /** @internal Why there will be no connection any more. */
  get ended(): ParleyError | undefined {
    return this.status.state === "closed" ? this.status.error : undefined;
  }

  /** @internal */
  report(error: ParleyError): void {
    this.emit("error", error);
  }

  /** @internal */
  restart(error: ParleyError): void {
    this.#connection.restart(error);
  }

  /** @internal The answer of the service: its ack, or the frame that carries this request's id. */
  async request(frame: Request, answered?: (answer: Frame) => void): Promise<Frame> {
    if (!this.isConnected) throw this.ended ?? new ParleyError("not_connected", "Not connected at the moment.");
    if (this.#pending.size >= PENDING_MAX)
      throw new ParleyError("queue_full", "Too many requests are waiting for answers.");
    const requestId = (++this.#lastRequest).toString(36);
    const text = JSON.stringify({ ...frame, requestId });
    const maxBytes = (this.#welcomed?.maxMessageSize ?? 0) + ENVELOPE_BYTES;
    if (text.length > maxBytes / 3 && new TextEncoder().encode(text).length > maxBytes)
      throw new ParleyError(
        "message_too_large",
        `A message has at most ${this.#welcomed?.maxMessageSize} bytes as JSON.`,
      );
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(requestId);
        reject(new ParleyError("timeout", "The service did not answer in time."));
      }, ANSWER_WITHIN_MS);
      this.#pending.set(requestId, { answered, resolve, reject, timer });
      this.#connection.send(text, frame);
    });
  }

  #find(name: string): Channel | undefined {
    return this.#channels.get(name)?.deref();
  }

  #begin(welcome: Welcome): void {
    const before = this.#welcomed?.connection;
    this.#welcomed = welcome;
    this.#connects++;
    for (const channel of this.used) channel.connected(before);
    this.emit("welcome", welcome);
  }

  /** Most renewals bring none: what the first token carried stays as it was. */
  #renewed(metadata: unknown): void {
    if (metadata === undefined || !this.#welcomed) return;
    this.#welcomed = { ...this.#welcomed, metadata };
    this.emit("metadata", metadata);
  }

  #received(frame: Frame, length: number): void {
    const { type, requestId } = frame;
    const channel = this.#find(frame.channel ?? "");
    if (requestId !== undefined) this.#answered(requestId, frame);
    else if (type === "direct") this.#direct(frame as unknown as Direct);
    else if (type !== "error") channel?.received(frame, length);
    // A key or token that was narrowed: the subscription has ended.
    else if (channel) channel.refused(errorOf(frame));
    else this.emit("error", errorOf(frame));
  }

  /** The service delivers one that its sender repeats once per connection: after a reconnect it may come again. */
  #direct(direct: Direct): void {
    const { from, id } = direct;
    const key = messageKey(from, id);
    const nowMs = performance.now();
    const [untilMs = 0, connect] = this.#directs.get(key) ?? [];
    // Two on one connection are of two senders that chose the same id.
    if (id !== undefined && nowMs < untilMs && connect !== this.#connects) return;
    makeRoom(this.#directs);
    this.#directs.set(key, [nowMs + REPEATED_WITHIN_MS, this.#connects]);
    this.emit("direct", direct);
  }

  #answered(requestId: string, frame: Frame): void {
    const pending = this.#pending.get(requestId);
    if (!pending) return;
    this.#pending.delete(requestId);
    clearTimeout(pending.timer);
    if (frame.type === "error") pending.reject(errorOf(frame));
    else {
      pending.answered?.(frame);
      pending.resolve(frame);
    }
    if (this.#pending.size > 0) return;
    const settled = this.#settled;
    this.#settled = undefined;
    settled?.();
  }

  #lost(error: ParleyError): void {
    const all = [...this.#pending.values()];
    this.#pending.clear();
    for (const channel of this.used) channel.lost();
    const failure = this.ended ?? new ParleyError("connection_lost", error.message);
    for (const { reject, timer } of all) {
      clearTimeout(timer);
      reject(failure);
    }
  }

  #showStatus(status: Status): void {
    const { ended } = this;
    if (ended) {
      this.outbox?.ended(ended);
      for (const channel of this.#channels.values()) channel.deref()?.end(ended);
    } else this.outbox?.connected(this.isConnected);
    this.emit("status", status);
  }
}

const errorOf = ({ code, message }: Frame): ParleyError =>
  new ParleyError((code ?? "internal_error") as ErrorCode, message ?? "The service refused this.");

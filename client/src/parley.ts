/** The client: one connection, its channels, and direct messages. */
import { Channel, type ChannelOptions } from "./channel.ts";
import { Emitter } from "./emitter.ts";
import { type ErrorCode, ParleyError } from "./errors.ts";
import type { Frame, Request, Welcome } from "./frames.ts";
import { Link, type Status } from "./link.ts";
import type { LinkOptions } from "./options.ts";
import type { Outbox, SendOptions } from "./outbox.ts";

export interface Direct<T = unknown> {
  readonly from: string;
  readonly data: T;
  readonly fromMetadata?: unknown;
  readonly id?: string;
}

export interface ParleyEvents {
  direct: Direct;
  status: Status;
  /** The connection is made: with what the token carries for this peer alone. */
  welcome: Welcome;
  /** Something went wrong that no call was waiting for. */
  error: ParleyError;
}

export type ParleyOptions = LinkOptions & {
  /** Keeps messages while there is no connection: see parley-client/queue. */
  readonly queue?: Outbox;
  /** False: `connect()` connects. */
  readonly autoConnect?: boolean;
};

const ANSWER_MAX_MS = 15_000;
/** Requests that wait for an answer. */
const PENDING_MAX = 1000;

interface Pending {
  readonly resolve: (frame: Frame) => void;
  readonly reject: (error: ParleyError) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

export class Parley extends Emitter<ParleyEvents> {
  private readonly link: Link;
  private readonly channels = new Map<string, Channel>();
  private readonly pending = new Map<string, Pending>();
  private lastRequest = 0;
  private welcomed: Welcome | undefined;
  /** @internal */
  readonly outbox: Outbox | undefined;

  constructor(options: ParleyOptions) {
    super();
    this.outbox = options.queue;
    this.link = new Link(options, {
      status: (status) => this.showStatus(status),
      welcome: (welcome) => this.begin(welcome),
      frame: (frame, length) => this.received(frame, length),
      lost: () => this.lost(),
      error: (error) => this.emit("error", error),
      renew: (token) => this.request({ type: "renew", token }),
    });
    if (options.autoConnect !== false) this.link.open();
  }

  connect(): void {
    this.link.open();
  }

  /** The same object until it changes. */
  get status(): Status {
    return this.link.status;
  }

  get isConnected(): boolean {
    return this.link.isConnected;
  }

  /** Of the last connection; a publishable key gets a new one with each. */
  get peerId(): string | undefined {
    return this.welcomed?.peerId;
  }

  /** What the token carries for this peer alone, such as TURN servers. */
  get metadata(): unknown {
    return this.welcomed?.metadata;
  }

  /** The same object for the same name. Options of later calls are added; they count when the channel is subscribed to next. */
  channel<T = unknown, M = unknown>(name: string, options: ChannelOptions = {}): Channel<T, M> {
    const channel = this.channels.get(name) ?? new Channel(name, this);
    this.channels.set(name, channel);
    Object.assign(channel.options, options);
    return channel as unknown as Channel<T, M>;
  }

  /** Resolves when the message was handed to a connection of that peer. */
  async send<T = unknown>(peerId: string, data: T, options: SendOptions = {}): Promise<void> {
    const { id } = options;
    const send = (): Promise<Frame> =>
      this.request({ type: "send", to: peerId, data, ...(id !== undefined && { id }) });
    await (this.outbox ? this.outbox.add(send, { ...options, isIdempotent: () => false }) : send());
  }

  /** For good. What waits for an answer is rejected. */
  close(): void {
    this.link.close();
  }

  /** @internal The answer of the service: its ack, or the frame that carries this request's id. */
  request(frame: Request): Promise<Frame> {
    if (!this.link.isConnected)
      return Promise.reject(
        this.link.status.state === "closed"
          ? (this.link.status.error ?? closed())
          : new ParleyError("not_connected", "There is no connection at the moment."),
      );
    if (this.pending.size >= PENDING_MAX)
      return Promise.reject(new ParleyError("queue_full", `${PENDING_MAX} requests wait for their answers.`));
    const requestId = (++this.lastRequest).toString(36);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.pending.delete(requestId);
        reject(new ParleyError("timeout", `The service has not answered for ${ANSWER_MAX_MS / 1000} s.`));
      }, ANSWER_MAX_MS);
      this.pending.set(requestId, { resolve, reject, timer });
      this.link.send({ ...frame, requestId });
    });
  }

  private begin(welcome: Welcome): void {
    const before = this.welcomed?.connection;
    this.welcomed = welcome;
    for (const channel of this.channels.values()) channel.connected(before);
    this.emit("welcome", welcome);
  }

  private received(frame: Frame, length: number): void {
    const { type, requestId, channel } = frame;
    const pending = requestId === undefined ? undefined : this.pending.get(requestId);
    if (pending && requestId !== undefined) {
      this.pending.delete(requestId);
      clearTimeout(pending.timer);
      if (type === "error") pending.reject(errorOf(frame));
      else pending.resolve(frame);
    } else if (type === "direct") this.emit("direct", frame as unknown as Direct);
    else if (type === "error") this.emit("error", errorOf(frame));
    else if (channel !== undefined) this.channels.get(channel)?.received(frame, length);
  }

  private lost(): void {
    const all = [...this.pending.values()];
    this.pending.clear();
    for (const channel of this.channels.values()) channel.lost();
    for (const { reject, timer } of all) {
      clearTimeout(timer);
      reject(new ParleyError("connection_lost", "The connection ended before the answer came."));
    }
  }

  private showStatus(status: Status): void {
    const { state, error } = status;
    if (state === "closed") {
      const failure = error ?? closed();
      this.outbox?.ended(failure);
      for (const channel of this.channels.values()) channel.ended(failure);
    } else this.outbox?.connected(state === "connected");
    this.emit("status", status);
  }
}

const closed = (): ParleyError => new ParleyError("closed", "The client was closed.");

const errorOf = ({ code, message }: Frame): ParleyError =>
  new ParleyError((code ?? "internal_error") as ErrorCode, message ?? "The service has refused this.");

/** One channel. It is subscribed to as long as something listens to it. */
import { Emitter } from "./emitter.ts";
import { ParleyError } from "./errors.ts";
import type { Frame, Request } from "./frames.ts";
import type { Outbox, SendOptions } from "./outbox.ts";
import { Presence } from "./presence.ts";

export interface Message<T = unknown> {
  readonly channel: string;
  readonly from: string;
  readonly data: T;
  /** Only with the option `senderMetadata`. */
  readonly fromMetadata?: unknown;
  /** On channels with history: where it is, and when it was stored (Unix ms). */
  readonly pos?: string;
  readonly time?: number;
  readonly id?: string;
  /** It was published before this subscription, or while the client was away. */
  readonly replay?: boolean;
}

/** Messages were missed, and cannot be got back: read what you need anew. */
export interface Gap {
  /** `no_history`: the channel keeps none. `not_recovered`: too much was missed, or the history begins anew. */
  readonly reason: "no_history" | "not_recovered";
}

export interface Subscribed {
  /** Whether everything since the last connection follows; `undefined` for the first subscription. */
  readonly recovered?: boolean;
  /** How many earlier messages follow. */
  readonly replay: number;
}

export interface Published {
  readonly id?: string;
  readonly pos?: string;
  /** The service had accepted a message with this id before, and has not published this one. */
  readonly duplicate?: boolean;
}

export interface ChannelEvents<T> {
  message: Message<T>;
  gap: Gap;
  subscribed: Subscribed;
  /** The channel is subscribed to by `occupancy`: how many are in it. */
  occupancy: { readonly peers: number; readonly connections: number };
  error: ParleyError;
}

export interface ChannelOptions {
  /** The first subscription begins with that many earlier messages, or with those of this time: 50, "30s", "5m", "2h". */
  readonly rewind?: number | string;
  /** Messages carry the metadata of their senders. */
  readonly senderMetadata?: boolean;
  /** Counts of peers and connections; with `presence: false` instead of members. */
  readonly occupancy?: boolean;
  readonly presence?: false;
}

/** What parts of the package that are loaded on demand add to a channel. */
export interface Extension {
  /** More fields of the subscribe. */
  readonly fields?: object;
  subscribed?(): void;
  received?(frame: Frame): void;
}

/** What a channel needs of its client. */
export interface Host {
  readonly isConnected: boolean;
  readonly peerId: string | undefined;
  readonly outbox: Outbox | undefined;
  request(frame: Request): Promise<Frame>;
}

/** A loop over a channel may fall behind by this many messages. */
const BUFFER_MAX_MESSAGES = 1000;
/** Ids of own messages that may still come, because their connection ended before the ack. */
const OWN_IDS_MAX = 256;

export class Channel<T = unknown, M = unknown> extends Emitter<ChannelEvents<T>> {
  readonly presence: Presence<M> = new Presence(() => this.changed());
  /** @internal */
  readonly options: ChannelOptions = {};
  private readonly extensions = new Set<Extension>();
  private readonly ownIds = new Set<string>();
  /** `subscribe()` calls without an `unsubscribe()`. */
  private holders = 0;
  private isSubscribed = false;
  private isLooking = false;
  private isFirst = true;
  private pos: string | undefined;
  private ready = quietResolvers();

  constructor(
    readonly name: string,
    private readonly host: Host,
  ) {
    super();
  }

  /** Resolves when the service has accepted the subscription of the present connection, or of the next one. */
  get subscribed(): Promise<void> {
    return this.ready.promise;
  }

  /** Subscribes although nothing listens yet. Resolves when the service has accepted it. */
  subscribe(): Promise<void> {
    this.holders++;
    this.changed();
    return this.ready.promise;
  }

  /** Takes back one `subscribe()`. */
  unsubscribe(): void {
    this.holders = Math.max(0, this.holders - 1);
    this.changed();
  }

  /** Resolves when the service has accepted the message; with history, when it is stored. */
  async publish(data: T, options: SendOptions = {}): Promise<Published> {
    const { outbox } = this.host;
    const hasHistory = this.pos !== undefined;
    const id = options.id ?? (outbox || hasHistory ? randomId() : undefined);
    const send = async (): Promise<Frame> => {
      if (id !== undefined) this.noteOwn(id);
      const ack = await this.host.request({
        type: "publish",
        channel: this.name,
        data,
        ...(id !== undefined && { id }),
      });
      // The ack comes behind all earlier messages.
      if (ack.pos !== undefined && this.isSubscribed) this.pos = ack.pos;
      if (id !== undefined) this.ownIds.delete(id);
      return ack;
    };
    const ack = await (outbox ? outbox.add(send, { ...options, isIdempotent: () => this.pos !== undefined }) : send());
    const { pos, duplicate } = ack;
    return { ...(id !== undefined && { id }), ...(pos !== undefined && { pos }), ...(duplicate && { duplicate }) };
  }

  /** Messages as they come. Ends with the error if the client is closed, or the loop falls too far behind. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Message<T>, void> {
    const waiting: Message<T>[] = [];
    let wake: (() => void) | undefined;
    let failure: ParleyError | undefined;
    const stop = [
      this.on("message", (message) => {
        if (waiting.length < BUFFER_MAX_MESSAGES) waiting.push(message);
        else failure = new ParleyError("slow_reader", `More than ${BUFFER_MAX_MESSAGES} messages wait for the loop.`);
        wake?.();
      }),
      this.on("error", (error) => {
        failure = error;
        wake?.();
      }),
    ];
    try {
      for (;;) {
        const next = waiting.shift();
        if (next) yield next;
        else if (failure?.code === "closed") return;
        else if (failure) throw failure;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      for (const off of stop) off();
    }
  }

  // Used by the client and by its other parts

  /** @internal */
  extend(extension: Extension): () => void {
    this.extensions.add(extension);
    // What the extension asks for is in the next subscribe.
    if (extension.fields && this.isSubscribed) void this.join(false);
    this.changed();
    return () => {
      this.extensions.delete(extension);
      this.changed();
    };
  }

  /** @internal */
  request(frame: Request): Promise<Frame> {
    return this.host.request({ ...frame, channel: this.name });
  }

  /** @internal There is a connection: `connection` is the id of the one before. */
  connected(connection: string | undefined): void {
    this.isSubscribed = false;
    if (this.isWanted) void this.join(true, connection);
  }

  /** @internal */
  lost(): void {
    this.isSubscribed = false;
    // Those who wait for it wait on: they get the result of the next connection.
    const { resolve, reject } = this.ready;
    this.ready = quietResolvers();
    this.ready.promise.then(resolve, reject);
  }

  /** @internal The client has ended. */
  ended(error: ParleyError): void {
    this.ready.reject(error);
    this.emit("error", error);
  }

  /** @internal */
  received(frame: Frame, length: number): void {
    if (frame.type === "message") this.receivedMessage(frame);
    else if (frame.type === "presence") this.presence.received(frame, length);
    else if (frame.type === "occupancy") this.emit("occupancy", frame as ChannelEvents<T>["occupancy"]);
    for (const extension of this.extensions) extension.received?.(frame);
  }

  private receivedMessage({ type: _, ...frame }: Frame): void {
    if (frame.pos !== undefined) this.pos = frame.pos;
    // It was being stored when the connection that published it ended.
    if (frame.id !== undefined && frame.from === this.host.peerId && this.ownIds.delete(frame.id)) return;
    this.emit("message", frame as Message<T>);
  }

  private get isWanted(): boolean {
    return (
      this.holders > 0 ||
      this.extensions.size > 0 ||
      (["message", "gap", "subscribed", "occupancy"] as const).some((event) => this.has(event)) ||
      (["joined", "left", "changed"] as const).some((event) => this.presence.has(event))
    );
  }

  /** At the end of the turn: a listener that is replaced by another costs no new subscription. */
  protected override changed(): void {
    if (this.isLooking) return;
    this.isLooking = true;
    queueMicrotask(() => {
      this.isLooking = false;
      if (!this.host.isConnected || this.isWanted === this.isSubscribed) return;
      if (this.isWanted) void this.join(true);
      else this.leave();
    });
  }

  /** `isNew`: of this connection; otherwise only its options change. */
  private async join(isNew: boolean, connection?: string): Promise<void> {
    this.isSubscribed = true;
    const { rewind, senderMetadata, occupancy, presence } = this.options;
    const fields: Record<string, unknown> = {};
    if (senderMetadata) fields.includeSenderMetadata = true;
    if (occupancy) fields.occupancy = true;
    if (presence === false) fields.presence = false;
    if (isNew && this.pos !== undefined) Object.assign(fields, { recover: this.pos, connection });
    else if (isNew && rewind !== undefined) fields.rewind = rewind;
    for (const extension of this.extensions) Object.assign(fields, extension.fields);
    this.presence.begin();
    const { ready } = this;
    try {
      const ack = await this.request({ type: "subscribe", ...fields });
      if (isNew) this.joined(ack);
      ready.resolve();
    } catch (error) {
      // A lost connection is followed by the next attempt.
      if (!this.host.isConnected) return;
      this.isSubscribed = false;
      ready.reject(error);
      this.emit("error", error as ParleyError);
    }
  }

  private joined({ pos, recovered, replay }: Frame): void {
    const wasFirst = this.isFirst;
    this.isFirst = false;
    if (pos !== undefined && (recovered !== true || this.pos === undefined)) this.pos ??= pos;
    if (recovered === false && pos !== undefined) this.pos = pos;
    for (const extension of this.extensions) extension.subscribed?.();
    this.emit("subscribed", { ...(wasFirst ? {} : { recovered: recovered === true }), replay: Number(replay ?? 0) });
    if (!wasFirst && recovered !== true)
      this.emit("gap", { reason: pos === undefined ? "no_history" : "not_recovered" });
  }

  private leave(): void {
    this.isSubscribed = false;
    this.isFirst = true;
    this.pos = undefined;
    this.ready = quietResolvers();
    this.presence.clear();
    // If the connection ends meanwhile, so does the subscription.
    this.request({ type: "unsubscribe" }).catch(() => undefined);
  }

  private noteOwn(id: string): void {
    const [first] = this.ownIds;
    if (first !== undefined && this.ownIds.size >= OWN_IDS_MAX) this.ownIds.delete(first);
    this.ownIds.add(id);
  }
}

interface Resolvers {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Node 20 has no Promise.withResolvers. A rejection that no one waits for is not an error of its own. */
function quietResolvers(): Resolvers {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  const made = { promise, resolve, reject };
  made.promise.catch(() => undefined);
  return made;
}

const randomId = (): string => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(12))));

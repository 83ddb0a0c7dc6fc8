/** One channel. It is subscribed to as long as something listens to it. */
import { Emitter } from "./events/emitter.ts";
import { ParleyError } from "./events/errors.ts";
import type { Frame, Request } from "./events/frames.ts";
import type { ChannelEvents, ChannelOptions, Message, Published } from "./events/message.ts";
import { loopOver } from "./loop.ts";
import type { Outbox, SendOptions } from "./outbox.ts";
import { Presence } from "./presence.ts";

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
  readonly ended: ParleyError | undefined;
  readonly peerId: string | undefined;
  readonly outbox: Outbox | undefined;
  /** Channels that are kept although the application may have no reference to them. */
  readonly used: Set<Channel>;
  /** `answered` is called before the next frame is read. */
  request(frame: Request, answered?: (ack: Frame) => void): Promise<Frame>;
  report(error: ParleyError): void;
  restart(error: ParleyError): void;
}

/** Ids of own messages that a replay may contain, and of direct messages that may be repeated. */
const IDS_MAX = 1000;
const AGAIN_MS = 2000;
const MAY_PASS: readonly string[] = ["backend_error", "internal_error", "queue_full"];

export class Channel<T = unknown, M = unknown> extends Emitter<ChannelEvents<T, M>> {
  readonly #host: Host;
  readonly presence: Presence<M> = new Presence(
    () => this.changed(),
    () => this.#host.peerId,
  );
  /** @internal */
  readonly options: ChannelOptions = {};
  readonly #extensions = new Set<Extension>();
  /** Peer and id of own messages; with a publishable key each connection is another peer. */
  readonly #own = new Set<string>();
  /** `subscribe()` calls without an `unsubscribe()`. */
  #holders = 0;
  /** `subscribed` was read, and nothing else has used the channel since: those who wait for it must not wait without end. */
  #isAwaited = false;
  /** On this connection. */
  #state: "none" | "asked" | "subscribed" = "none";
  /** What answers an earlier subscribe changes nothing. */
  #attempt = 0;
  #isLooking = false;
  #isFirst = true;
  /** Not known before the first ack. */
  #hasHistory: boolean | undefined;
  /** The position of the last message: recovery begins behind it. */
  #pos: string | undefined;
  /** The one before: a replay leaves out what was published on it. */
  #connection: string | undefined;
  #againTimer: ReturnType<typeof setTimeout> | undefined;
  /** Settled if the channel is subscribed to. */
  #ready = quietResolvers();

  constructor(
    readonly name: string,
    host: Host,
  ) {
    super("parley.channel(name)");
    this.#host = host;
  }

  /**
   * Resolves when the service has accepted the subscription of the present connection, or of the next one. Subscribes if nothing
   * else does: until `unsubscribe()`, or until a listener that was added meanwhile is removed again.
   */
  get subscribed(): Promise<void> {
    this.#isAwaited = true;
    this.changed();
    return this.#ready.promise;
  }

  /** Subscribes although nothing listens yet. Resolves when the service has accepted it. */
  subscribe(): Promise<void> {
    this.#holders++;
    this.changed();
    return this.#ready.promise;
  }

  /** Takes back one `subscribe()`. */
  unsubscribe(): void {
    this.#holders = Math.max(0, this.#holders - 1);
    this.#isAwaited = false;
    this.changed();
  }

  /** Resolves when the service has accepted the message; with history, when it is stored. */
  async publish(data: T, options: SendOptions = {}): Promise<Published> {
    const { outbox } = this.#host;
    // Also before the first ack, which says whether there is history: by its id a replay of the message is known.
    const hasId = outbox || (this.#hasHistory ?? this.#state !== "none");
    const id = options.id ?? (hasId ? randomId() : undefined);
    const frame = { type: "publish", data, id };
    const send = (): Promise<Frame> => {
      if (id !== undefined && (this.#state !== "none" || this.#pos !== undefined)) this.#noteOwn(id);
      return this.request(frame, (ack) => this.#accepted(ack, id));
    };
    const ack = await (outbox
      ? outbox.add(send, { ...options, isIdempotent: () => this.#hasHistory, findOut: () => this.#findHistory() })
      : send());
    return { id, pos: ack.pos, duplicate: ack.duplicate };
  }

  /** Messages as they come. It ends when the client is closed, and throws if the subscription is refused or the loop falls too far behind. */
  [Symbol.asyncIterator](): AsyncIterableIterator<Message<T, M>, void> {
    return loopOver(this, this.#host.ended);
  }

  // Used by the client and by its other parts

  /** @internal */
  get peerId(): string | undefined {
    return this.#host.peerId;
  }

  /** @internal */
  extend(extension: Extension): () => void {
    this.#extensions.add(extension);
    // What the extension asks for is in the next subscribe.
    if (extension.fields && this.#state !== "none") this.#join(false);
    this.changed();
    return () => {
      this.#extensions.delete(extension);
      this.changed();
    };
  }

  /** @internal */
  request(frame: Request, answered?: (ack: Frame) => void): Promise<Frame> {
    return this.#host.request({ ...frame, channel: this.name }, answered);
  }

  /** @internal There is a connection: `connection` is the id of the one before. */
  connected(connection: string | undefined): void {
    this.#connection = connection;
    if (this.#isAwaited || this.#isUsed) this.#join(true);
  }

  /** @internal */
  lost(): void {
    this.#detach();
    this.presence.pause();
  }

  /** @internal The client has ended. */
  end(error: ParleyError): void {
    this.#ready.reject(error);
    this.emit("error", error);
  }

  /** @internal The service does not allow the subscription, or not any more. */
  refused(error: ParleyError): void {
    this.#detach();
    this.presence.clear();
    this.#ready.reject(error);
    this.#ready = quietResolvers();
    this.emit("error", error);
  }

  /** @internal Before the ack, frames are of an earlier subscription. */
  received(frame: Frame, length: number): void {
    if (this.#state !== "subscribed") return;
    const { type, peers = 0, connections = 0 } = frame;
    if (type === "message") this.#receivedMessage(frame);
    else if (type === "presence") this.presence.received(frame, length);
    else if (type === "occupancy") this.emit("occupancy", { peers, connections });
    for (const extension of this.#extensions) extension.received?.(frame);
  }

  #receivedMessage({ type: _, ...frame }: Frame): void {
    if (frame.pos !== undefined) this.#pos = frame.pos;
    // It was being stored when the connection that published it ended.
    if (!this.#own.delete(messageKey(frame.from, frame.id))) this.emit("message", frame as Message<T, M>);
  }

  get #isUsed(): boolean {
    return (
      this.#holders > 0 ||
      this.#extensions.size > 0 ||
      (["message", "gap", "subscribed", "occupancy"] as const).some((event) => this.has(event)) ||
      (["joined", "left", "changed"] as const).some((event) => this.presence.has(event))
    );
  }

  /** As long as something may come of it that the application has asked for. */
  #keep(): void {
    this.#host.used.add(this as unknown as Channel);
  }

  /** At the end of the turn: a listener that is replaced by another costs no new subscription. */
  protected override changed(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#keep();
    queueMicrotask(() => {
      this.#isLooking = false;
      if (this.#host.ended) return;
      const isUsed = this.#isUsed;
      // What uses the channel now decides when it is left.
      if (isUsed) this.#isAwaited = false;
      if (!isUsed && !this.#isAwaited) {
        this.#leave();
        if (!this.has("error")) this.#host.used.delete(this as unknown as Channel);
      } else if (this.#host.isConnected && this.#state === "none") this.#join(true);
    });
  }

  /** `isNew`: of this connection; otherwise only its options change. */
  #join(isNew: boolean): void {
    const { rewind, senderMetadata, occupancy, presence } = this.options;
    const pos = this.#pos;
    const connection = this.#connection;
    const from = pos === undefined ? { rewind } : { recover: pos, connection };
    const frame = { type: "subscribe", includeSenderMetadata: senderMetadata, occupancy, presence, ...(isNew && from) };
    for (const extension of this.#extensions) Object.assign(frame, extension.fields);
    clearTimeout(this.#againTimer);
    if (isNew) {
      this.#attempt++;
      this.#state = "asked";
    }
    const attempt = this.#attempt;
    this.request(frame, (ack) => {
      if (attempt !== this.#attempt) return;
      this.presence.begin();
      if (isNew) this.#joined(ack, pos !== undefined);
    }).catch((error: ParleyError) => attempt === this.#attempt && this.#notJoined(error, isNew));
  }

  #joined({ pos, recovered, replay }: Frame, isRecovery: boolean): void {
    const isFirst = this.#isFirst;
    // A rewind that is repeated because nothing of it came misses nothing; one that comes after the rules have changed does.
    const hasGap = recovered ? !(isFirst || isRecovery || this.#hasHistory) : recovered === false || !isFirst;
    this.#isFirst = false;
    this.#state = "subscribed";
    this.#hasHistory = pos !== undefined;
    // What is replayed has positions of its own, from which it can be continued.
    if (!isRecovery || !recovered) this.#pos = replay ? undefined : pos;
    this.#ready.resolve();
    for (const extension of this.#extensions) extension.subscribed?.();
    this.emit("subscribed", { recovered, replay: Number(replay ?? 0) });
    if (hasGap) this.emit("gap", { reason: pos === undefined ? "no_history" : "not_recovered" });
  }

  #notJoined(error: ParleyError, isNew: boolean): void {
    // If it was accepted after all, a second subscribe would not recover.
    if (error.code === "timeout") this.#host.restart(error);
    else if (isNew && !MAY_PASS.includes(error.code)) this.refused(error);
    else {
      if (isNew) {
        this.#detach();
        this.#againTimer = setTimeout(() => this.changed(), AGAIN_MS);
      }
      this.#host.report(error);
    }
  }

  async #findHistory(): Promise<boolean> {
    const { pos } = await this.request({ type: "history", limit: 1 });
    this.#hasHistory = pos !== undefined;
    return this.#hasHistory;
  }

  /** The ack comes behind all earlier messages. */
  #accepted({ pos, duplicate }: Frame, id: string | undefined): void {
    this.#hasHistory = pos !== undefined;
    // The position of a duplicate is that of the first one, which other messages may have followed; before the ack of the subscribe
    // other messages may be missing. A later replay may contain it then.
    if (pos !== undefined && (duplicate || this.#state !== "subscribed")) return;
    if (pos !== undefined) this.#pos = pos;
    this.#own.delete(messageKey(this.#host.peerId, id));
  }

  /** Also without a connection: the next subscription is a first one, which must not recover what came meanwhile. */
  #leave(): void {
    const isAsked = this.#state !== "none";
    this.#detach();
    // Those who wait would wait until the channel is used again, which may be never.
    this.#ready.reject(new ParleyError("closed", "The channel was left before the service accepted the subscription."));
    this.#ready = quietResolvers();
    this.#isFirst = true;
    this.#pos = undefined;
    this.#own.clear();
    this.presence.clear();
    // If the connection ends meanwhile, so does the subscription.
    if (isAsked) this.request({ type: "unsubscribe" }).catch(() => undefined);
  }

  /** Those who wait for a subscription wait on: they get the result of the next one. */
  #detach(): void {
    if (this.#state === "subscribed") this.#ready = quietResolvers();
    this.#state = "none";
    this.#attempt++;
    clearTimeout(this.#againTimer);
  }

  #noteOwn(id: string): void {
    makeRoom(this.#own);
    this.#own.add(messageKey(this.#host.peerId, id));
  }
}

/** Called before another id is added: the newest IDS_MAX are kept. */
export function makeRoom(kept: Set<string> | Map<string, unknown>): void {
  const [first = ""] = kept.keys();
  if (kept.size >= IDS_MAX) kept.delete(first);
}

/** Peer ids and message ids may contain any separator: joined by one, messages of two peers could be taken for the same. */
export const messageKey = (peerId: string | undefined, id: string | undefined): string => JSON.stringify([peerId, id]);

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
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}

/** Ids of messages that are sent again must not be those of others. */
export const randomId = (): string => btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(12))));

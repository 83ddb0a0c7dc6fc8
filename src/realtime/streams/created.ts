/**
 * Streams over HTTP on this node: what is written goes to the store in batches, and when it is stored, to the subscribers of all nodes, as
 * any message. Creating, closing and deleting a created stream is announced to the other nodes; what they do not hear they find in the
 * store within a second, where expiry is found too (created-changes.ts).
 */
import type { Keyring } from "../../access/keys/keyring.ts";
import { type AppId, appOfSpace, asAppId, type SpaceId, spaceOf, streamSpaceOf } from "../../base/ids.ts";
import type {
  CreatedPage,
  CreatedStream,
  Creating,
  Creation,
  Producer,
  Write,
  Written,
} from "../../history/contract/created-streams.ts";
import type { HistoryStore, NewMessage, Page, Range } from "../../history/contract/history.ts";
import { STREAMS_PER_APP_MAX } from "../../history/contract/limits.ts";
import { messageBytes } from "../../history/contract/size.ts";
import type { StreamWrites, WriteOutcome } from "../../history/stream-writes.ts";
import { isObject } from "../../protocol/json.ts";
import type { Retention, StreamRule } from "../../protocol/patterns/channel-rules.ts";
import type { Delivery } from "../messages/delivery.ts";
import type { Spaces } from "../state/spaces.ts";
import type { Streams } from "./streams.ts";

/** What the rule of a channel makes of it, for those who read and write it over HTTP. */
export type Kept =
  | { readonly kind: "history"; readonly keep: Retention }
  | { readonly kind: "created"; readonly rule: StreamRule };

/** Who writes. */
export interface Author {
  readonly from: string;
  readonly metadataJson: string | undefined;
}

/** A write as it is asked for; its limits and its place in the store are those of the channel. */
export interface WriteRequest extends Pick<Write, "contentType" | "isMalformed" | "closes" | "seq"> {
  readonly author: Author;
  /** The data of its messages, as JSON. */
  readonly data: readonly string[];
  readonly producer: Producer | undefined;
  /** With which its one message is published over WebSocket or REST. */
  readonly message?: Pick<NewMessage, "connection" | "id" | "idScope">;
}

export interface CreateRequest
  extends Pick<Creation, "contentType" | "ttlSeconds" | "expiresAtMs" | "isClosed" | "fork" | "check"> {
  readonly author: Author;
  readonly data: readonly string[];
}

/** A page of a channel. `stream` is absent for a channel with history. */
export interface Reading {
  readonly page: Page;
  readonly stream: CreatedStream | undefined;
}

interface CreatedStreamsParts {
  readonly history: HistoryStore;
  readonly streams: Streams;
  readonly spaces: Spaces;
  readonly delivery: Delivery;
  readonly writes: StreamWrites;
  readonly limitsOf: (app: AppId) => CreatedAppLimits;
  /** Tells the other nodes that a stream was created, closed or deleted. */
  readonly announce: (app: AppId, channel: string) => void;
}

/** What all streams of an application may have. */
export interface CreatedAppLimits {
  readonly bytes: number;
  readonly streams: number;
}

/** What one node asks all others when a stream was created, closed or deleted. */
export const CREATED_CHANGED = "created changed";

/** What such a request carries; another node has sent it. */
export function createdChanged(payload: unknown): { readonly app: AppId; readonly channel: string } {
  if (!isObject(payload) || typeof payload.app !== "string" || typeof payload.channel !== "string")
    throw new Error("a change of a stream without its name");
  return { app: asAppId(payload.app), channel: payload.channel };
}

/** What an application may have now. One that was deleted meanwhile may have nothing more. */
export const createdLimits =
  (keyring: Pick<Keyring, "app">) =>
  (app: AppId): CreatedAppLimits => ({
    bytes: keyring.app(app)?.maxStreamBytes ?? 0,
    streams: STREAMS_PER_APP_MAX,
  });

/** Messages of one application that the store has not answered for count against its quota. */
type Refused = "over_message_quota";

const NO_MESSAGE = { connection: undefined, id: undefined, idScope: "" } as const;

export class CreatedStreams {
  /** Messages by application that the store has not answered for. Bound: applications with such messages. */
  private readonly unanswered = new Map<AppId, number>();

  constructor(private readonly parts: CreatedStreamsParts) {}

  /** `undefined`: the channel keeps nothing. */
  kindOf(app: AppId, channel: string): Kept | undefined {
    const rule = this.parts.streams.ruleOf(spaceOf(app), channel);
    if (rule?.stream) return { kind: "created", rule: rule.stream };
    return rule?.history && { kind: "history", keep: rule.history };
  }

  /** Rejects if the store is unavailable. */
  async create(
    app: AppId,
    channel: string,
    rule: StreamRule,
    { author, data, ...request }: CreateRequest,
  ): Promise<Creating | Refused> {
    if (this.isOverQuota(app, data.length)) return "over_message_quota";
    const place = { spaceId: streamSpaceOf(app), channel };
    const messages = data.map((dataJson) => newMessage(place, author, dataJson, KEPT_ANYWAY));
    const limits = this.limitsFor(app, rule);
    const creation = { ...place, ...request, messages, idleSeconds: rule.seconds, limits };
    const result = await this.parts.history.created.create(creation);
    if (result.outcome !== "created") return result;
    // Those who wait for the stream are closed and come back: what it begins with is behind their new positions.
    for (const _ of messages) this.parts.delivery.countMessage(spaceOf(app));
    this.changed(app, channel);
    return result;
  }

  write(app: AppId, channel: string, kept: Kept, request: WriteRequest): Promise<WriteOutcome> | Refused {
    const { author, data, contentType, isMalformed, closes, seq, producer, message = NO_MESSAGE } = request;
    if (this.isOverQuota(app, data.length)) return "over_message_quota";
    const isCreated = kept.kind === "created";
    const place = { spaceId: isCreated ? streamSpaceOf(app) : spaceOf(app), channel };
    const keep = isCreated ? KEPT_ANYWAY : kept.keep;
    const messages = data.map((dataJson) => newMessage(place, author, dataJson, keep, message));
    const limits = isCreated ? this.limitsFor(app, kept.rule) : NO_LIMITS;
    const write: Write = {
      ...place,
      keep: isCreated ? undefined : keep,
      contentType,
      messages,
      isMalformed,
      closes,
      seq,
      producer,
      limits,
    };
    this.count(app, data.length);
    return this.parts.writes.write(write).finally(() => this.count(app, -data.length));
  }

  /** A write is stored: the streams that it has closed are announced. Called before it is answered, also if it was given up before. */
  closed(write: Write, written: Written): void {
    if (write.closes && written.outcome === "written") this.changed(appOfSpace(write.spaceId), write.channel);
  }

  async delete(app: AppId, channel: string): Promise<"deleted" | "gone" | "not found"> {
    const { history, streams } = this.parts;
    const result = await streams.calls.run(history.created.delete({ spaceId: streamSpaceOf(app), channel }));
    if (result === "deleted") this.changed(app, channel);
    return result;
  }

  /** `undefined`: no such stream. A channel with history always exists. Rejects if the store is unavailable. */
  async read(app: AppId, channel: string, kept: Kept, range: Range): Promise<Reading | "gone" | undefined> {
    const { history, streams } = this.parts;
    if (kept.kind === "created") {
      const name = { spaceId: streamSpaceOf(app), channel };
      const found: CreatedPage | "gone" | undefined = await streams.calls.run(history.created.read(name, range));
      return found;
    }
    const read = (): Promise<Page | undefined> => streams.calls.run(history.read(spaceOf(app), channel, range));
    const page = (await read()) ?? (await this.begin(app, channel, kept.keep).then(read));
    return page && { page, stream: undefined };
  }

  private async begin(app: AppId, channel: string, keep: Retention): Promise<void> {
    const { history, streams } = this.parts;
    await streams.calls.run(history.open(spaceOf(app), channel, keep));
  }

  describe(app: AppId, channel: string): Promise<CreatedStream | "gone" | undefined> {
    const { history, streams } = this.parts;
    return streams.calls.run(history.created.describe({ spaceId: streamSpaceOf(app), channel }));
  }

  /** The stream is read: its time to live begins again. Noted when that moves by a tenth of it. */
  used(app: AppId, channel: string, { usedMs, endsMs }: CreatedStream, nowMs: number): void {
    if (nowMs - usedMs < (endsMs - usedMs) / 10) return;
    const { history, streams } = this.parts;
    // If the store is unavailable, the next use is noted.
    streams.calls.run(history.created.use({ spaceId: streamSpaceOf(app), channel })).catch(() => undefined);
  }

  /** A stream of this application was created, closed or deleted on this node. */
  private changed(app: AppId, channel: string): void {
    this.lookAgain(spaceOf(app), channel);
    this.parts.announce(app, channel);
  }

  /** A stream was created, closed or deleted: its subscribers and readers here, if there are any, learn of it. */
  lookAgain(spaceId: SpaceId, channel: string): void {
    const { spaces, streams } = this.parts;
    const stream = spaces.channel(spaceId, channel)?.stream;
    if (stream?.isCreated) void streams.lookAgain(stream);
  }

  private limitsFor(app: AppId, rule: StreamRule) {
    const { bytes, streams } = this.parts.limitsOf(app);
    return { streamBytes: rule.bytes, appBytes: bytes, streams };
  }

  private isOverQuota(app: AppId, more: number): boolean {
    if (more === 0) return false;
    return this.parts.delivery.isOverQuota(spaceOf(app), "app", (this.unanswered.get(app) ?? 0) + more - 1);
  }

  private count(app: AppId, messages: number): void {
    const now = (this.unanswered.get(app) ?? 0) + messages;
    if (now > 0) this.unanswered.set(app, now);
    else this.unanswered.delete(app);
  }
}

/** The store of created streams keeps what they hold as long as they exist, whatever this says. */
const KEPT_ANYWAY: Retention = { messages: Number.MAX_SAFE_INTEGER, seconds: 1e11 };
const NO_LIMITS = { streamBytes: Number.MAX_SAFE_INTEGER, appBytes: Number.MAX_SAFE_INTEGER };

function newMessage(
  place: Pick<NewMessage, "spaceId" | "channel">,
  { from, metadataJson }: Author,
  dataJson: string,
  keep: Retention,
  { connection, id, idScope }: NonNullable<WriteRequest["message"]> = NO_MESSAGE,
): NewMessage {
  const texts = { from, metadataJson, dataJson, connection, id };
  return { ...place, keep, idScope, ...texts, bytes: messageBytes(texts) };
}

/**
 * The streams of this node: opens them, hands them what arrives, reads what is missing, and notices when the store no longer has
 * what was delivered from it. stream.ts keeps the order.
 *
 * - A gap: a later message has arrived. If the earlier one does not follow within GAP_WAIT_MS, it is read from the store.
 * - A missing end: a node has stored messages and died, or could not reach the others. Nothing that arrives shows that, so stream-heads.ts
 *   compares the ends of all streams with the store.
 * - Another epoch or another check: the history was removed, or the store was put back. Subscribers are closed with 1001 and
 *   come back; what they can recover is decided against the store as it is now.
 */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import type { Engine, Envelope } from "../../engine/engine.ts";
import type { CreatedStream } from "../../history/contract/created-streams.ts";
import type { HistoryStore, Page, Range, StoredMessage } from "../../history/contract/history.ts";
import { RingBudget } from "../../history/ring.ts";
import * as encode from "../../protocol/encode.ts";
import type { ChannelRule, Retention, StreamRule } from "../../protocol/patterns/channel-rules.ts";
import { dataFormOf, shownOf } from "../../protocol/streams/data.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import type { Delivery } from "../messages/delivery.ts";
import type { Channel, Follower } from "../state/channel.ts";
import type { Spaces } from "../state/spaces.ts";
import { Stream } from "../state/stream.ts";
import { Joins } from "./joins.ts";
import { GAP_WAIT_MS, READ_AGAIN_MS, READ_MAX_BYTES, READ_MAX_MESSAGES, TAIL_WAIT_MS } from "./limits.ts";
import type { LoopShareParts } from "./loop-share.ts";
import { ReadQueue } from "./read-queue.ts";
import { StoreCalls } from "./store-calls.ts";
import { storedMessage } from "./stored-message.ts";

interface StreamsParts {
  readonly history: HistoryStore;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly keyring: Keyring;
  readonly spaces: Spaces;
  readonly delivery: Delivery;
  readonly boundary: Boundary;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
  readonly defer: (callback: () => void) => void;
}

/** A created stream is never trimmed. */
const KEEPS_ALL: Retention = { messages: Number.MAX_SAFE_INTEGER, seconds: Number.MAX_SAFE_INTEGER / 1000 };

export class Streams {
  readonly calls: StoreCalls;
  readonly reads: ReadQueue;
  readonly loopShare: LoopShareParts;
  private readonly budget = new RingBudget();
  private readonly joins: Joins;
  /** Bound: the channels with history that have subscribers here. */
  private readonly inUse = new Set<Stream>();
  /** How many of them are created streams, or would be. */
  createdCount = 0;
  private begun: (stream: Stream) => void = () => undefined;
  private isUnanswered: (check: string) => boolean = () => false;

  constructor(private readonly parts: StreamsParts) {
    const { clock, faults, defer } = parts;
    this.calls = new StoreCalls(clock);
    this.loopShare = { clock, defer: (callback) => defer(() => safely(faults, "history", callback)) };
    this.reads = new ReadQueue(this.loopShare);
    this.joins = new Joins({ engine: parts.engine, clock });
  }

  /** Bytes of all rings. */
  get ringBytes(): number {
    return this.budget.bytes;
  }

  ruleOf(spaceId: SpaceId, channel: string): ChannelRule | undefined {
    const rules = this.parts.keyring.rulesOf(spaceId);
    return rules.isEmpty ? undefined : rules.ruleFor(channel);
  }

  /** The rule of a channel that is a created stream. */
  createdRuleOf(spaceId: SpaceId, channel: string): StreamRule | undefined {
    return this.ruleOf(spaceId, channel)?.stream;
  }

  /** What the rule of a channel keeps of its messages. `undefined`: nothing, and they are delivered at once, or it is a created stream. */
  retentionOf(spaceId: SpaceId, channel: string): Retention | undefined {
    return this.ruleOf(spaceId, channel)?.history;
  }

  /** A stream for a channel that keeps history; it is opened with its first use. */
  begin(channel: Channel, keep: Retention): void {
    const { delivery } = this.parts;
    const stream: Stream = new Stream(channel, keep, this.budget, {
      write: (message, epoch) => {
        delivery.deliverStored(channel, message, epoch);
        if (channel.followers) this.tellFollowers(channel, channel.followers);
      },
      ended: () => this.ended(stream),
    });
    this.add(stream);
  }

  /** The same for a channel that is a created stream, if there is one. */
  beginCreated(channel: Channel): void {
    const { delivery } = this.parts;
    const stream: Stream = new Stream(
      channel,
      KEEPS_ALL,
      this.budget,
      {
        write: (message, epoch) => {
          const { dataJson, isBase64 } = shownOf(message.dataJson, stream.form);
          const shown = dataJson === message.dataJson ? message : { ...message, dataJson };
          delivery.deliverStored(channel, shown, epoch, isBase64 ? encode.BASE64_FIELD : "");
          if (channel.followers) this.tellFollowers(channel, channel.followers);
        },
        ended: () => this.ended(stream),
      },
      true,
    );
    this.add(stream);
  }

  private add(stream: Stream): void {
    stream.channel.stream = stream;
    this.inUse.add(stream);
    if (stream.isCreated) this.createdCount++;
    this.begun(stream);
  }

  private ended(stream: Stream): void {
    if (this.inUse.delete(stream) && stream.isCreated) this.createdCount--;
    const { channel } = stream;
    const { followers } = channel;
    channel.followers = undefined;
    for (const follower of followers ?? []) safely(this.parts.faults, "history", () => follower.ended());
  }

  private tellFollowers(channel: Channel, followers: ReadonlySet<Follower>): void {
    this.parts.boundary.forChannel("history", channel, () => {
      for (const follower of followers) follower.changed();
    });
  }

  get all(): Iterable<Stream> {
    return this.inUse;
  }

  get count(): number {
    return this.inUse.size;
  }

  /** Called whenever a stream begins. */
  onBegin(begun: (stream: Stream) => void): void {
    this.begun = begun;
  }

  /** `isUnanswered`: this node has appended it and has no answer for it. It is not delivered from a read. */
  skipUnanswered(isUnanswered: (check: string) => boolean): void {
    this.isUnanswered = isUnanswered;
  }

  /** Calls back with true when the stream is open, now or later, or known to be absent; with false if the store is unavailable. */
  whenOpen(stream: Stream, run: (isOpen: boolean) => void): void {
    if (stream.isOpen || stream.isAbsent || stream.state === "ended") return run(stream.state !== "ended");
    stream.opening.push(run);
    if (stream.state === "closed") void this.open(stream);
  }

  private async open(stream: Stream): Promise<void> {
    const { history, clock, boundary } = this.parts;
    const { channel, keep } = stream;
    stream.state = "opening";
    try {
      const state = stream.isCreated
        ? await this.describe(stream)
        : await this.calls.run(history.open(channel.space.id, channel.name, keep));
      if (stream.state !== "opening") return;
      if (!state) return boundary.forChannel("history", channel, () => stream.beAbsent());
      boundary.forChannel("history", channel, () => stream.open(state, clock.monotonicMs()));
      if (stream.hasGap) this.catchUp(stream, GAP_WAIT_MS);
    } catch {
      if (stream.state === "opening") boundary.forChannel("history", channel, () => stream.close());
    }
  }

  /** The created stream as it is now; `undefined`: there is none. */
  private async describe(stream: Stream): Promise<CreatedStream | undefined> {
    const { storeSpace, channel } = stream;
    const name = { spaceId: storeSpace, channel: channel.name };
    const created = await this.calls.run(this.parts.history.created.describe(name));
    if (!created || created === "gone") return undefined;
    stream.form = dataFormOf(created.config.contentType);
    stream.isClosed = created.isClosed;
    return created;
  }

  /** A created stream has changed, here or on another node: it was created, closed or has ended, or there is more in it. */
  changed(stream: Stream, now: Pick<CreatedStream, "epoch" | "top" | "isClosed"> | undefined): void {
    if (stream.isAbsent ? now !== undefined : stream.isOpen && now?.epoch !== stream.epoch) return this.resync(stream);
    if (!stream.isOpen || !now) return;
    if (now.top > stream.delivered) {
      stream.knownHead = Math.max(stream.knownHead, now.top);
      this.catchUp(stream, TAIL_WAIT_MS);
    }
    if (!now.isClosed || stream.isClosed) return;
    stream.isClosed = true;
    const { channel } = stream;
    if (channel.followers) this.tellFollowers(channel, channel.followers);
  }

  /** Looks at what the store says of a created stream that has changed. */
  async lookAgain(stream: Stream): Promise<void> {
    // One that is being opened sees the change, or is looked at once more.
    if (stream.state === "opening") stream.opening.push(() => void this.lookAgain(stream));
    if (!stream.isOpen && !stream.isAbsent) return;
    const { storeSpace, channel } = stream;
    try {
      const name = { spaceId: storeSpace, channel: channel.name };
      const created = await this.calls.run(this.parts.history.created.describe(name));
      if (stream.state === "ended") return;
      this.parts.boundary.forChannel("history", channel, () =>
        this.changed(stream, created === "gone" ? undefined : created),
      );
    } catch {
      // The store is unavailable: what has changed is read when it is there again.
    }
  }

  /** Notes in the store that the stream is in use. */
  use(stream: Stream): void {
    // To have subscribers is no use of a created stream: it expires when it is neither read nor written over HTTP.
    if (stream.isCreated) return;
    const { history, clock } = this.parts;
    const { channel, keep } = stream;
    stream.openedMs = clock.monotonicMs();
    // If the store is unavailable, its next use is noted.
    this.calls.run(history.open(channel.space.id, channel.name, keep)).catch(() => undefined);
  }

  /** A message of another node. */
  arrived(stream: Stream, envelope: Envelope): void {
    const { stored } = envelope;
    if (stream.isAbsent) return void this.lookAgain(stream);
    if (stored && !this.offer(stream, stored.epoch, storedMessage(envelope, stored))) void this.verify(stream);
  }

  /** A message that is stored, wherever it comes from. Returns false if it does not belong to the stream as this node knows it. */
  offer(stream: Stream, epoch: string, message: StoredMessage, nowMs = this.parts.clock.monotonicMs()): boolean {
    const offered = stream.offer(epoch, message);
    if (offered === "delivered") stream.deliveredMs = nowMs;
    else if (offered === "ahead") this.catchUp(stream, GAP_WAIT_MS);
    return offered !== "foreign";
  }

  /** Reads what is missing, if it is still missing after this time. */
  catchUp(stream: Stream, afterMs: number): void {
    if (stream.isCatchingUp || !stream.isOpen) return;
    stream.isCatchingUp = true;
    this.parts.clock.after(afterMs, () => void this.readMissing(stream));
  }

  private async readMissing(stream: Stream): Promise<void> {
    let againMs = READ_AGAIN_MS;
    try {
      if (stream.isOpen && stream.hasGap && (await this.readSome(stream))) againMs = 0;
    } catch {
      // The store is unavailable. Nothing is delivered meanwhile, because the order would be lost.
    } finally {
      stream.isCatchingUp = false;
    }
    if (stream.isOpen && stream.hasGap) this.catchUp(stream, againMs);
  }

  /** Returns true if it has delivered something. */
  private async readSome(stream: Stream): Promise<boolean> {
    const { metrics, boundary } = this.parts;
    metrics.gapReads.inc();
    const { delivered } = stream;
    const page = await this.readBehind(stream, READ_MAX_MESSAGES);
    if (!page) return false;
    await this.joins.of(stream, page.messages);
    // Its own messages are delivered when the store has answered for them: an ack must not come behind later messages.
    const end = page.messages.findIndex(({ check }) => this.isUnanswered(check));
    boundary.forChannel("history", stream.channel, () => {
      for (const message of end < 0 ? page.messages : page.messages.slice(0, end))
        if (stream.isOpen) stream.offer(page.state.epoch, message);
    });
    stream.deliveredMs = this.parts.clock.monotonicMs();
    if (!page.more && end < 0) stream.endsAt(Math.max(page.state.top, stream.delivered));
    return stream.delivered > delivered;
  }

  /** Finds out whether the store still has what was delivered from it. */
  async verify(stream: Stream): Promise<void> {
    if (stream.isVerifying || !stream.isOpen) return;
    stream.isVerifying = true;
    try {
      await this.readBehind(stream, 0);
    } catch {
      this.parts.clock.after(READ_AGAIN_MS, () => void this.verify(stream));
    } finally {
      stream.isVerifying = false;
    }
  }

  /** What is stored behind the last delivered message; `undefined` if the stream has changed, and was resynchronised. */
  private async readBehind(stream: Stream, limit: number): Promise<Page | undefined> {
    const { delivered, check, epoch } = stream;
    const page = await this.read(stream, { after: delivered, limit, maxBytes: READ_MAX_BYTES });
    if (!stream.isOpen) return undefined;
    if (page && page.state.epoch === epoch && page.check === check) return page;
    // What was missing has arrived meanwhile, and trimming has removed where the read began.
    if (stream.delivered > delivered) return undefined;
    this.resync(stream);
    return undefined;
  }

  /** Reads the stream from the store. */
  read({ storeSpace, channel }: Stream, range: Range): Promise<Page | undefined> {
    return this.calls.run(this.parts.history.read(storeSpace, channel.name, range));
  }

  /** Forgets the messages of a channel. Its subscribers here are closed with 1001; other nodes notice within a second. */
  async remove(spaceId: SpaceId, name: string): Promise<boolean> {
    const { history, spaces } = this.parts;
    const isRemoved = await this.calls.run(history.remove(spaceId, name));
    const stream = spaces.channel(spaceId, name)?.stream;
    if (stream?.isOpen) this.resync(stream);
    // What it is opened with may be the history as it was before.
    else if (stream?.state === "opening") stream.opening.push((isOpen) => void (isOpen && this.verify(stream)));
    return isRemoved;
  }

  /** The stream is not what its subscribers take it for: they are closed with 1001, and it begins anew. */
  resync(stream: Stream): void {
    const { channel } = stream;
    if (channel.stream !== stream) return;
    if (stream.isCreated) this.beginCreated(channel);
    else this.begin(channel, stream.keep);
    stream.end();
    this.parts.boundary.resync(channel);
  }
}

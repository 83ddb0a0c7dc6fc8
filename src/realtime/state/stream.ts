/**
 * The stream of one channel with history on this node, or of one that is a created stream: delivers messages in the order of their offsets,
 * each once, wherever they come from: this node's own appends, other nodes, the store. Pure: streams.ts reads and decides what to do about a gap.
 *
 *     closed → opening → open → ended
 *        └────────┘ └→ absent ──┘
 *
 * `absent`: a channel whose rule has `stream`, and there is no stream of its name. It is another one as soon as it is created.
 */
import { type SpaceId, streamSpaceOf } from "../../base/ids.ts";
import type { StoredMessage, StreamState } from "../../history/contract/history.ts";
import { Ring, type RingBudget } from "../../history/ring.ts";
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import type { Position } from "../../protocol/position.ts";
import type { DataForm } from "../../protocol/streams/data.ts";
import type { Channel } from "./channel.ts";
import { AHEAD_MAX_BYTES, AHEAD_MAX_MESSAGES } from "./limits.ts";

/**
 * What became of a message. `known`: it was delivered before. `ahead`: an earlier one is missing. `foreign`: it does not belong to
 * the stream as this node knows it.
 */
export type Offered = "delivered" | "known" | "ahead" | "foreign";

interface Ahead {
  readonly epoch: string;
  readonly message: StoredMessage;
}

export interface StreamEvents {
  /** Writes a message to the subscribers here. */
  write(message: StoredMessage, epoch: string): void;
  ended(): void;
}

interface Waiting {
  readonly epoch: string;
  readonly offset: number;
  readonly run: () => void;
}

export class Stream {
  state: "closed" | "opening" | "open" | "absent" | "ended" = "closed";
  /** What the messages of a created stream are. */
  form: DataForm = "json";
  /** A created stream that takes no more messages. */
  isClosed = false;
  epoch = "";
  /** The offset of the last message that was handed to the subscribers here, and its check. */
  delivered = 0;
  check = "";
  ring: Ring;
  /** A read of missing messages is under way, or its timer is set. */
  isCatchingUp = false;
  /** A read that finds out whether the stream is still the same is under way. */
  isVerifying = false;
  /** The first message that the store holds, as far as it is known: never less than that. */
  first = 1;
  /** The end of the stream in the store, as far as it is known. */
  knownHead = 0;
  /** Monotonic ms of the last delivery, and of the last `open`. */
  deliveredMs = 0;
  openedMs = 0;
  /** What waits for the stream to be open; gets false if it cannot be opened. Bound: subscribes of connections to this channel. */
  readonly opening: ((isOpen: boolean) => void)[] = [];
  /** Bound: AHEAD_MAX_MESSAGES and AHEAD_MAX_BYTES; further messages are read from the store. */
  private readonly ahead = new Map<number, Ahead>();
  private aheadBytes = 0;
  /** By offset. Bound: the uncommitted messages of connections here, and subscriptions that begin. */
  private readonly waiting: Waiting[] = [];

  constructor(
    readonly channel: Channel,
    public keep: Retention,
    private readonly budget: RingBudget,
    private readonly events: StreamEvents,
    readonly isCreated = false,
  ) {
    this.ring = new Ring(budget, 0, "");
  }

  get isOpen(): boolean {
    return this.state === "open";
  }

  get isAbsent(): boolean {
    return this.state === "absent";
  }

  /** Under which space the store keeps its messages. */
  get storeSpace(): SpaceId {
    const { space } = this.channel;
    return this.isCreated ? streamSpaceOf(space.owner) : space.id;
  }

  get position(): Position {
    return { epoch: this.epoch, offset: this.delivered, check: this.check };
  }

  /** Subscribes wait for it to be opened: now, or when the engine has answered for the channel. */
  private get isAwaited(): boolean {
    return this.opening.length > 0 || this.channel.opening !== undefined;
  }

  /** A message has arrived before one that is missing. */
  get hasGap(): boolean {
    return this.ahead.size > 0 || this.knownHead > this.delivered;
  }

  /** The stream begins at its end in the store: those who subscribe get what comes behind it. */
  open({ epoch, top, topCheck, first }: StreamState, nowMs: number): void {
    this.state = "open";
    this.epoch = epoch;
    this.delivered = top;
    this.check = topCheck;
    this.first = first;
    this.knownHead = top;
    this.openedMs = nowMs;
    this.ring = new Ring(this.budget, top, topCheck);
    for (const [offset, { epoch: itsEpoch }] of [...this.ahead])
      if (itsEpoch !== epoch || offset <= top) this.removeAhead(offset);
    // Before anything is delivered: messages follow the ack of a subscribe.
    for (const opened of this.opening.splice(0)) opened(true);
    const waiting = this.waiting.splice(0);
    this.waiting.push(...waiting.filter((one) => one.epoch === epoch));
    for (const { run } of waiting.filter((one) => one.epoch !== epoch)) run();
    this.release();
    this.deliverAhead();
  }

  /** There is no such stream. */
  beAbsent(): void {
    this.state = "absent";
    for (const opened of this.opening.splice(0)) opened(true);
    this.forget();
  }

  /** Could not be opened. */
  close(): void {
    this.state = "closed";
    this.forget();
  }

  /** The channel has no subscriber here any more, or begins anew. */
  end(): void {
    this.state = "ended";
    this.events.ended();
    this.forget();
  }

  offer(epoch: string, message: StoredMessage): Offered {
    const { offset } = message;
    if (this.state === "opening") this.keepAhead(epoch, message);
    // Those who subscribe later begin behind it.
    if (this.state !== "open") return "known";
    if (epoch !== this.epoch) return "foreign";
    if (offset <= this.delivered) {
      const check = offset === this.delivered ? this.check : this.ring.checkAt(offset);
      return check === undefined || check === message.check ? "known" : "foreign";
    }
    if (offset > this.delivered + 1) {
      this.keepAhead(epoch, message);
      return "ahead";
    }
    this.deliver(message);
    this.deliverAhead();
    return "delivered";
  }

  /** Whether a message at this place is the next one to be delivered, and nothing waits. */
  isNext({ epoch, offset }: Position): boolean {
    return (
      this.state === "open" &&
      offset === this.delivered + 1 &&
      epoch === this.epoch &&
      this.ahead.size === 0 &&
      this.waiting.length === 0
    );
  }

  /** The store has no message behind this offset: those that were said to be there are not. */
  endsAt(top: number): void {
    for (const offset of [...this.ahead.keys()]) if (offset > top) this.removeAhead(offset);
    this.knownHead = Math.min(this.knownHead, top);
  }

  /** Calls back when the message of this epoch and offset was delivered here, or will never be: now or later. */
  whenDelivered(epoch: string, offset: number, run: () => void): void {
    if (this.state === "ended" || (this.state === "closed" && !this.isAwaited)) return run();
    if (this.state === "open" && (epoch !== this.epoch || offset <= this.delivered)) return run();
    let at = this.waiting.length;
    while (at > 0 && (this.waiting[at - 1]?.offset ?? 0) > offset) at--;
    this.waiting.splice(at, 0, { epoch, offset, run });
  }

  private deliver(message: StoredMessage): void {
    this.delivered = message.offset;
    this.check = message.check;
    this.ring.add(message);
    if (this.ahead.size > 0) this.removeAhead(message.offset);
    this.events.write(message, this.epoch);
    this.release();
  }

  private deliverAhead(): void {
    // A write can end the stream: a reader that is cut was perhaps the last subscriber.
    while (this.state === "open") {
      const next = this.ahead.get(this.delivered + 1);
      if (!next) return;
      this.removeAhead(this.delivered + 1);
      this.deliver(next.message);
    }
  }

  private release(): void {
    for (let first = this.waiting[0]; first && first.offset <= this.delivered; first = this.waiting[0]) {
      this.waiting.shift();
      first.run();
    }
  }

  private keepAhead(epoch: string, message: StoredMessage): void {
    const { bytes } = message;
    // The store has it: a read finds what is left out here.
    if (this.ahead.size >= AHEAD_MAX_MESSAGES || this.aheadBytes + bytes > AHEAD_MAX_BYTES) {
      if (epoch === this.epoch) this.knownHead = Math.max(this.knownHead, message.offset);
      return;
    }
    if (this.ahead.has(message.offset)) return;
    this.ahead.set(message.offset, { epoch, message });
    this.aheadBytes += bytes;
  }

  private removeAhead(offset: number): void {
    const one = this.ahead.get(offset);
    if (!one) return;
    this.ahead.delete(offset);
    this.aheadBytes -= one.message.bytes;
  }

  private forget(): void {
    this.ahead.clear();
    this.aheadBytes = 0;
    this.ring.clear();
    // In this order: a subscription that is refused has ended when the acks of its connection's messages are decided.
    for (const opened of this.opening.splice(0)) opened(false);
    for (const { run } of this.waiting.splice(0)) run();
  }
}

/**
 * Follows the sequence of one other node on one channel: delivers its items in order and without gaps.
 *
 * Terms
 * - Each item of a sequence has the next sequence number, from 1.
 * - Epoch: a node remembers the ends of a bounded number of idle sequences. If it has forgotten one, the next item of the channel
 *   starts a new sequence with sequence number 1 in a later epoch.
 * - Tail: an item without content that repeats the last sequence number of the sequence. It shows that the last item was lost.
 * - Forged: any client of the transport's servers can publish items in the name of a node. A forged epoch or sequence number must
 *   not stop the sequence: this node would wait for items that do not exist, and drop the real ones as outdated.
 * - Interruption: for some time nothing was received from the node. It ends with the next state that the node reports. If that is
 *   of another epoch, the end of the sequence where this node has stopped is not known: messages before it may be missing.
 *
 * States
 * - unsynchronised: the node has not reported the state of its sequence. Items are buffered.
 * - following: items are delivered. When one is missing, a replay is requested, and later items are buffered until it arrives.
 * - unconfirmed: as `following`, in a later epoch than the node has reported. Almost always the node has started a new sequence, so
 *   its items are delivered at once. In case the epoch is forged, the place in the trusted epoch is kept. An epoch that is
 *   never disputed needs no confirmation, so the state lasts.
 * - disputed: items of two epochs arrive, or the node denies items that arrived. Some are forged, and only the node knows which:
 *   items are buffered until it reports its state. Then the sequence continues in the epoch of that state, where it had stopped. It is
 *   the same for a node that was considered gone: what it has published meanwhile was accepted, and must not be skipped.
 *
 * Transitions
 * - unsynchronised, disputed → following: the node has reported its state.
 * - following → unconfirmed: an item of a later epoch has arrived.
 * - unconfirmed → disputed: an item of an earlier epoch has arrived that was not delivered yet, although that epoch should have
 *   ended. The state is requested.
 * - following, unconfirmed → disputed → following: the node has denied items, in a report of its state.
 * - following, unconfirmed → disputed: the node is considered gone.
 * - following, unconfirmed → disputed: too much is buffered behind a gap. The buffer is dropped and the state requested; the items
 *   are then detected as missing from where the sequence had stopped, and replayed or reported as lost.
 * - any → unsynchronised: a gap was given up, because its items cannot be replayed, or too much arrived before the state.
 */
import {
  EARLIER_VERSION_FORGETS_AFTER_MS,
  type SequenceItem,
  type SequencePlace,
  type SequenceState,
} from "../wire/messages.ts";
import { ItemBuffer } from "./item-buffer.ts";

/** What was lost this long before an interruption was found by then: last sequence numbers are repeated within 15 seconds. */
export const UNNOTICED_MS = 20_000;

export interface IncomingEvents {
  /** Called with each message and member change of a node's sequence, in order. */
  deliver(node: string, item: SequenceItem): void;
  /** Items from a place up to sequence number `to` are missing. */
  requestReplay(from: SequencePlace, to: number): void;
  /** The sequence stays unsynchronised or disputed until the node reports its state. */
  requestState(node: string): void;
  /** Items may be missing, and no state of the node can show which: their loss must be reported, and the sequence given up. */
  lost(node: string): void;
}

/** The next expected item. */
interface Cursor {
  readonly epoch: number;
  readonly next: number;
}

interface Progress {
  readonly epoch: number;
  /** The next expected sequence number. */
  next: number;
  /** Up to this sequence number every item was delivered, is buffered, or has been requested. */
  requestedTo: number;
  /** Up to this sequence number the members that the node has reported include the member changes. */
  readonly membersKnownTo: number;
}

type State =
  | { readonly kind: "unsynchronised" }
  | ({ readonly kind: "following" } & Progress)
  /** `trusted`: the next expected item of the last epoch that the node itself has reported. */
  | ({ readonly kind: "unconfirmed"; readonly trusted: Cursor } & Progress)
  /** `candidates`: where the sequence had stopped, in each epoch that may be the node's own. */
  | { readonly kind: "disputed"; readonly candidates: readonly Cursor[] };

/** When something was last received from a node. */
export interface Contact {
  readonly lastMs: number;
  /** The node's own clock in its last heartbeat. undefined: it is of an earlier version. */
  readonly clockMs?: number | undefined;
}

/**
 * The time since then. The clock of either node may have stood still meanwhile, if its machine was suspended. After a suspension a
 * node also receives late what was sent long before, so only the sender's clock shows how old that is.
 */
export const elapsedMs = (since: Contact, nowMs: number, { clockMs = 0 }: SequenceState): number =>
  Math.max(nowMs - since.lastMs, clockMs - (since.clockMs ?? clockMs));

interface Interruption {
  readonly since: Contact;
  /** Where the sequence had stopped, in each epoch that may be the node's own; none if it was not synchronised. */
  readonly stoppedAt: readonly Cursor[];
}

type Delivering = Extract<State, Progress>;

const isDelivering = (state: State): state is Delivering => state.kind === "following" || state.kind === "unconfirmed";

export class IncomingSequence {
  private state: State = { kind: "unsynchronised" };
  private readonly buffer = new ItemBuffer();
  private interruption: Interruption | undefined;

  constructor(
    private readonly node: string,
    private readonly events: IncomingEvents,
    private readonly nowMs: () => number,
  ) {}

  /** The first item of this epoch has arrived, and waits for the state of the sequence. */
  hasBeginningOf(epoch: number): boolean {
    return this.buffer.firstOf(epoch) === 1;
  }

  /** Items of the node are known that were not delivered. `hasLeft`: what an outage may have hidden cannot be asked for any more, either. */
  owes(hasLeft: boolean): boolean {
    const { state, buffer, interruption } = this;
    if (buffer.first !== undefined || (isDelivering(state) && state.requestedTo >= state.next)) return true;
    return hasLeft && interruption !== undefined && interruption.stoppedAt.length > 0;
  }

  /** An item has arrived, as it was published or in a replay. */
  receive(item: SequenceItem): void {
    if (this.process(item) && this.isBufferedDue) this.processBuffered();
  }

  /** The node has reported its state to a new subscription: earlier items need not be delivered. */
  start({ epoch, n }: SequenceState): void {
    this.interruption = undefined;
    if (!isDelivering(this.state)) this.follow(epoch, n + 1, n);
  }

  /**
   * The node has reported its state to an existing subscription. `takeMembers` takes over its members; it is not called when later
   * changes are already known. Messages up to that state must still be delivered, because no state includes them.
   */
  resynchronise(reported: SequenceState, takeMembers: () => void): void {
    const { state, interruption } = this;
    const { epoch, n, app, channel } = reported;
    this.interruption = undefined;
    if (interruption && this.mayHaveMissedEnd(reported, interruption)) return this.events.lost(this.node);
    const hasOnlyMembers = interruption !== undefined && this.hasNoMessageSince(reported, interruption);
    const tail: SequenceItem = { kind: "tail", place: { node: this.node, app, channel, epoch, n } };
    if (!isDelivering(state)) {
      takeMembers();
      if (hasOnlyMembers) return this.follow(epoch, n + 1, n);
      const candidates = state.kind === "disputed" ? state.candidates : [];
      const stoppedAt = candidates.filter((cursor) => cursor.epoch === epoch).map(({ next }) => next);
      // All items of a sequence that was started meanwhile are missing.
      if (candidates.length > 0 && candidates.every((cursor) => cursor.epoch < epoch)) stoppedAt.push(1);
      // Items may have arrived before the state: the sequence continues with the first of them.
      this.follow(epoch, Math.min(n + 1, this.buffer.firstOf(epoch) ?? n + 1, ...stoppedAt), n);
      return this.receive(tail);
    }
    // The end of the sequence was forgotten, unless an item has arrived since: then the state is older than that item.
    if (epoch === 0 && interruption?.stoppedAt.some((cursor) => isSame(cursor, state))) return takeMembers();
    const isOutdated = epoch < state.epoch || (epoch === state.epoch && n < state.next - 1);
    if (isOutdated) return;
    if (epoch === state.epoch && n === state.next - 1) return takeMembers();
    if (hasOnlyMembers) {
      takeMembers();
      return this.follow(epoch, n + 1, n);
    }
    if (epoch > state.epoch) {
      // Member changes at the end of the earlier epoch may be missing, and are not replayed.
      takeMembers();
      this.follow(epoch, 1, n);
    }
    // Items were missed. They are requested, and include the member changes.
    this.receive(tail);
  }

  /**
   * The node denies items that were requested from it: its sequence has not reached them, so they were forged. Everything buffered
   * behind its state is dropped. Genuine items among it are then detected as missing and replayed.
   */
  refute(reported: SequenceState, takeMembers: () => void): void {
    if (!isDelivering(this.state)) return;
    this.dispute(this.state);
    this.buffer.keepOnly(({ epoch, n }) => epoch === reported.epoch && n <= reported.n);
    this.resynchronise(reported, takeMembers);
  }

  /** Nothing was received from the node since then, until it reports its state again. */
  interrupt(since: Contact): void {
    // If there are several without a state in between, the first one counts.
    this.interruption = { since: this.interruption?.since ?? since, stoppedAt: cursorsOf(this.state) };
  }

  /** The node is considered gone. */
  pause(since: Contact): void {
    this.interrupt(since);
    if (isDelivering(this.state)) this.dispute(this.state);
    // What is behind a gap is found missing again.
    this.buffer.clear();
  }

  /** Missing items cannot be replayed: the gap is skipped, and the sequence continues from the state that the node reports next. */
  giveUp(): void {
    this.state = { kind: "unsynchronised" };
    this.buffer.clear();
    this.events.requestState(this.node);
  }

  // Items. `process` handles one in the current state, and returns true when it was the next one.

  private process(item: SequenceItem): boolean {
    const { state } = this;
    if (!isDelivering(state)) {
      this.addToBuffer(item);
      return false;
    }
    const { epoch } = item.place;
    if (epoch === state.epoch) return this.advance(state, item);
    if (epoch > state.epoch) return this.advance(this.enterEpoch(state, epoch), item);
    if (state.kind === "unconfirmed" && !isBefore(item.place, state.trusted)) {
      this.dispute(state);
      if (this.addToBuffer(item)) this.events.requestState(this.node);
    }
    return false;
  }

  private advance(state: Delivering, item: SequenceItem): boolean {
    const { place } = item;
    const isTail = item.kind === "tail";
    if (place.n < state.next) return false;
    if (place.n === state.next && !isTail) {
      state.next++;
      if (item.kind === "message" || place.n > state.membersKnownTo) this.events.deliver(this.node, item);
      return true;
    }
    if (!this.addToBuffer(item)) return false;
    const from = Math.max(state.next, state.requestedTo + 1);
    const to = isTail ? place.n : place.n - 1;
    state.requestedTo = Math.max(state.requestedTo, place.n);
    if (from <= to) this.events.requestReplay({ ...place, n: from }, to);
    return false;
  }

  /** The earliest buffered item is not behind a gap any more, or is of an earlier epoch. */
  private get isBufferedDue(): boolean {
    const { state, buffer } = this;
    return buffer.first !== undefined && isDelivering(state) && !isAfter(buffer.first, state);
  }

  /** Processes buffered items, the earliest first; those behind a further gap return to the buffer. */
  private processBuffered(): void {
    const stack = this.buffer.takeAll();
    for (let item = stack.pop(); item; item = stack.pop())
      if (this.process(item) && this.isBufferedDue) stack.push(...this.buffer.takeAll());
  }

  /** Returns false when this was one item too many: the buffer is then dropped, and the state has been requested. */
  private addToBuffer(item: SequenceItem): boolean {
    if (item.kind === "tail") return true;
    this.buffer.add(item);
    if (!this.buffer.isAboveBounds) return true;
    if (isDelivering(this.state)) {
      this.dispute(this.state);
      this.buffer.clear();
      this.events.requestState(this.node);
    } else this.events.lost(this.node);
    return false;
  }

  // Transitions. `giveUp` above is the one to `unsynchronised`.

  private follow(epoch: number, next: number, membersKnownTo: number): void {
    // After a dispute, items of a later epoch than the node's own count as forged. If the node has started that epoch since, they
    // are detected as missing.
    if (this.state.kind === "disputed") this.buffer.keepOnly((place) => place.epoch <= epoch);
    this.state = { kind: "following", epoch, next, requestedTo: next - 1, membersKnownTo };
    this.processBuffered();
  }

  /** The sequence numbers of a new epoch begin with 1, also when its first items were missed. */
  private enterEpoch(left: Delivering, epoch: number): Delivering {
    const trusted = left.kind === "unconfirmed" ? left.trusted : cursorOf(left);
    const entered: Delivering = { kind: "unconfirmed", trusted, epoch, next: 1, requestedTo: 0, membersKnownTo: 0 };
    this.state = entered;
    return entered;
  }

  private dispute(stopped: Delivering): void {
    this.state = { kind: "disputed", candidates: cursorsOf(stopped) };
  }

  /** The sequence has ended where no state shows it, and it is not certain that all its messages came before the interruption. */
  private mayHaveMissedEnd(reported: SequenceState, { since, stoppedAt }: Interruption): boolean {
    const { epoch, earlierIdleMs } = reported;
    const isSameSequence = epoch > 0 && stoppedAt.some((cursor) => cursor.epoch === epoch);
    if (stoppedAt.length === 0 || isSameSequence) return false;
    // A node of an earlier version does not say whether there was a sequence that it has forgotten.
    if (earlierIdleMs === undefined && stoppedAt.every((cursor) => cursor.epoch === 0)) return false;
    return !this.precedes(since, reported, earlierIdleMs ?? EARLIER_VERSION_FORGETS_AFTER_MS);
  }

  /**
   * What was missed are member changes, which the state includes. It need not be replayed: after a long outage it is not kept any
   * more, and every channel with presence would be reported lost.
   */
  private hasNoMessageSince(reported: SequenceState, { since }: Interruption): boolean {
    const { idleMs } = reported;
    return idleMs !== undefined && this.precedes(since, reported, idleMs) && this.buffer.first === undefined;
  }

  /** What is at least this old has arrived before the interruption, or its loss was noticed before. */
  private precedes(since: Contact, reported: SequenceState, ageMs: number): boolean {
    return ageMs > elapsedMs(since, this.nowMs(), reported) + UNNOTICED_MS;
  }
}

const cursorOf = ({ epoch, next }: Progress): Cursor => ({ epoch, next });

function cursorsOf(state: State): readonly Cursor[] {
  switch (state.kind) {
    case "unsynchronised":
      return [];
    case "following":
      return [cursorOf(state)];
    case "unconfirmed":
      return [state.trusted, cursorOf(state)];
    case "disputed":
      return state.candidates;
  }
}

const isSame = (a: Cursor, b: Cursor): boolean => a.epoch === b.epoch && a.next === b.next;

const isBefore = ({ epoch, n }: SequencePlace, cursor: Cursor): boolean =>
  epoch < cursor.epoch || (epoch === cursor.epoch && n < cursor.next);

const isAfter = ({ epoch, n }: SequencePlace, cursor: Cursor): boolean =>
  epoch > cursor.epoch || (epoch === cursor.epoch && n > cursor.next);

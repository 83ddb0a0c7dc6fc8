/**
 * A connection on a channel, and how far it has come in the channel's presence.
 *
 *     absent → opening → gated → ready ────────────────→ rostered → listening ⇄ offTopic
 *                                  └───→ awaitingTick ──────┘
 *
 * A repeated subscribe leads from every state back to `gated`, the loss of the presence action to `absent`, the end of the
 * subscription to `ended`. Only this file changes the state. What must agree with it changes in the same step: the presence
 * topic, `channel.listeners`, `channel.offTopic` and `connection.gated`.
 */
import type { Channel } from "./channel.ts";
import type { Connection } from "./connection.ts";
import type { Member } from "./member.ts";
import type { Roster } from "./rosters.ts";

/** By peer id: what this subscription was shown where that differs from what the channel was shown; undefined: that the peer left. */
type ShownAlone = Map<string, string | undefined>;

/** Why a subscription ended. `revoked`: the key no longer covers the channel. */
export type EndReason = "left" | "revoked";

/** A roster of which the first part is written. The others follow as the client reads them. */
interface RosterProgress {
  readonly roster: Roster;
  readonly partsWritten: number;
}

interface Arriving {
  readonly member: Member;
  /** Whether other members may be shown it already: its peer is known to them, or has sent a message. */
  readonly isVisible: boolean;
}

/** It has no presence action: it receives messages, but neither sees presence nor is shown. */
interface Absent {
  readonly at: "absent";
  readonly member: undefined;
}

/** It waits for its ack, while the engine finds out which members other nodes have. */
interface Opening extends Arriving {
  readonly at: "opening";
}

/** Its roster waits for the pong of this ping, which was sent behind the ack. */
interface Gated extends Arriving {
  readonly at: "gated";
  readonly ping: number;
}

/** The pong has come, or its time is up: the next tick writes the roster, unless rosters of other channels are still in the buffer. */
interface Ready extends Arriving {
  readonly at: "ready";
  readonly ping: number;
}

/** Its roster was due before the next tick and is written ahead of it, or being written. That tick shows it to the others. */
interface AwaitingTick extends Arriving {
  readonly at: "awaitingTick";
  readonly progress: RosterProgress;
  readonly shownAlone: ShownAlone | undefined;
}

/** The others are shown it. What is left of its roster is still to be written, then what it has missed meanwhile. */
interface Rostered {
  readonly at: "rostered";
  readonly member: Member;
  /** undefined: a roster of one part, which needs no more than one write. */
  readonly progress: RosterProgress | undefined;
  readonly shownAlone: ShownAlone | undefined;
}

/** It receives presence changes from the channel's topic. */
interface Listening {
  readonly at: "listening";
  readonly member: Member;
}

/** It was shown something that the channel was not: changes are written to it alone, until nothing differs. */
interface OffTopic {
  readonly at: "offTopic";
  readonly member: Member;
  readonly shownAlone: ShownAlone;
}

interface Ended {
  readonly at: "ended";
  readonly member: undefined;
  readonly why: EndReason;
}

export type SubscriptionState =
  | Absent
  | Opening
  | Gated
  | Ready
  | AwaitingTick
  | Rostered
  | Listening
  | OffTopic
  | Ended;

const ABSENT: Absent = { at: "absent", member: undefined };

export class Subscription {
  withMetadata = false;
  private current: SubscriptionState = ABSENT;

  constructor(
    readonly connection: Connection,
    readonly channel: Channel,
  ) {}

  get state(): SubscriptionState {
    return this.current;
  }

  // What others ask of the state

  /** undefined: it takes no part in presence. */
  get member(): Member | undefined {
    return this.current.member;
  }

  get isEnded(): boolean {
    return this.current.at === "ended";
  }

  get isListening(): boolean {
    return this.current.at === "listening";
  }

  /** Whether other members may be shown it. */
  get isVisible(): boolean {
    const state = this.current;
    switch (state.at) {
      case "opening":
      case "gated":
      case "ready":
      case "awaitingTick":
        return state.isVisible;
      case "absent":
      case "ended":
        return false;
      default:
        return true;
    }
  }

  /** Its roster was promised with this ping and has not been written. */
  isOwedRosterOf(ping: number): boolean {
    const state = this.current;
    return (state.at === "gated" || state.at === "ready") && state.ping === ping;
  }

  /** Its whole roster is written, so that changes may follow. */
  get knowsMembers(): boolean {
    const state = this.current;
    if (state.at === "awaitingTick") return state.progress.partsWritten >= state.progress.roster.parts.length;
    return state.at === "listening" || state.at === "offTopic";
  }

  get roster(): Roster | undefined {
    const state = this.current;
    return state.at === "awaitingTick" || state.at === "rostered" ? state.progress?.roster : undefined;
  }

  get shownAlone(): ReadonlyMap<string, string | undefined> | undefined {
    const state = this.current;
    return state.at === "awaitingTick" || state.at === "rostered" || state.at === "offTopic"
      ? state.shownAlone
      : undefined;
  }

  // Transitions, in the order of a subscription's life

  /** It takes part in presence, once its ack is sent. */
  join(member: Member): void {
    if (this.current.at === "absent") this.become({ at: "opening", member, isVisible: false });
  }

  /** It is acked: its roster waits for the pong of `ping`. */
  gate(member: Member, ping: number): void {
    this.become({ at: "gated", member, isVisible: this.isVisible, ping });
  }

  /** Its roster waits for the pong no longer. */
  openGate(): void {
    if (this.current.at === "gated") this.become({ ...this.current, at: "ready" });
  }

  /** It may be shown to others from now on, whatever it waits for. */
  show(): void {
    if ("isVisible" in this.current && !this.current.isVisible) this.become({ ...this.current, isVisible: true });
  }

  /** The first part of this roster is written ahead of the next tick. */
  rosterBeforeTick(roster: Roster): void {
    if (this.current.at !== "ready") return;
    const { member, isVisible } = this.current;
    const progress = { roster, partsWritten: 1 };
    this.become({ at: "awaitingTick", member, isVisible, progress, shownAlone: undefined });
  }

  /** A tick shows it to the others; its roster was written before, or is written now. */
  tick(): void {
    const state = this.current;
    if (state.at === "ready")
      this.become({ at: "rostered", member: state.member, progress: undefined, shownAlone: undefined });
    else if (state.at === "awaitingTick") {
      const { member, progress, shownAlone } = state;
      this.become({ at: "rostered", member, progress, shownAlone });
    }
  }

  /** The first part of this roster is written, the others follow as its reader takes them. */
  keepRoster(roster: Roster): void {
    if (this.current.at === "rostered") this.become({ ...this.current, progress: { roster, partsWritten: 1 } });
  }

  /** The index of the next part of its roster, which is written now; undefined: all of them are. */
  takePart(): number | undefined {
    const state = this.current;
    if ((state.at !== "awaitingTick" && state.at !== "rostered") || !state.progress) return undefined;
    const { roster, partsWritten } = state.progress;
    if (partsWritten >= roster.parts.length) return undefined;
    this.become({ ...state, progress: { roster, partsWritten: partsWritten + 1 } });
    return partsWritten;
  }

  /** Its roster and what it has missed are written: it receives changes from now on. */
  listen(): void {
    if (this.current.at !== "rostered") return;
    const { member, shownAlone } = this.current;
    this.become(shownAlone ? { at: "offTopic", member, shownAlone } : { at: "listening", member });
  }

  /** What is published next on the presence topic is not for it; until `listen`. */
  pause(): void {
    if (this.current.at !== "listening") return;
    const { member } = this.current;
    this.become({ at: "rostered", member, progress: undefined, shownAlone: undefined });
  }

  /** It alone was shown `entry` of a peer. */
  showedAlone(peerId: string, entry: string | undefined): void {
    const state = this.current;
    if (state.at !== "awaitingTick" && state.at !== "listening" && state.at !== "offTopic") return;
    const known = state.at === "listening" ? undefined : state.shownAlone;
    // Changed in place: a subscription can differ in hundreds of peers.
    if (known) known.set(peerId, entry);
    else if (state.at === "awaitingTick") this.become({ ...state, shownAlone: new Map([[peerId, entry]]) });
    else this.become({ at: "offTopic", member: state.member, shownAlone: new Map([[peerId, entry]]) });
  }

  /** The channel was shown the same of this peer. */
  caughtUpOn(peerId: string): void {
    if (this.current.at === "offTopic") this.current.shownAlone.delete(peerId);
  }

  /** Back on the topic, when nothing differs any more. */
  returnToTopic(): void {
    if (this.current.at === "offTopic" && this.current.shownAlone.size === 0)
      this.become({ at: "listening", member: this.current.member });
  }

  /** It has lost the presence action, but stays subscribed. */
  withdraw(): void {
    this.become(ABSENT);
  }

  end(why: EndReason): void {
    this.become({ at: "ended", member: undefined, why });
  }

  private become(next: SubscriptionState): void {
    const { current, channel, connection } = this;
    // A write can close its own socket, and so end the subscription in the middle of another step.
    if (current.at === "ended") return;
    this.current = next;
    if (current.at === next.at) return;
    if (current.at === "gated") connection.gated--;
    if (next.at === "gated") connection.gated++;
    if (current.at === "offTopic") removeOffTopic(channel, this);
    if (next.at === "offTopic") addOffTopic(channel, this);
    if (current.at === "listening") {
      channel.listeners--;
      connection.socket.unsubscribe(channel.presenceTopic);
    }
    if (next.at === "listening") {
      channel.listeners++;
      connection.socket.subscribe(channel.presenceTopic);
    }
  }
}

function addOffTopic(channel: Channel, subscription: Subscription): void {
  channel.offTopic ??= new Set();
  channel.offTopic.add(subscription);
}

function removeOffTopic(channel: Channel, subscription: Subscription): void {
  channel.offTopic?.delete(subscription);
  if (channel.offTopic?.size === 0) channel.offTopic = undefined;
}

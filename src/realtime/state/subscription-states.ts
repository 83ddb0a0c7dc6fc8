/** The states of a subscription in its channel's presence; subscription.ts says how one leads to the next. */
import type { Member } from "./member.ts";
import type { Roster } from "./roster.ts";

/**
 * Presence entries, by peer id, that differ from what the channel was last sent. `undefined` means that this subscriber was sent
 * that the peer left. The map is changed in place, although states are replaced: it can have hundreds of entries.
 */
export type Overrides = Map<string, string | undefined>;

/** Why a subscription ended. `revoked`: the key, the token or the room no longer allows it. */
export type EndReason = "left" | "revoked";

/** A roster of which the first part is written. The other parts follow as the client reads them. */
interface RosterProgress {
  readonly roster: Roster;
  readonly partsWritten: number;
}

interface Arriving {
  readonly member: Member;
  /** Whether the other members may be shown this subscription: they know its peer already, or its peer has sent a message. */
  readonly isVisible: boolean;
}

/** The key or the token has no presence action: the subscription receives messages, but no presence, and is not shown. */
interface Absent {
  readonly kind: "absent";
  readonly member: undefined;
}

/** The subscribe is not acked yet: the engine is still fetching members from other nodes. */
interface Opening extends Arriving {
  readonly kind: "opening";
}

/** The roster waits for the pong of this ping, which was sent after the ack. */
interface AwaitingPong extends Arriving {
  readonly kind: "awaitingPong";
  readonly ping: number;
}

/** The pong has arrived or timed out: the next tick writes the roster, unless rosters of other channels are still in the buffer. */
interface Ready extends Arriving {
  readonly kind: "ready";
  readonly ping: number;
}

/** The roster was due before the next tick, so it is written or being written. That tick shows the member to the others. */
interface AwaitingTick extends Arriving {
  readonly kind: "awaitingTick";
  readonly progress: RosterProgress;
  readonly overrides: Overrides | undefined;
}

/** The other members were shown this one. The rest of its roster is still to be written, then the changes since that roster. */
interface Rostered {
  readonly kind: "rostered";
  readonly member: Member;
  /** `undefined` for a roster of one part, which needs only one write. */
  readonly progress: RosterProgress | undefined;
  readonly overrides: Overrides | undefined;
}

/** Presence changes come from the channel's presence topic. */
interface Listening {
  readonly kind: "listening";
  readonly member: Member;
}

/** Has overrides: changes are written to this subscription individually until no override is left. */
interface OffTopic {
  readonly kind: "offTopic";
  readonly member: Member;
  /** Bound: members of the channel, until the channel has been shown the same: its next tick, or the end of damping. */
  readonly overrides: Overrides;
}

interface Ended {
  readonly kind: "ended";
  readonly member: undefined;
  readonly why: EndReason;
}

export type SubscriptionState =
  | Absent
  | Opening
  | AwaitingPong
  | Ready
  | AwaitingTick
  | Rostered
  | Listening
  | OffTopic
  | Ended;

export const ABSENT: Absent = { kind: "absent", member: undefined };

/** One for each reason: every subscription ends. */
export const ENDED: Readonly<Record<EndReason, Ended>> = {
  left: { kind: "ended", member: undefined, why: "left" },
  revoked: { kind: "ended", member: undefined, why: "revoked" },
};

/** Whether other members may be shown a subscription in this state. */
export function isVisibleIn(state: SubscriptionState): boolean {
  switch (state.kind) {
    case "opening":
    case "awaitingPong":
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

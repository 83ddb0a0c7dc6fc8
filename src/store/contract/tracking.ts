/**
 * The contract of what nodes write of their connections and memberships, and of the events that are derived from it.
 *
 * - A node writes under a name that it has begun. `write` and `beat` MUST change nothing and return "gone" if that name was given up since:
 *   the node was silent, and its rows are being closed, or were. It then begins under another name and writes all of its rows again.
 * - Times of nodes, leaves and vacated channels are by the clock of the store. A member has left when its row has ended, so that one that moves to
 *   another node within that time has not.
 * - `derive` MUST write events and what was said in one transaction that checks the lease: after any fault, what the events add up to is
 *   what the rows say, once nothing changes any more.
 * - Rows that are written as known, and what they say, MUST make no events.
 */
import type { AppId } from "../../base/ids.ts";
import type { Lost, WebhookEventType, WebhookLease } from "./webhooks.ts";

export interface OpenedConnection {
  readonly id: string;
  readonly app: AppId;
  readonly peerId: string;
  readonly keyId: string;
  readonly metadataJson: string | null;
  /** Unix ms. */
  readonly opened: number;
}

export interface ClosedConnection {
  readonly id: string;
  readonly closed: number;
  readonly code: number;
  readonly reason: string;
}

/** A peer in a channel, as a node shows it. */
export interface MemberRow {
  readonly app: AppId;
  readonly channel: string;
  readonly peerId: string;
  readonly metadataJson: string | null;
  readonly since: number;
}

export interface LeftMember extends Pick<MemberRow, "app" | "channel" | "peerId"> {
  /** How much longer its row counts. */
  readonly afterMs: number;
}

export interface TrackedChanges {
  /** They were there before anyone asked. */
  readonly isKnown: boolean;
  readonly opened: readonly OpenedConnection[];
  /** Behind `opened`. Connections without a row are ignored, and so are members. */
  readonly closed: readonly ClosedConnection[];
  readonly members: readonly MemberRow[];
  readonly left: readonly LeftMember[];
}

export type TrackedKind = "connections" | "members";

export interface DeriveOptions {
  /** Rows of each kind that are read. */
  readonly limit: number;
  /** Nodes without a beat for this long are given up; null: the caller cannot judge that now. */
  readonly silentMs: number | null;
  /** How long `channel.vacated` is held. */
  readonly vacatedMs: number;
  /** Which events each application asks for. No others are written. */
  readonly asked: readonly (readonly [app: AppId, types: readonly WebhookEventType[]])[];
}

export interface Derived {
  /** How many were written. */
  readonly events: number;
  /** There is more to read. */
  readonly more: boolean;
}

export interface TrackingStore {
  begin(node: string): Promise<void>;
  /** Raises the beat of the node too. */
  write(node: string, changes: TrackedChanges): Promise<"written" | "gone">;
  beat(node: string): Promise<"beaten" | "gone">;
  /** The node stops: its rows are closed, except those of members that are expected back. */
  leave(node: string): Promise<void>;
  /** Rows of an application, of all nodes. */
  count(app: AppId): Promise<number>;
  /** Before a node writes what is known already: what it wrote earlier was not kept up to date since. */
  clear(node: string, app: AppId, kind: TrackedKind): Promise<void>;

  derive(lease: WebhookLease, options: DeriveOptions): Promise<Derived | Lost>;
  /** Compares all that was said with the rows, and says what differs: for what was lost when someone began or ceased to ask. */
  reconcile(lease: WebhookLease, app: AppId, options: Pick<DeriveOptions, "asked">): Promise<Derived | Lost>;
  /** Applications with rows, or of which something was said. */
  trackedApps(): Promise<readonly AppId[]>;
  /** No one asks any more: removes some of the rows of an application. Returns whether there are more. */
  forgetRows(app: AppId, kind: TrackedKind, limit: number): Promise<boolean>;

  /** A quota is used up: makes an event, unless one was made for this period. Returns whether it is the first time. */
  quotaReached(
    app: AppId,
    kind: "messages" | "connections",
    limit: number,
    period: number,
    nowMs: number,
  ): Promise<boolean>;
}

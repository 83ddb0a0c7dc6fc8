/** What a node knows of its connections and members. `node` joins it to realtime, which knows nothing of webhooks. */
import type { AppId } from "../../base/ids.ts";
import type { OpenedConnection } from "../../store/contract/tracking.ts";

export interface ShownMember {
  /** As presence shows it. */
  readonly metadataJson: string | null;
  /** For how much longer it is expected back, without a connection; undefined: it has one. */
  readonly expectedMs: number | undefined;
}

export interface MemberName {
  readonly channel: string;
  readonly peerId: string;
}

export interface TrackingSource {
  /** Those that are open now; each is made when it is reached, and left out if it has closed meanwhile. */
  connections(app: AppId): Iterator<OpenedConnection>;
  /** Members that this node has connections of, or expects back. */
  members(app: AppId, isAsked: (channel: string) => boolean): Iterator<MemberName>;
  member(app: AppId, name: MemberName): ShownMember | undefined;
}

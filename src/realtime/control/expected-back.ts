/**
 * Peers without a connection that are expected back (history 4), and all that depends on it:
 *
 * | part | what it has |
 * |---|---|
 * | `lingering` | members that are still shown |
 * | `holds` | peers whose connection the service itself has closed |
 * | `notes` | members and peers of nodes that have stopped |
 * | `directs.waiting` | direct messages that wait for the return of such a peer |
 * | `directs.early` | direct messages that wait for the first roster of one that is back |
 *
 * What ends the wait for a peer ends it in each of them, so callers come here.
 */
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import type { Engine, NodeName } from "../../engine/engine.ts";
import type { Boundary } from "../connections/boundary.ts";
import type { ConnectionObserver } from "../connections/connections.ts";
import type { Holds } from "../connections/holds.ts";
import type { Directs } from "../messages/directs.ts";
import { announce } from "../presence/announce.ts";
import type { Lingering } from "../presence/lingering.ts";
import type { Notes } from "../presence/notes.ts";
import type { Connection } from "../state/connection.ts";
import type { Peer } from "../state/peer.ts";
import type { Spaces } from "../state/spaces.ts";

interface ExpectedBackParts {
  readonly lingering: Lingering;
  readonly holds: Holds;
  readonly notes: Notes;
  readonly directs: Pick<Directs, "waiting" | "early">;
  readonly spaces: Spaces;
  readonly boundary: Boundary;
  readonly engine: Engine;
  readonly clock: Clock;
}

export class ExpectedBack implements ConnectionObserver {
  constructor(private readonly parts: ExpectedBackParts) {}

  /** How many there are of each, for metrics. */
  get counts(): { readonly members: number; readonly peers: number; readonly sends: number } {
    const { lingering, holds, directs } = this.parts;
    return { members: lingering.size, peers: holds.size, sends: directs.waiting.count };
  }

  // They are back

  /** Connections has ended the hold already. */
  connected({ peer, peerId }: Connection): void {
    this.parts.directs.waiting.returned(peer.space.id, peerId);
  }

  disconnected(connection: Connection): void {
    this.parts.directs.early.ended(connection);
  }

  /** The peer has a roster again, or has sent a message. */
  returned({ connections }: Peer): void {
    for (const connection of connections) this.parts.directs.early.returned(connection);
  }

  /** The peer has connected to another node. Its members are announced by that node. */
  returnedElsewhere(spaceId: SpaceId, peerId: string): void {
    this.parts.holds.returnedElsewhere(spaceId, peerId);
  }

  // They must not come back

  /** The peer was kicked. */
  endPeer(spaceId: SpaceId, peerId: string): void {
    const { lingering, holds, notes, directs } = this.parts;
    lingering.endPeer(spaceId, peerId);
    holds.end(spaceId, peerId);
    notes.endPeer(spaceId, peerId);
    directs.waiting.fail(spaceId, peerId);
  }

  /** The key was edited: its members stay where it still allows that. If it was revoked, no peer of it is held either. */
  endKey(keyId: string, isRevoked: boolean): void {
    const { lingering, holds } = this.parts;
    lingering.endKey(keyId);
    if (isRevoked) holds.endKey(keyId);
  }

  // Over the end of a node

  /** Peers and members that the service closes from now on are expected until then, steady ms, or for as long as usual. */
  holdUntilMs(ms: number): void {
    const { holds, lingering } = this.parts;
    holds.atLeastUntilMs = ms;
    lingering.heldAtLeastUntilMs = ms;
  }

  /** This node starts. */
  readNotes(): Promise<void> {
    return this.parts.notes.readAll();
  }

  /** This node stops, and its connections are closed. */
  writeNotes(): Promise<void> {
    return this.parts.notes.write();
  }

  /**
   * This node leaves the others: they must know which of its members are expected back, or those would be seen to leave. The tick
   * that would announce them may come too late, in a large channel by half a second.
   */
  announceChanges(): void {
    const { spaces, boundary } = this.parts;
    for (const { channels } of spaces.all())
      for (const channel of [...channels.values()])
        if (channel.changed.size > 0)
          boundary.forChannel("timer", channel, () => announce(this.parts, channel, [...channel.changed]));
  }

  /** Resolves when the other nodes expect the peers of this one. */
  handOver(): Promise<void> {
    return this.parts.notes.handOver();
  }

  /** Another node is gone. */
  nodeGone(name: NodeName): void {
    void this.parts.notes.nodeGone(name);
  }
}

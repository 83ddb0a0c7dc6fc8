/** A channel's members as a client knows them: the first roster is complete, later frames change it. */
import type { Frame } from "../../../support/wire/shapes.ts";
import type { Wire } from "../../../support/wire/wire.ts";

export class MembersSeen {
  /** Peer id → metadata as JSON, "" for none. */
  readonly members = new Map<string, string>();
  rosters = 0;
  /** Changes without effect: a join of a member with the same metadata, or a leave of a peer that was no member. */
  readonly redundant: string[] = [];

  take({ joined, left, snapshot }: Frame<"presence">): void {
    if (snapshot) this.rosters++;
    for (const { peerId } of left) if (!this.members.delete(peerId)) this.redundant.push(`left ${peerId}`);
    for (const { peerId, metadata } of joined) {
      const text = metadata === undefined ? "" : JSON.stringify(metadata);
      if (this.members.get(peerId) === text) this.redundant.push(`joined ${peerId}`);
      this.members.set(peerId, text);
    }
  }

  get peerIds(): string[] {
    return [...this.members.keys()].sort();
  }
}

/** Reads presence of one channel, from its first roster on, until `enough` holds. */
export async function watchMembers(
  wire: Wire,
  channel: string,
  enough: (seen: MembersSeen) => boolean,
): Promise<MembersSeen> {
  const seen = new MembersSeen();
  while (!enough(seen)) seen.take(await wire.until("presence", (frame) => frame.channel === channel));
  return seen;
}

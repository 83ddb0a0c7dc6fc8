/** What a client knows of a channel: the first roster is the whole truth, later frames change it. */
import type { Frame } from "./shapes.ts";
import type { Wire } from "./wire.ts";

export class Truth {
  /** Peer id → metadata as JSON, "" where there is none. */
  readonly members = new Map<string, string>();
  rosters = 0;
  /** News that was none: somebody joined who was there with the same metadata, or left who was not. */
  readonly noise: string[] = [];

  take({ joined, left, snapshot }: Frame<"presence">): void {
    if (snapshot) this.rosters++;
    for (const { peerId } of left) if (!this.members.delete(peerId)) this.noise.push(`left ${peerId}`);
    for (const { peerId, metadata } of joined) {
      const text = metadata === undefined ? "" : JSON.stringify(metadata);
      if (this.members.get(peerId) === text) this.noise.push(`joined ${peerId}`);
      this.members.set(peerId, text);
    }
  }

  get peerIds(): string[] {
    return [...this.members.keys()].sort();
  }
}

/** Reads presence of one channel, from its first roster on, until `enough`. */
export async function learn(wire: Wire, channel: string, enough: (truth: Truth) => boolean): Promise<Truth> {
  const truth = new Truth();
  while (!enough(truth)) truth.take(await wire.until("presence", (frame) => frame.channel === channel));
  return truth;
}

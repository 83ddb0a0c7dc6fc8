/**
 * Member changes of this node on their way to the other nodes. When a channel is opened, everyone who waited for that is announced
 * in the same moment: those are joined into one item, because each costs every other node about as much as a message.
 */
import type { SpaceId } from "../../../base/ids.ts";
import type { MemberState } from "../../engine.ts";
import { splitChange } from "../wire/encode.ts";
import type { Format } from "../wire/format.ts";
import type { OutgoingSequences } from "./outgoing-sequences.ts";

export class Announcements {
  /** The channel whose changes are collected. */
  private spaceId: SpaceId | undefined;
  private channel = "";
  /** Members that are announced together. Bound: those who waited for a channel to be opened; sent before the turn ends. */
  private joined = new Map<string, MemberState>();

  constructor(
    private readonly outgoing: Pick<OutgoingSequences, "append">,
    private readonly publish: (subject: string, item: string) => void,
    private readonly format: Pick<Format, "members">,
  ) {}

  add(spaceId: SpaceId, channel: string, joined: readonly MemberState[], left: readonly string[]): void {
    const [only] = joined;
    if (spaceId === this.spaceId && channel === this.channel && left.length === 0 && joined.length === 1 && only) {
      // Two changes of one peer stay two changes, in this order.
      if (this.joined.has(only.peerId)) this.flush();
      this.joined.set(only.peerId, only);
      return;
    }
    // What was announced earlier arrives earlier, also of other channels.
    this.flush();
    this.send(spaceId, channel, joined, left);
  }

  /** Joins what `work` announces on this channel. It does not wait: what is collected is sent when `work` returns. */
  collect(spaceId: SpaceId, channel: string, work: () => void): void {
    if (this.spaceId !== undefined) return work();
    this.spaceId = spaceId;
    this.channel = channel;
    try {
      work();
    } finally {
      try {
        this.flush();
      } finally {
        this.spaceId = undefined;
      }
    }
  }

  /** Called before anything else is published: a member is known before its messages. */
  flush(): void {
    const { spaceId, channel, joined } = this;
    if (spaceId === undefined || joined.size === 0) return;
    this.joined = new Map();
    this.send(spaceId, channel, [...joined.values()], []);
  }

  private send(spaceId: SpaceId, channel: string, joined: readonly MemberState[], left: readonly string[]): void {
    for (const change of splitChange({ joined, left })) {
      const { subject, item } = this.outgoing.append(
        spaceId,
        channel,
        (place) => this.format.members(place, change),
        false,
      );
      this.publish(subject, item);
    }
  }
}

/** The texts of presence: rosters for newcomers, whole or in parts, and changes for everybody else. */
import { presenceChange, roster } from "../protocol/encode.ts";
import { ROSTER_PART_MAX_BYTES } from "../protocol/limits.ts";
import type { Channel, Subscription } from "./channel.ts";

/** Writes the roster to each newcomer, or its first part. */
export function writeRosters(channel: Channel, newcomers: readonly Subscription[]): void {
  // One text for all; each newcomer gets it with its own entry cut out.
  const starts = new Map<string, number>();
  const entries: string[] = [];
  let length = 0;
  for (const member of channel.members.values()) {
    if (member.shown === undefined) continue;
    starts.set(member.identity.peerId, length);
    entries.push(member.shown);
    length += member.shown.length + 1;
  }
  const all = entries.join();
  const bytes = length > ROSTER_PART_MAX_BYTES / 3 ? Buffer.byteLength(all) : length;
  for (const subscription of newcomers) {
    const { peerId, socket } = subscription.peer;
    if (bytes > ROSTER_PART_MAX_BYTES) {
      beginParts(subscription);
      continue;
    }
    const start = starts.get(peerId);
    const own = channel.members.get(peerId)?.shown?.length ?? 0;
    socket.send(roster(channel.json, start === undefined ? all : without(all, start, own)));
  }
}

function beginParts(subscription: Subscription): void {
  const { channel, peer } = subscription;
  const told = new Map<string, string>();
  for (const [peerId, { shown }] of channel.members)
    if (shown !== undefined && peerId !== peer.peerId) told.set(peerId, shown);
  const [first = [], ...rest] = portions([...told.values()]);
  subscription.parts = rest.map((some) => roster(channel.json, some.join()));
  subscription.told = told;
  peer.socket.send(roster(channel.json, first.join()));
}

/**
 * Whether a newcomer has its whole roster. Parts that are left are written as long as the reader keeps up; behind the last
 * comes what has changed meanwhile.
 */
export function isWritten(subscription: Subscription): boolean {
  const { channel, peer, parts, told } = subscription;
  if (!parts || !told) return true;
  while (peer.socket.getBufferedAmount() === 0) {
    const part = parts.shift();
    if (part !== undefined) {
      peer.socket.send(part);
      continue;
    }
    subscription.parts = undefined;
    subscription.told = undefined;
    writeMissed(channel, subscription, told);
    return true;
  }
  return false;
}

function writeMissed(channel: Channel, { peer }: Subscription, told: ReadonlyMap<string, string>): void {
  const joined: string[] = [];
  for (const [peerId, { shown }] of channel.members)
    if (shown !== undefined && peerId !== peer.peerId && told.get(peerId) !== shown) joined.push(shown);
  const left = [...told]
    .filter(([peerId]) => channel.members.get(peerId)?.shown === undefined)
    .map(([, entry]) => entry);
  if (joined.length + left.length === 0) return;
  for (const frame of changeFrames(channel.json, joined, left)) peer.socket.send(frame);
}

/** One frame, unless so many come or go at once that clients would cut it. */
export function changeFrames(channelJson: string, joined: readonly string[], left: readonly string[]): string[] {
  if (sizeOf(joined) + sizeOf(left) <= ROSTER_PART_MAX_BYTES) return [presenceChange(channelJson, joined, left)];
  return [
    ...portions(joined).map((some) => presenceChange(channelJson, some, [])),
    ...portions(left).map((some) => presenceChange(channelJson, [], some)),
  ];
}

/** A list of entries without the one that stands at `start`, nor its comma. */
function without(all: string, start: number, length: number): string {
  if (start > 0) return all.slice(0, start - 1) + all.slice(start + length);
  return all.slice(length + 1);
}

const sizeOf = (entries: readonly string[]): number =>
  entries.reduce((sum, entry) => sum + Buffer.byteLength(entry) + 1, 0);

/** Entries in portions that each fit into one frame. */
function portions(entries: readonly string[]): string[][] {
  const all: string[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const size = Buffer.byteLength(entry) + 1;
    if (bytes + size > ROSTER_PART_MAX_BYTES) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(entry);
    bytes += size;
  }
  return all;
}

/** The texts of presence: rosters for newcomers, whole or in parts, and changes for everybody else. */
import { presenceChange, roster } from "../protocol/encode.ts";
import { ROSTER_PART_MAX_BYTES } from "../protocol/limits.ts";
import type { Channel, LongRoster, RosterPart, Subscription } from "./channel.ts";

/** Peer id and what is shown of it. */
type Entry = readonly [peerId: string, entry: string];
const NOBODY: RosterPart = { text: "", starts: new Map() };

/** Writes the roster to each newcomer, or its first part. */
export function writeRosters(channel: Channel, newcomers: readonly Subscription[]): void {
  const told = new Map<string, string>();
  for (const [peerId, { shown }] of channel.members) if (shown !== undefined) told.set(peerId, shown);
  // One text for all, in as many parts as it takes; each newcomer gets it with its own entry cut out.
  const parts = portions([...told]).map(partOf);
  const long: LongRoster = { parts, told };
  for (const subscription of newcomers) {
    const { peer } = subscription;
    peer.socket.send(partFor(peer.peerId, long, 0, channel));
    if (parts.length < 2 && !subscription.awaitsTick) continue;
    subscription.roster = long;
    subscription.partsWritten = 1;
  }
}

function partOf(entries: readonly Entry[]): RosterPart {
  const starts = new Map<string, number>();
  let length = 0;
  for (const [peerId, entry] of entries) {
    starts.set(peerId, length);
    length += entry.length + 1;
  }
  return { text: entries.map(([, entry]) => entry).join(), starts };
}

function partFor(peerId: string, { parts, told }: LongRoster, index: number, channel: Channel): string {
  const { text, starts } = parts[index] ?? NOBODY;
  const start = starts.get(peerId);
  return roster(channel.json, start === undefined ? text : without(text, start, told.get(peerId)?.length ?? 0));
}

/**
 * Whether a newcomer has its whole roster. Parts that are left are written as long as the reader keeps up; behind the last
 * comes what has changed meanwhile.
 */
export function isWritten(subscription: Subscription): boolean {
  const { channel, peer, roster: long } = subscription;
  if (!long) return true;
  // One of a single part is written: what it has missed comes behind it, whatever else waits there.
  while (long.parts.length < 2 || peer.socket.getBufferedAmount() === 0) {
    if (subscription.partsWritten < long.parts.length) {
      peer.socket.send(partFor(peer.peerId, long, subscription.partsWritten++, channel));
      continue;
    }
    subscription.roster = undefined;
    writeMissed(channel, subscription, long.told);
    return true;
  }
  return false;
}

function writeMissed(channel: Channel, { peer }: Subscription, told: ReadonlyMap<string, string>): void {
  const joined: string[] = [];
  for (const [peerId, { shown }] of channel.members)
    if (shown !== undefined && peerId !== peer.peerId && told.get(peerId) !== shown) joined.push(shown);
  const left = [...told]
    .filter(([peerId]) => peerId !== peer.peerId && channel.members.get(peerId)?.shown === undefined)
    .map(([, entry]) => entry);
  if (joined.length + left.length === 0) return;
  for (const frame of changeFrames(channel.json, joined, left)) peer.socket.send(frame);
}

/** One frame, unless so many come or go at once that clients would cut it. */
export function changeFrames(channelJson: string, joined: readonly string[], left: readonly string[]): string[] {
  if (sizeOf(joined) + sizeOf(left) <= ROSTER_PART_MAX_BYTES) return [presenceChange(channelJson, joined, left)];
  return [
    ...portions(joined.map(anonymous)).map((some) => presenceChange(channelJson, some.map(textOf), [])),
    ...portions(left.map(anonymous)).map((some) => presenceChange(channelJson, [], some.map(textOf))),
  ];
}

/** A list of entries without the one that stands at `start`, nor its comma. */
function without(all: string, start: number, length: number): string {
  if (start > 0) return all.slice(0, start - 1) + all.slice(start + length);
  return all.slice(length + 1);
}

const sizeOf = (entries: readonly string[]): number =>
  entries.reduce((sum, entry) => sum + Buffer.byteLength(entry) + 1, 0);

const anonymous = (entry: string): Entry => ["", entry];
const textOf = ([, entry]: Entry): string => entry;

/** Entries in portions that each fit into one frame. */
function portions(entries: readonly Entry[]): Entry[][] {
  const all: Entry[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const size = Buffer.byteLength(entry[1]) + 1;
    if (bytes + size > ROSTER_PART_MAX_BYTES) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(entry);
    bytes += size;
  }
  return all;
}

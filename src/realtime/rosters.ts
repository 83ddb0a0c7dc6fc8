/** The texts of presence: rosters for newcomers, whole or in parts, and changes for everybody else. */
import { presenceChange, roster } from "../protocol/encode.ts";
import { ROSTER_PART_MAX_BYTES } from "../protocol/limits.ts";
import type { Change, Channel, LongRoster, RosterPart, Subscription } from "./channel.ts";

/** Peer id and what is shown of it. */
type Entry = readonly [peerId: string, entry: string];
const NOBODY: RosterPart = { text: "", starts: new Map() };

/** The longest part that still leaves some room in the buffer of a connection for which at most `maxPendingBytes` may wait. */
export const partMaxBytesOf = (maxPendingBytes: number): number =>
  Math.min(ROSTER_PART_MAX_BYTES, Math.floor((maxPendingBytes * 15) / 16));

/** Writes the roster to each newcomer, or its first part. */
export function writeRosters(channel: Channel, newcomers: readonly Subscription[], partMaxBytes: number): void {
  const told = new Map<string, string>();
  for (const [peerId, { shown }] of channel.members) if (shown !== undefined) told.set(peerId, shown);
  // One text for all, in as many parts as it takes; each newcomer gets it with its own entry cut out.
  const parts = portions([...told], partMaxBytes).map(partOf);
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

/** Writes what is left of a long roster as long as the reader keeps up; false: it must drain first. */
export function writeRest(subscription: Subscription): boolean {
  const { channel, peer, roster: long } = subscription;
  // One of a single part is written: what it has missed comes behind it, whatever else waits there.
  if (!long || long.parts.length < 2) return true;
  while (peer.socket.getBufferedAmount() === 0) {
    if (subscription.partsWritten >= long.parts.length) return true;
    peer.socket.send(partFor(peer.peerId, long, subscription.partsWritten++, channel));
  }
  return false;
}

/** Behind a roster that is written: what the channel was shown since it was made. */
export function writeMissed(subscription: Subscription, partMaxBytes: number): void {
  const { channel, peer, roster: long, ahead } = subscription;
  if (!long) return;
  subscription.roster = undefined;
  // Peers about which it knows more than the channel was shown are left to the audience, which compares with that.
  const isItsOwn = (peerId: string): boolean => peerId === peer.peerId || ahead?.has(peerId) === true;
  const missed: Change[] = [];
  for (const [peerId, { shown }] of channel.members) {
    const before = long.told.get(peerId);
    if (shown !== undefined && shown !== before && !isItsOwn(peerId)) missed.push({ peerId, before, after: shown });
  }
  for (const [peerId, before] of long.told) {
    const isGone = channel.members.get(peerId)?.shown === undefined;
    if (isGone && !isItsOwn(peerId)) missed.push({ peerId, before, after: undefined });
  }
  if (missed.length === 0) return;
  for (const frame of changeFrames(channel.json, missed, partMaxBytes)) peer.socket.send(frame);
}

/** One frame, unless so many come or go at once that clients would cut it. */
export function changeFrames(channelJson: string, changes: readonly Change[], partMaxBytes: number): string[] {
  const joined = changes.flatMap(({ after }) => after ?? []);
  const left = changes.flatMap(({ before, after }) => (after === undefined ? (before ?? []) : []));
  if (sizeOf(joined) + sizeOf(left) <= partMaxBytes) return [presenceChange(channelJson, joined, left)];
  const frames = (entries: readonly string[], frame: (some: readonly string[]) => string): string[] =>
    portions(entries.map(anonymous), partMaxBytes).map((some) => frame(some.map(textOf)));
  return [
    ...frames(joined, (some) => presenceChange(channelJson, some, [])),
    ...frames(left, (some) => presenceChange(channelJson, [], some)),
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
function portions(entries: readonly Entry[], partMaxBytes: number): Entry[][] {
  const all: Entry[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    const size = Buffer.byteLength(entry[1]) + 1;
    if (bytes + size > partMaxBytes) {
      all.push([]);
      bytes = 0;
    }
    all.at(-1)?.push(entry);
    bytes += size;
  }
  return all;
}

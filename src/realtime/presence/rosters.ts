/** Presence frames: rosters for newcomers, in one or several parts, and changes for the other members. */
import { presenceChange, roster as rosterFrame, stateChange, stateEntry, withState } from "../../protocol/encode.ts";
import { ROSTER_PART_MAX_BYTES } from "../../protocol/limits.ts";
import type { Channel } from "../state/channel.ts";
import { type Member, NO_STATE } from "../state/member.ts";
import type { Roster, RosterPart } from "../state/roster.ts";
import type { Subscription } from "../state/subscription.ts";

/** What a receiver was shown of one peer before and is shown now; `undefined` if the peer is not a member. */
export interface Change {
  readonly peerId: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

type Entry = readonly [peerId: string, entry: string];
const EMPTY_PART: RosterPart = { text: "", starts: new Map() };

/** The longest part that still leaves some room in the buffer of a connection for which at most `maxPendingBytes` may wait. */
export const partMaxBytesOf = (maxPendingBytes: number): number =>
  Math.min(ROSTER_PART_MAX_BYTES, Math.floor((maxPendingBytes * 15) / 16));

/** The members that the channel was shown. One text for all newcomers: each gets it with its own entry cut out. */
export function makeRoster(channel: Channel, partMaxBytes: number, withStates: boolean): Roster {
  const entries = new Map<string, string>();
  for (const [peerId, { shown }] of channel.members) if (shown !== undefined) entries.set(peerId, shown);
  if (!withStates) return { parts: partsOf(entries, partMaxBytes), entries, written: entries, states: undefined };
  const states = new Map<string, string>();
  const written = new Map<string, string>();
  for (const [peerId, entry] of entries) {
    const field = channel.members.get(peerId)?.shownState ?? NO_STATE;
    if (field !== NO_STATE) states.set(peerId, field);
    written.set(peerId, withState(entry, field));
  }
  return { parts: partsOf(written, partMaxBytes), entries, written, states };
}

function partsOf(entries: ReadonlyMap<string, string>, partMaxBytes: number): readonly RosterPart[] {
  const whole = partOf(entries);
  return mayExceed(whole.text.length, partMaxBytes) ? portions([...entries], partMaxBytes).map(partOf) : [whole];
}

function partOf(entries: Iterable<Entry>): RosterPart {
  const starts = new Map<string, number>();
  let text = "";
  for (const [peerId, entry] of entries) {
    if (text.length > 0) text += ",";
    starts.set(peerId, text.length);
    text += entry;
  }
  return { text, starts };
}

/** A character takes at most three bytes: most texts are short enough without being measured. */
const mayExceed = (chars: number, maxBytes: number): boolean => 3 * chars > maxBytes;

/** The first part is written even when there are no members: a newcomer must learn that it is alone. */
export function writePart({ connection, channel }: Subscription, { parts, written }: Roster, index: number): void {
  const { peerId, socket } = connection;
  socket.send(rosterFrame(channel.json, textWithout(parts[index] ?? EMPTY_PART, peerId, written)));
}

/** The entries of a part without that of one peer. `entries`: by peer id, as they are in the part. */
function textWithout({ text, starts }: RosterPart, peerId: string, entries: ReadonlyMap<string, string>): string {
  const start = starts.get(peerId);
  return start === undefined ? text : without(text, start, entries.get(peerId)?.length ?? 0);
}

/** Writes further parts of a roster as long as the client keeps up; returns false if the buffer must drain first. */
export function writeRest(subscription: Subscription): boolean {
  const { connection, roster } = subscription;
  // A roster of one part is already written: the changes since may follow, whatever else is in the buffer.
  if (!roster || roster.parts.length < 2) return true;
  while (connection.socket.getBufferedAmount() === 0) {
    const index = subscription.takePart();
    if (index === undefined) return true;
    writePart(subscription, roster, index);
  }
  return false;
}

/** Writes the changes that the channel was shown since this roster was made. */
export function writeMissed(subscription: Subscription, roster: Roster, partMaxBytes: number): void {
  const { channel, connection, overrides } = subscription;
  // Peers with an override are left to IndividualChanges, which compares with the override.
  const isItsOwn = (peerId: string): boolean => peerId === connection.peerId || overrides?.has(peerId) === true;
  const missed: Change[] = [];
  for (const [peerId, { shown }] of channel.members) {
    const before = roster.entries.get(peerId);
    if (shown !== undefined && shown !== before && !isItsOwn(peerId)) missed.push({ peerId, before, after: shown });
  }
  for (const [peerId, before] of roster.entries) {
    const isGone = !channel.members.get(peerId)?.isShown;
    if (isGone && !isItsOwn(peerId)) missed.push({ peerId, before, after: undefined });
  }
  if (missed.length > 0)
    for (const frame of changeFrames(channel.json, missed, partMaxBytes)) connection.socket.send(frame);
  if (!roster.states) return;
  const changed = [...channel.members.values()].filter(
    (member) => member.isShown && member.shownState !== stateIn(roster, member),
  );
  for (const frame of stateFrames(channel.json, changed.map(shownStateOf), partMaxBytes)) connection.socket.send(frame);
}

/** The state of a member that this roster carries. */
export const stateIn = ({ states }: Roster, { peer }: Member): string => states?.get(peer.peerId) ?? NO_STATE;

/** The state that was shown last of a member, as an entry of a frame. */
export const shownStateOf = ({ peer, shownState }: Member): string => stateEntry(peer.json, shownState);

/** Frames with these states; none for none, several where one would be longer than clients accept. */
export const stateFrames = (channelJson: string, entries: readonly string[], partMaxBytes: number): string[] =>
  portions(entries.map(anonymous), partMaxBytes).map((some) => stateChange(channelJson, some.map(textOf)));

/** One frame; several where one would be longer than clients accept. */
export const changeFrames = (channelJson: string, changes: readonly Change[], partMaxBytes: number): string[] =>
  changeParts(changes, partMaxBytes).map(({ joined, left }) =>
    presenceChange(channelJson, joined.map(textOf), left.map(textOf)),
  );

interface SeparableChanges {
  readonly frames: readonly string[];
  /** The same without the change of one peer, which is not shown itself; a frame of which nothing is left is left out. */
  readonly framesWithout: (peerId: string) => string[];
}

/** One text for all receivers, as with rosters: when many members change at once, one for each would take their square. */
export function separableChanges(
  channelJson: string,
  changes: readonly Change[],
  partMaxBytes: number,
): SeparableChanges {
  const parts = changeParts(changes, partMaxBytes).map(({ joined, left }) => [partOf(joined), partOf(left)] as const);
  const entries = new Map(changes.map(({ peerId, before, after }) => [peerId, after ?? before ?? ""]));
  const frame = (joined: string, left: string): string => presenceChange(channelJson, [joined], [left]);
  return {
    frames: parts.map(([joined, left]) => frame(joined.text, left.text)),
    framesWithout: (peerId) =>
      parts.flatMap((part) => {
        const [joined = "", left = ""] = part.map((one) => textWithout(one, peerId, entries));
        return joined === "" && left === "" ? [] : frame(joined, left);
      }),
  };
}

/** The entries of each frame. */
function changeParts(
  changes: readonly Change[],
  partMaxBytes: number,
): { readonly joined: readonly Entry[]; readonly left: readonly Entry[] }[] {
  const joined: Entry[] = [];
  const left: Entry[] = [];
  for (const { peerId, before, after } of changes) {
    if (after !== undefined) joined.push([peerId, after]);
    else if (before !== undefined) left.push([peerId, before]);
  }
  if (!areLonger([...joined, ...left], partMaxBytes)) return [{ joined, left }];
  return [
    ...portions(joined, partMaxBytes).map((some) => ({ joined: some, left: [] })),
    ...portions(left, partMaxBytes).map((some) => ({ joined: [], left: some })),
  ];
}

/** A list of entries without the one that begins at `start`, nor its comma. */
function without(all: string, start: number, length: number): string {
  if (start > 0) return all.slice(0, start - 1) + all.slice(start + length);
  return all.slice(length + 1);
}

/** Whether these entries, with commas, take more bytes than that. */
function areLonger(entries: readonly Entry[], maxBytes: number): boolean {
  let chars = 0;
  for (const [, entry] of entries) chars += entry.length + 1;
  if (!mayExceed(chars, maxBytes)) return false;
  return entries.reduce((sum, [, entry]) => sum + Buffer.byteLength(entry) + 1, 0) > maxBytes;
}

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

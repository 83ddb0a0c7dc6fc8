/**
 * The channels of a room that people enter: `_parley/room/<room id>/…`. Only connect tokens of rooms cover them, and they live in a space of their
 * own (base/ids.ts).
 *
 * - `room`: presence with state, and notices; only the service publishes.
 * - `chat`: all participants.
 * - `reactions`: all participants; what is said there is shown for a moment, and not kept.
 * - `in/<participantSession>`: the inbox of a stay, for signalling; all participants publish, only its owner subscribes.
 * - `admin`: who waits in the lobby; only admins subscribe, only the service publishes.
 * - `wait/<waitId>`: the answer to a visitor who waits; only the service publishes.
 */
const PREFIX = "_parley/room/";

export type RoomChannelKind = "room" | "chat" | "reactions" | "admin" | "in" | "wait";

export const roomChannel = (room: string): string => `${PREFIX}${room}/room`;
export const chatChannel = (room: string): string => `${PREFIX}${room}/chat`;
export const reactionsChannel = (room: string): string => `${PREFIX}${room}/reactions`;
export const adminChannel = (room: string): string => `${PREFIX}${room}/admin`;
/** With a participantSession: its inbox. Without: what all inboxes of the room begin with. */
export const inboxChannel = (room: string, participantSession = ""): string =>
  `${PREFIX}${room}/in/${participantSession}`;
export const waitChannel = (room: string, waitId: string): string => `${PREFIX}${room}/wait/${waitId}`;

const KINDS: readonly string[] = ["room", "chat", "reactions", "admin", "in", "wait"] satisfies RoomChannelKind[];
const isKind = (kind: string | undefined): kind is RoomChannelKind => kind !== undefined && KINDS.includes(kind);

/** What a channel of a room is for; undefined: it is none. */
export function roomChannelKind(channel: string): RoomChannelKind | undefined {
  if (!channel.startsWith(PREFIX)) return undefined;
  const kind = channel.slice(PREFIX.length).split("/")[1];
  return isKind(kind) ? kind : undefined;
}

/** The sender of what the service itself publishes in a room. */
export const SERVICE = "service";

/** What participants may send on the channel `reactions`, as names: each page chooses its own pictures. */
export const REACTIONS = ["thumbsup", "clap", "heart", "laugh", "wow", "party"] as const;
export type Reaction = (typeof REACTIONS)[number];

export const isReaction = (name: unknown): name is Reaction => REACTIONS.some((one) => one === name);

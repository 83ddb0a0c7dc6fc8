/** The contract between the meeting page and its connection to the room: who is inside, the chat, notices of the service. room.ts fulfils it. */
import type { Reaction } from "../../../src/protocol/room-channels.ts";
import type { Signalling } from "../call/signalling.ts";
import type { RecordingFact } from "./consent.ts";

/** What a participant says about itself, as the state of the channel `room`. */
export interface PersonState {
  readonly audio: boolean;
  readonly video: boolean;
  readonly screen: boolean;
  readonly hand: boolean;
  readonly recording: boolean;
}

/** Another participant. Everything but the state comes from the service. */
export interface Person {
  readonly participantSession: string;
  readonly name: string;
  readonly isAdmin: boolean;
  /** No token vouches for the name. */
  readonly isGuest: boolean;
  readonly state: PersonState;
  /** The connection of that person was lost, and may come back. */
  readonly isLost: boolean;
}

export interface ChatLine {
  /** Unique in this chat. */
  readonly id: string;
  /** undefined: the server has written it. */
  readonly from: string | undefined;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  readonly text: string;
  readonly timeMs: number;
  /** It was written before this page came. */
  readonly isEarlier: boolean;
}

export type RoomNotice =
  /** For one participant, or for everyone but `by`. */
  | { readonly notice: "muted"; readonly participantSession?: string; readonly by?: string; readonly kind: string }
  | { readonly notice: "handsLowered" }
  | { readonly notice: "renamed"; readonly participantSession: string; readonly name: string }
  | { readonly notice: "removed" | "ending"; readonly participantSession?: string; readonly inSec: number }
  /** The end that was announced does not come. */
  | { readonly notice: "continues"; readonly participantSession?: string }
  | { readonly notice: "locked"; readonly on: boolean }
  | { readonly notice: "recording"; readonly on: boolean; readonly fact: RecordingFact }
  | { readonly notice: "flags"; readonly room: Readonly<Record<string, unknown>> };

/** A person in the lobby. `since` is Unix milliseconds. */
export interface Waiting {
  readonly waitId: string;
  readonly name: string;
  readonly since: number;
}

/** Why a connection to a room has ended for good. `lost`: it could not be restored. */
export type Ending = "time" | "ended" | "removed" | "replaced" | "lost";

export interface RoomEvents {
  /** `people()` has changed. */
  people: [];
  /** After the first roster: for announcements. */
  joined: [person: Person];
  left: [person: Person];
  /** Also one's own, when the service has accepted it. */
  chat: [line: ChatLine];
  notice: [notice: RoomNotice];
  /** Another participant has sent it. */
  reaction: [participantSession: string, name: Reaction];
  /** For admins: all who wait. */
  queue: [waiting: readonly Waiting[]];
  /** false: the connection is lost and is being restored. */
  online: [isOnline: boolean];
  /** While it is being restored: when the next attempt begins. */
  retry: [inMs: number];
  /** With each connection and each new token: the credentials of the ones before end. */
  iceServers: [iceServers: readonly RTCIceServer[]];
  ended: [why: Ending];
  /** In place of `ended`: the service took the stay for lost while this page was connected. Its person is there, and may join again at once. */
  stayLost: [];
}

export interface RoomConnection {
  readonly signalling: Signalling;
  people(): readonly Person[];
  /** What others see about oneself; kept over lost connections. */
  setState(state: PersonState): void;
  /** Rejects if it was refused. */
  say(text: string): Promise<void>;
  react(name: Reaction): Promise<void>;
  /** The next attempt to restore the connection begins now. */
  retry(): void;
  on<E extends keyof RoomEvents>(event: E, listener: (...args: RoomEvents[E]) => void): () => void;
  /** Says goodbye: the stay ends at once. */
  close(): void;
}

export interface RoomOpening {
  readonly connect: { readonly url: string; readonly token: string };
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  /** It continues the stay of an earlier page: the join was made with `resume`. */
  readonly isResumed?: boolean;
  /** A next connect token, before this one expires; null: there is none any more. A failure is tried again. */
  readonly renew: () => Promise<string | null>;
}

export interface Declined {
  readonly text?: string;
  /** No host has declined: the time is over, the room is gone, or it takes no requests any more. */
  readonly reason?: string;
  /** A host has declined: in how many seconds one may ask again. */
  readonly retryAfterSec?: number;
}

export interface LobbyEvents {
  admitted: [];
  declined: [answer: Declined];
  /** Whether a host is inside: when the page begins to wait, and when it changes. */
  hosts: [inside: boolean];
  /** false: the connection is lost and is being restored. */
  online: [isOnline: boolean];
  /** The place in the lobby is over, or the connection could not be restored. */
  ended: [];
}

export interface LobbyConnection {
  on<E extends keyof LobbyEvents>(event: E, listener: (...args: LobbyEvents[E]) => void): () => void;
  close(): void;
}

export interface LobbyOpening {
  readonly connect: { readonly url: string; readonly token: string };
}

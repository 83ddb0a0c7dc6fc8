/** What the page knows about the meeting, as signals that its elements read; visit.ts changes them. */
import { type Signal, signal } from "@preact/signals";
import type { Reaction } from "../../../src/protocol/room-channels.ts";
import type { Quality, RemoteTrack } from "../call/contract.ts";
import { type Door, flagsOf, type May, type RoomFlags } from "../page/api.ts";
import type { RecordingNow } from "../room/consent.ts";
import type { ChatLine, Ending, Person, Waiting } from "../room/contract.ts";

/** Why one cannot enter. */
export type Closed =
  | "not_open"
  | "over"
  | "full"
  | "locked"
  | "invitation"
  | "stale"
  | "missing"
  | "busy"
  /** No answer, or the service has failed: the page tries again by itself. */
  | "failed"
  /** For a reason that this page does not know. */
  | "refused"
  | "declined"
  | "lobby_full"
  | "waiting_over";

export type Stage =
  | { readonly at: "loading" }
  /** Before entering. */
  | { readonly at: "door" }
  | { readonly at: "entering" }
  /** The meeting is recorded: a click on the notice goes on. */
  | { readonly at: "consent"; readonly by: string }
  /** `hasHost` is undefined until the service has said it. `isLost`: the connection is being restored. */
  | { readonly at: "waiting"; readonly sinceMs: number; readonly hasHost?: boolean; readonly isLost?: boolean }
  /** `timeMs`: when the room opens or has closed, or when a visitor who was declined may ask again. */
  | { readonly at: "closed"; readonly why: Closed; readonly timeMs?: number; readonly text?: string }
  | { readonly at: "inside" }
  /** Put out, or the connection was lost for good. */
  | { readonly at: "out"; readonly why: Ending }
  | { readonly at: "left" };

export interface Me {
  readonly participantSession: string;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
}

/** A time at which the meeting, or one's own stay, ends. */
export interface EndingAt {
  readonly timeMs: number;
  readonly isForAll: boolean;
}

export const NO_ONE: Me = { participantSession: "", name: "", isAdmin: false, isGuest: false };
export const MAY_NOTHING: May = { audio: false, video: false, screen: false, chat: false, record: false };

/** Messages that the page keeps; the service keeps as many. */
export const CHAT_LINES_MAX = 500;

/** For a few seconds, on the tile of this person. */
export interface ShownReaction {
  readonly id: number;
  readonly participantSession: string;
  readonly name: Reaction;
}

export interface Session {
  readonly stage: Signal<Stage>;
  readonly door: Signal<Door | undefined>;
  readonly me: Signal<Me>;
  readonly may: Signal<May>;
  readonly room: Signal<RoomFlags>;
  readonly people: Signal<readonly Person[]>;
  readonly tracks: Signal<readonly RemoteTrack[]>;
  readonly qualities: Signal<ReadonlyMap<string, Quality>>;
  /** People to whom there is no connection after a while, and whether the page has stopped hoping for one; unreached.ts. */
  readonly unreached: Signal<ReadonlyMap<string, boolean>>;
  readonly speaker: Signal<string | undefined>;
  readonly isHandUp: Signal<boolean>;
  readonly chat: Signal<readonly ChatLine[]>;
  /** Who waits in the lobby; only admins know. */
  readonly queue: Signal<readonly Waiting[]>;
  readonly isLocked: Signal<boolean>;
  /** undefined: the meeting is not recorded. */
  readonly recording: Signal<RecordingNow | undefined>;
  readonly isOnline: Signal<boolean>;
  /** When the next attempt to restore the connection begins; undefined: it has begun, or there is a connection. */
  readonly retryAtMs: Signal<number | undefined>;
  /** When the meeting has begun, by this page's clock. */
  readonly beganMs: Signal<number>;
  readonly reactions: Signal<readonly ShownReaction[]>;
  readonly ending: Signal<EndingAt | undefined>;
  /** Before entering only their addresses are known. */
  readonly iceServers: Signal<readonly RTCIceServer[]>;
}

export const newSession = (roomName: string): Session => ({
  stage: signal<Stage>({ at: "loading" }),
  door: signal(undefined),
  me: signal(NO_ONE),
  may: signal(MAY_NOTHING),
  room: signal(flagsOf({ roomName })),
  people: signal([]),
  tracks: signal([]),
  qualities: signal(new Map()),
  unreached: signal(new Map()),
  speaker: signal(undefined),
  isHandUp: signal(false),
  chat: signal([]),
  queue: signal([]),
  isLocked: signal(false),
  recording: signal(undefined),
  isOnline: signal(true),
  retryAtMs: signal(undefined),
  beganMs: signal(Date.now()),
  reactions: signal([]),
  ending: signal(undefined),
  iceServers: signal([]),
});

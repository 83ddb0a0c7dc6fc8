/** What HTTP asks of meetings, and what it answers (the application API's shapes). */
import type { FieldValues } from "../../rooms/fields.ts";

/** The fields of a room that all people inside may see. */
export type PublicRoom = Readonly<Record<string, unknown>> & { readonly roomName: string };

export const PUBLIC_FIELDS = [
  "privacy",
  "lang",
  "autoJoin",
  "audioOnlyRoom",
  "ownerOnlyBroadcast",
  "enableChat",
  "enableScreenSharing",
  "enableRecording",
  "showInviteBox",
  "joinVideoOn",
  "joinAudioOn",
  "expireUnixSec",
  "maxParticipants",
] as const satisfies readonly (keyof FieldValues)[];

export interface Door {
  readonly roomName: string;
  readonly privacy: string;
  readonly lang: string;
  readonly autoJoin: boolean;
  readonly audioOnlyRoom: boolean;
  /** It is being recorded, or will be as soon as the first participant enters. */
  readonly recording: boolean;
  /** Unix seconds. */
  readonly opensAt?: number;
  /** Unix seconds, beside opensAt. */
  readonly closesAt?: number;
  readonly state: "open" | "not_open" | "over";
  /** Whether a visitor without an access token may ask to be let into a private room. */
  readonly enableRequestToJoin: boolean;
  /** How many people are inside; of private rooms only admins learn it. */
  readonly inside?: number;
  /** Only if an access token was shown: how its holder would enter. */
  readonly you?: Holder;
}

/** What an access token says about a person in this room. */
export interface Holder {
  /** The token's name, which takes precedence over a typed one; absent: the person is asked for it. */
  readonly name?: string;
  readonly isAdmin: boolean;
  /** The token is for this room, or for all rooms: its holder enters without asking. */
  readonly isInvited: boolean;
}

export interface JoinRequest {
  readonly token?: string | undefined;
  readonly name?: string | undefined;
  /** The one that an earlier answer gave to this visitor. */
  readonly ticket?: string | undefined;
  /** The earlier connect token of the stay. */
  readonly resume?: string | undefined;
}

export interface May {
  readonly audio: boolean;
  readonly video: boolean;
  readonly screen: boolean;
  readonly chat: boolean;
  /** Admins at any time, others only while no admin is inside. */
  readonly record: boolean;
}

/** A meeting that is being recorded. */
export interface RecordingState {
  /** The name of the participant who started it; empty if the room records every meeting, or the application's server started it. */
  readonly by: string;
  /** Unix seconds. */
  readonly since: number;
}

export const RECORDING_SOURCES = ["camera", "microphone", "screen"] as const;
export type RecordingSource = (typeof RECORDING_SOURCES)[number];

/** The page of a stay begins to upload what its recorder makes. */
export interface StayUploadRequest {
  readonly source: RecordingSource;
  /** The recorder was started that long before this request; 0 if absent. */
  readonly startedMsAgo?: number | undefined;
}

/** Who asks for it. */
export interface StayUploadCaller {
  /** The connect token of the stay. */
  readonly token: string;
  /** A digest of the client's address. */
  readonly address: string;
}

export interface BegunStayUpload {
  readonly _id: string;
  /** Accepts the bytes with PUT, without another credential. */
  readonly uploadUrl: string;
  readonly offset: number;
}

export interface IceServer {
  readonly urls: readonly string[];
  readonly username?: string;
  readonly credential?: string;
}

export interface Connect {
  /** The WebSocket address, without a query. */
  readonly url: string;
  readonly token: string;
}

export interface Joined {
  readonly participantSession: string;
  readonly meetingSession: string;
  /** How long the meeting has gone on: not a time, because clocks of clients differ from the service's. */
  readonly meetingElapsedSec: number;
  readonly peerId: string;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  readonly may: May;
  readonly room: PublicRoom;
  /** null: it is not being recorded. */
  readonly recording: RecordingState | null;
  readonly connect: Connect;
  readonly media: { readonly engine: "mesh" };
  readonly iceServers: readonly IceServer[];
  /** Unix seconds. */
  readonly ejectAt?: number;
}

export interface Waiting {
  readonly waiting: true;
  /** A credential: only its holder gets it. */
  readonly ticket: string;
  readonly connect: Connect;
}

export type Act =
  | "admit"
  | "decline"
  | "mute"
  | "muteAll"
  | "lowerHands"
  | "remove"
  | "rename"
  | "end"
  | "lock"
  | "unlock"
  | "record"
  | "stopRecord";

export interface ActRequest {
  readonly do: Act;
  readonly participantSession?: string | undefined;
  readonly waitId?: string | undefined;
  /** Of `rename`. */
  readonly name?: string | undefined;
}

/** In the channel `room`: a participant has another name. */
export interface RenamedNotice {
  readonly notice: "renamed";
  readonly participantSession: string;
  readonly name: string;
}

/** What HTTP asks of meetings, and what it answers (the application API's shapes). */
import type { FieldValues } from "../rooms/fields.ts";

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
  readonly recording: boolean;
  /** Unix seconds. */
  readonly opensAt?: number;
  readonly state: "open" | "not_open" | "over";
  /** How many are inside; of public rooms only. */
  readonly inside?: number;
}

export interface JoinRequest {
  readonly token?: string | undefined;
  readonly name?: string | undefined;
  readonly ticket?: string | undefined;
  /** The earlier connect token of the stay. */
  readonly resume?: string | undefined;
}

export interface May {
  readonly audio: boolean;
  readonly video: boolean;
  readonly screen: boolean;
  readonly chat: boolean;
  readonly record: boolean;
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
  readonly peerId: string;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  readonly may: May;
  readonly room: PublicRoom;
  readonly connect: Connect;
  readonly media: { readonly engine: "mesh" };
  readonly iceServers: readonly IceServer[];
  /** Unix seconds. */
  readonly ejectAt?: number;
}

export interface Waiting {
  readonly waiting: true;
  readonly ticket: string;
  readonly connect: Connect;
}

export type Act = "admit" | "decline" | "mute" | "remove" | "end" | "lock" | "unlock";

export interface ActRequest {
  readonly do: Act;
  readonly participantSession?: string | undefined;
  readonly ticket?: string | undefined;
}

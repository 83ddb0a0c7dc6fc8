/** The three calls of a meeting's page. */

export interface Door {
  readonly roomName: string;
  readonly privacy: string;
  readonly lang: string;
  readonly autoJoin: boolean;
  readonly audioOnlyRoom: boolean;
  readonly recording: boolean;
  /** Unix seconds. */
  readonly opensAt?: number;
  /** Beside opensAt, where the room has an end. */
  readonly closesAt?: number;
  readonly state: "open" | "not_open" | "over";
  /** Whether a person without an invitation may ask to be let into a private room. */
  readonly enableRequestToJoin: boolean;
  /** How many are inside; private rooms say it only to hosts. */
  readonly inside?: number;
  /** How the holder of the access token enters; only if one was sent. */
  readonly you?: Holder;
}

export interface Holder {
  /** The token has it: no other name is taken. */
  readonly name?: string;
  readonly isAdmin: boolean;
  readonly isInvited: boolean;
}

export interface May {
  readonly audio: boolean;
  readonly video: boolean;
  readonly screen: boolean;
  readonly chat: boolean;
  readonly record: boolean;
}

/** Public fields of a room that the page acts on. */
export interface RoomFlags {
  readonly roomName: string;
  readonly audioOnlyRoom: boolean;
  readonly ownerOnlyBroadcast: boolean;
  readonly enableChat: boolean;
  readonly enableScreenSharing: boolean;
  readonly enableRecording: boolean;
  readonly showInviteBox: boolean;
  readonly joinVideoOn: boolean;
  readonly joinAudioOn: boolean;
}

export interface Connect {
  readonly url: string;
  readonly token: string;
}

export interface Joined {
  readonly participantSession: string;
  /** A service of an earlier release does not say it. */
  readonly meetingElapsedSec?: number;
  readonly name: string;
  readonly isAdmin: boolean;
  readonly isGuest: boolean;
  readonly may: May;
  readonly room: Partial<RoomFlags>;
  readonly connect: Connect;
  readonly iceServers: readonly RTCIceServer[];
  /** The recording that goes on; room/consent.ts reads it. */
  readonly recording?: unknown;
  /** Unix seconds. */
  readonly ejectAt?: number;
}

export interface InLobby {
  readonly waiting: true;
  readonly ticket: string;
  readonly connect: Connect;
}

export interface JoinRequest {
  readonly token?: string | undefined;
  readonly name?: string | undefined;
  readonly ticket?: string | undefined;
  readonly resume?: string | undefined;
}

export type Act =
  | { readonly do: "admit" | "decline"; readonly waitId: string }
  | { readonly do: "mute" | "remove"; readonly participantSession: string }
  | { readonly do: "muteAll"; readonly kind: "audio" }
  | { readonly do: "rename"; readonly participantSession: string; readonly name: string }
  | { readonly do: "lowerHands" | "end" | "lock" | "unlock" | "record" | "stopRecord" };

interface RefusalMore {
  /** With room_not_open; Unix seconds. */
  readonly opensAt?: number | undefined;
  /** With declined: in how many seconds one may ask again. */
  readonly retryAfterSec?: number | undefined;
  /** With room_over: whose time it is. */
  readonly over?: string | undefined;
}

/** A refusal of the service. Status 0: there was no answer. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly more: RefusalMore = {},
  ) {
    super(message);
  }
}

export interface Api {
  /** With an access token: also how its holder enters. */
  door(token?: string): Promise<Door>;
  join(request: JoinRequest): Promise<Joined | InLobby>;
  act(connectToken: string, act: Act): Promise<void>;
}

const ANSWER_WITHIN_MS = 15_000;

/** `base` is the application's origin. */
export function apiOf(base: string, roomName: string): Api {
  const path = `${base}/api/v1/room/${encodeURIComponent(roomName)}`;
  const post = (name: string, body: object, token?: string): Promise<unknown> =>
    call(`${path}/${name}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(token !== undefined && { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify(body),
    });
  return {
    door: async (token) => (await (token === undefined ? call(`${path}/door`, {}) : post("door", { token }))) as Door,
    join: async (request) => (await post("join", request)) as Joined | InLobby,
    act: async (token, act) => {
      await post("act", act, token);
    },
  };
}

interface RefusalBody extends RefusalMore {
  readonly message?: string;
  readonly error?: { readonly code?: string };
}

async function call(url: string, init: RequestInit): Promise<unknown> {
  let response: Response;
  try {
    response = await fetch(url, { ...init, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) });
  } catch {
    throw new Refused(0, "unreachable", "The service is not responding.");
  }
  const body = (await response.json().catch(() => ({}))) as RefusalBody;
  if (response.ok) return body;
  throw new Refused(response.status, body.error?.code ?? "", body.message ?? "", body);
}

const FLAGS: RoomFlags = {
  roomName: "",
  audioOnlyRoom: false,
  ownerOnlyBroadcast: false,
  enableChat: true,
  enableScreenSharing: true,
  enableRecording: false,
  showInviteBox: true,
  joinVideoOn: true,
  joinAudioOn: true,
};

/** Fields that are not set have their defaults. */
export const flagsOf = (room: Readonly<Record<string, unknown>>): RoomFlags => ({ ...FLAGS, ...room });

/**
 * The contract between the meeting page and what carries its media. Today a mesh carries it (mesh.ts); another implementation can take its
 * place without a change of the page.
 */
import type { Signalling } from "./signalling.ts";

export type { Signalling } from "./signalling.ts";

/** In the order of the m-lines: the place of a track says what it is. */
export const KINDS = ["audio", "video", "screen"] as const;
export type Kind = (typeof KINDS)[number];

/** What another participant sends. */
export interface RemoteTrack {
  readonly participantSession: string;
  readonly kind: Kind;
  readonly track: MediaStreamTrack;
}

/** How the connection to a participant is: `lost` while it is being restored. */
export type Quality = "connecting" | "good" | "poor" | "lost";

export interface MediaEvents {
  /** The list of `tracks()` has changed. */
  tracks: [];
  /** The connection to one participant has changed. */
  quality: [participantSession: string, quality: Quality];
  /** Who of the others speaks loudest now; undefined: no one. */
  speaker: [participantSession: string | undefined];
}

export interface MediaEngine {
  join(signalling: Signalling, iceServers: readonly RTCIceServer[]): void;
  /** For connections from now on: credentials of TURN servers end. */
  setIceServers(iceServers: readonly RTCIceServer[]): void;
  /** Sends this track, in place of an earlier one of the kind. null: sends none of the kind any more. The page stops its tracks itself. */
  publish(kind: Kind, track: MediaStreamTrack | null): Promise<void>;
  /** A muted track stays published and sends silence or black. */
  mute(kind: Kind, isMuted: boolean): void;
  tracks(): readonly RemoteTrack[];
  /** What of others may be shown: everything else is stopped at once, whatever they send. Call it again when the answer changes. */
  allow(isAllowed: (participantSession: string, kind: Kind) => boolean): void;
  /** How loud a participant is now, 0 to 1. */
  level(participantSession: string): number;
  qualityOf(participantSession: string): Quality;
  on<E extends keyof MediaEvents>(event: E, listener: (...args: MediaEvents[E]) => void): () => void;
  /** Ends all connections, and sends a goodbye to the others. */
  leave(): void;
}

/**
 * The contract between the meeting page and what carries its media. Today a mesh carries it (mesh.ts); another implementation can take its
 * place without a change of the page.
 */

export type Kind = "audio" | "video" | "screen";

/** What somebody else sends. */
export interface RemoteTrack {
  readonly participantSession: string;
  readonly kind: Kind;
  readonly track: MediaStreamTrack;
}

/** How the connection to somebody is: `lost` while it is being restored. */
export type Quality = "connecting" | "good" | "poor" | "lost";

export interface MediaEvents {
  /** The list of `tracks()` has changed. */
  tracks: [];
  /** Of one person. */
  quality: [participantSession: string, quality: Quality];
  /** Who speaks loudest now; undefined: nobody. */
  speaker: [participantSession: string | undefined];
}

/** Messages between the pages; room.ts is made of the room's channels. */
export interface Signalling {
  /** Oneself. */
  readonly self: string;
  /** The participantSessions of the others that are inside now. */
  others(): readonly string[];
  /** Called when `others()` has changed, and when this page is back after it was away. */
  onOthers(listener: () => void): () => void;
  /** Into the inbox of another one. Rejects if it was refused. */
  send(to: string, data: object): Promise<void>;
  onSignal(listener: (from: string, data: Readonly<Record<string, unknown>>) => void): () => void;
}

export interface MediaEngine {
  join(signalling: Signalling, iceServers: readonly RTCIceServer[]): void;
  /** Sends this track, in place of an earlier one of the kind. null: sends none of the kind any more. */
  publish(kind: Kind, track: MediaStreamTrack | null): Promise<void>;
  /** A muted track stays published and sends silence or black. */
  mute(kind: Kind, isMuted: boolean): void;
  tracks(): readonly RemoteTrack[];
  /** What of others may be shown: everything else is stopped at once, whatever they send. */
  allow(isAllowed: (participantSession: string, kind: Kind) => boolean): void;
  on<E extends keyof MediaEvents>(event: E, listener: (...args: MediaEvents[E]) => void): () => void;
  leave(): void;
}

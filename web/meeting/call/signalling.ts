/** Messages between the pages of a room, as what carries the media needs them; room.ts sends them through the inboxes of the room. */
export interface Signalling {
  /** One's own participantSession. */
  readonly self: string;
  /** This page continues a stay that an earlier page has begun: the others may still have connections to that page. */
  readonly isResumed: boolean;
  /** False while the connection to the service is being restored. */
  isOnline(): boolean;
  /** The participantSessions of the others that are inside now. */
  others(): readonly string[];
  /** Called when `others()` has changed, and when this page is back after it was away. */
  onOthers(listener: () => void): () => void;
  /** Into the inbox of another one; it waits while there is no connection. Rejects if the service has refused it, or the stay has ended. */
  send(to: string, data: Signal): Promise<void>;
  onSignal(listener: (from: string, data: Readonly<Record<string, unknown>>) => void): () => void;
}

export interface Description {
  readonly type: string;
  readonly sdp: string;
}

export interface Candidate {
  readonly candidate: string;
  readonly sdpMid: string | null;
  readonly sdpMLineIndex: number | null;
  readonly usernameFragment: string | null;
}

/** What pages send to each other; the service passes nothing else on. */
export type Signal =
  | { readonly description: Description }
  | { readonly candidate: Candidate }
  /** The sender has closed its connection: it leaves, or it begins anew. */
  | { readonly bye: true };

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** What another page has sent; undefined if it is no signal. The service has checked it, but this page does not depend on that. */
export function readSignal({ description, candidate, bye }: Readonly<Record<string, unknown>>): Signal | undefined {
  if (bye === true) return { bye };
  if (isObject(description)) {
    const { type, sdp } = description;
    return typeof type === "string" && typeof sdp === "string" ? { description: { type, sdp } } : undefined;
  }
  if (!isObject(candidate) || typeof candidate.candidate !== "string") return undefined;
  const { sdpMLineIndex } = candidate;
  return {
    candidate: {
      candidate: candidate.candidate,
      sdpMid: textOrNull(candidate.sdpMid),
      sdpMLineIndex: typeof sdpMLineIndex === "number" ? sdpMLineIndex : null,
      usernameFragment: textOrNull(candidate.usernameFragment),
    },
  };
}

/** Notes of nodes that have stopped about the members they held. A text holds many members; the node's parts understand it. */

export interface HeldMembersNote {
  /** Unix ms until which the note may be used. */
  readonly untilMs: number;
  readonly texts: readonly string[];
}

export interface HeldMemberStore {
  /** Replaces the note of this node, and removes notes that have ended. */
  put(node: string, note: HeldMembersNote, nowMs: number): Promise<void>;
  /** The note of one node; `undefined` if there is none, or it has ended. */
  read(nowMs: number, node: string): Promise<HeldMembersNote | undefined>;
  /**
   * All notes that have not ended as one, the newest first, for a node that starts: several nodes may have stopped together, as the workers
   * of one service do. Bound: TAKEN_TEXTS_MAX. A store that no other node uses forgets all notes with it: they say nothing of what happens
   * from now on, and the next start may follow a crash.
   */
  take(nowMs: number): Promise<HeldMembersNote | undefined>;
}

/** A text has about half a million characters. */
export const TAKEN_TEXTS_MAX = 128;

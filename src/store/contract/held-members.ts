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
   * For a node that starts: the newest note, and as one with it those of nodes that have stopped together with that one, as the workers
   * of one service do. Older ones say nothing of members that have come back and left since. Bound: TAKEN_TEXTS_MAX. A store that no other node uses forgets all notes with it: they say nothing of what happens
   * from now on, and the next start may follow a crash.
   */
  take(nowMs: number): Promise<HeldMembersNote | undefined>;
  /** Removes the notes that end by then: what they say is over. */
  drop(untilMs: number): Promise<void>;
}

/** Nodes that write their notes within this time have stopped together: about as long as a drain takes. */
export const STOPPED_TOGETHER_MS = 10_000;
/** A text has about half a million characters. */
export const TAKEN_TEXTS_MAX = 128;

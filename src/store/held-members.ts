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
   * The note of the node that wrote last, for a node that starts. A store that no other node uses forgets all notes with it: they
   * say nothing of what happens from now on, and the next start may follow a crash.
   */
  take(nowMs: number): Promise<HeldMembersNote | undefined>;
}

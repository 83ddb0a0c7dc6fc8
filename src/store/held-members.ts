/** Notes of nodes that have stopped about the members they held. A text holds many members; the node's parts understand it. */

export interface HeldMembersNote {
  /** Unix ms until which the note may be used. */
  readonly untilMs: number;
  readonly texts: readonly string[];
}

export interface HeldMemberStore {
  /** Replaces the note of this node, and removes notes that have ended. */
  put(node: string, note: HeldMembersNote, nowMs: number): Promise<void>;
  /** The note of one node, or of the one that wrote last; `undefined` if there is none, or it has ended. */
  read(nowMs: number, node?: string): Promise<HeldMembersNote | undefined>;
}

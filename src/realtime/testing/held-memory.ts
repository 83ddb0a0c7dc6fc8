/** For tests: the notes about held members of a store, in memory; it can be made to fail. */
import type { HeldMemberStore, HeldMembersNote } from "../../store/contract/held-members.ts";

export class HeldMemory implements HeldMemberStore {
  readonly notes = new Map<string, HeldMembersNote>();
  failing = false;
  /** Other nodes use it too: they read the notes that this one has taken. */
  isShared = false;

  async put(node: string, note: HeldMembersNote): Promise<void> {
    if (this.failing) throw new Error("the disk is full");
    this.notes.set(node, note);
  }

  async read(nowMs: number, node: string): Promise<HeldMembersNote | undefined> {
    if (this.failing) throw new Error("the disk is full");
    const note = this.notes.get(node);
    return note && note.untilMs > nowMs ? note : undefined;
  }

  async take(nowMs: number): Promise<HeldMembersNote | undefined> {
    if (this.failing) throw new Error("the disk is full");
    const found = [...this.notes.values()].filter((note) => note.untilMs > nowMs).sort((a, b) => b.untilMs - a.untilMs);
    if (!this.isShared) this.notes.clear();
    const [newest] = found;
    return newest && { untilMs: newest.untilMs, texts: found.flatMap(({ texts }) => texts) };
  }

  async drop(untilMs: number): Promise<void> {
    for (const [node, note] of this.notes) if (note.untilMs <= untilMs) this.notes.delete(node);
  }
}

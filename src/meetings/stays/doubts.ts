/**
 * Stays that the store was asked to let in and whose answer has not come. Their clients were refused, but the store may have let them in: such a stay would hold its
 * place, on this node and without a connection, for as long as the node lives. So it is written as lost, unless its client is back by then.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import type { MeetingStore } from "../../store/contract/meetings.ts";
import { DOUBTED_FOR_MS } from "../contract/limits.ts";
import type { StayWrites } from "./writes.ts";

interface DoubtParts {
  readonly store: Pick<MeetingStore, "lost">;
  readonly writes: Pick<StayWrites, "has" | "put">;
  /** Whether a connection of the stay is on this node, or on its way in. */
  readonly isExpected: (room: string, id: string) => boolean;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly monotonicMs: () => number;
}

interface Doubt {
  readonly room: string;
  /** Unix ms. */
  readonly atMs: number;
  /** Monotonic ms. */
  readonly dueMs: number;
}

export class Doubts {
  /** By participantSession. Bound: stays that were being let in while the store failed in the last DOUBTED_FOR_MS. */
  private readonly open = new Map<string, Doubt>();

  constructor(private readonly parts: DoubtParts) {}

  add({ id, room }: Pick<RoomClaims, "id" | "room">): void {
    const { nowMs, monotonicMs } = this.parts;
    this.open.set(id, { room, atMs: nowMs(), dueMs: monotonicMs() + DOUBTED_FOR_MS });
  }

  /** Every few seconds. */
  settle(): void {
    const { store, writes, isExpected, nodeId, monotonicMs } = this.parts;
    const now = monotonicMs();
    for (const [id, { room, atMs, dueMs }] of this.open) {
      if (now < dueMs) continue;
      this.open.delete(id);
      // What is to be written about it already says the same, or that it has ended.
      if (!isExpected(room, id) && !writes.has(id)) writes.put(id, () => store.lost(id, nodeId, atMs));
    }
  }
}

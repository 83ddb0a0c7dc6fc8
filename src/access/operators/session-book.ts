/** The sessions of the dashboard that this node knows, each with the signal that ends what it has opened. */
import type { SessionRow } from "../../store/contract/operators.ts";
import type { Operator } from "./operator.ts";

export interface Session {
  readonly row: SessionRow;
  readonly operator: Operator;
}

interface Entry extends Session {
  readonly end: AbortController;
}

export class SessionBook {
  // Bound: SESSIONS_MAX, and SESSIONS_PER_OPERATOR_MAX of one operator; every sign-in enforces both in the store.
  private readonly entries = new Map<string, Entry>();

  get size(): number {
    return this.entries.size;
  }

  has(digest: string): boolean {
    return this.entries.has(digest);
  }

  get(digest: string, nowMs: number): Session | undefined {
    const entry = this.entries.get(digest);
    return entry && nowMs < entry.row.ends ? entry : undefined;
  }

  add(row: SessionRow, of: Pick<Operator, "name" | "role">): void {
    const end = new AbortController();
    this.entries.set(row.digest, { row, end, operator: { name: of.name, role: of.role, revoked: end.signal } });
  }

  /** Ends every session that `isOver` names, and what it has opened. */
  endWhere(isOver: (row: SessionRow) => boolean): void {
    for (const { row, end } of [...this.entries.values()]) {
      if (!isOver(row)) continue;
      this.entries.delete(row.digest);
      end.abort();
    }
  }
}

/** What a node has not written yet of one application: the difference between its rows and what is so. */
import type { AppId } from "../../base/ids.ts";
import type { ClosedConnection, OpenedConnection } from "../../store/contract/tracking.ts";
import type { MemberName } from "./source.ts";

export class Pending {
  /** Bound: PENDING_MAX over all three and all applications, then the node begins anew. */
  private readonly opened = new Map<string, OpenedConnection>();
  /** Bound: as `opened`. */
  private readonly closed = new Map<string, ClosedConnection>();
  /** Members of which something has changed. Bound: as `opened`. */
  private readonly members = new Map<string, MemberName>();

  constructor(readonly app: AppId) {}

  get size(): number {
    return this.opened.size + this.closed.size + this.members.size;
  }

  open(connection: OpenedConnection): void {
    this.opened.set(connection.id, connection);
  }

  close(connection: ClosedConnection): void {
    // If it was still to be written, it came and went within one batch.
    if (!this.opened.delete(connection.id)) this.closed.set(connection.id, connection);
  }

  change(name: MemberName): void {
    this.members.set(`${name.channel}\0${name.peerId}`, name);
  }

  takeOpened(limit: number): OpenedConnection[] {
    return taken(this.opened, limit);
  }

  takeClosed(limit: number): ClosedConnection[] {
    return taken(this.closed, limit);
  }

  takeMembers(limit: number): MemberName[] {
    return taken(this.members, limit);
  }

  forgetConnections(): void {
    this.opened.clear();
    this.closed.clear();
  }

  clear(): void {
    this.forgetConnections();
    this.members.clear();
  }
}

/** The oldest. */
function taken<T>(from: Map<string, T>, limit: number): T[] {
  const all: T[] = [];
  for (const [key, one] of from) {
    if (all.length >= limit) break;
    from.delete(key);
    all.push(one);
  }
  return all;
}

/**
 * Closes connections at their deadline, with one timer wheel for all of them. Tokens expire by the wall clock, so the wheel turns
 * by it: after a machine was suspended, the first turn closes every connection that is overdue.
 */
import type { Clock } from "../../base/clock.ts";
import type { Connection } from "../state/connection.ts";
import { oldestFirst } from "../state/departure.ts";
import type { Boundary } from "./boundary.ts";
import type { ConnectionObserver, Connections } from "./connections.ts";
import { EXPIRY_LEAD_MS } from "./limits.ts";

const SLOT_MS = 50;
const NEVER = Number.POSITIVE_INFINITY;

export class Deadlines implements ConnectionObserver {
  /**
   * Slot n holds the connections due by n × SLOT_MS. A connection knows its index there: removing it takes constant time. Bound:
   * one per connection.
   */
  private readonly slots = new Map<number, Connection[]>();
  private earliest = NEVER;
  private isSweepScheduled = false;

  constructor(
    private readonly clock: Clock,
    private readonly boundary: Boundary,
    private readonly connections: Connections,
  ) {}

  connected(connection: Connection): void {
    this.place(connection);
  }

  /** A connection that has ended is not kept until its token would have expired. */
  disconnected(connection: Connection): void {
    this.remove(connection);
  }

  /** Its deadline may have changed. */
  set(connection: Connection): void {
    this.remove(connection);
    this.place(connection);
  }

  private place(connection: Connection): void {
    const expiry = connection.expiresAtMs === null ? NEVER : connection.expiresAtMs - EXPIRY_LEAD_MS;
    connection.deadlineMs = Math.min(expiry, connection.secretEndsMs ?? NEVER);
    if (connection.deadlineMs === NEVER) return;
    const slot = slotOf(connection);
    const inSlot = this.slots.get(slot);
    connection.deadlineIndex = inSlot ? inSlot.push(connection) - 1 : 0;
    if (!inSlot) this.slots.set(slot, [connection]);
    this.earliest = Math.min(this.earliest, slot);
    if (!this.isSweepScheduled) this.scheduleSweep();
  }

  private remove(connection: Connection): void {
    const slot = slotOf(connection);
    const inSlot = this.slots.get(slot);
    if (inSlot?.[connection.deadlineIndex] !== connection) return;
    const last = inSlot.pop();
    if (last && last !== connection) {
      inSlot[connection.deadlineIndex] = last;
      last.deadlineIndex = connection.deadlineIndex;
    }
    if (inSlot.length === 0) this.slots.delete(slot);
  }

  private scheduleSweep(): void {
    if (this.slots.size === 0) return;
    this.isSweepScheduled = true;
    this.clock.after(SLOT_MS, () => {
      this.isSweepScheduled = false;
      try {
        const now = this.clock.wallMs();
        if (this.earliest * SLOT_MS <= now) this.serve(now);
      } finally {
        // Even after an exception: without the next turn no token would expire any more.
        if (!this.isSweepScheduled) this.scheduleSweep();
      }
    });
  }

  private serve(now: number): void {
    this.earliest = NEVER;
    const due: Connection[] = [];
    for (const [slot, inSlot] of this.slots) {
      if (slot * SLOT_MS > now) {
        this.earliest = Math.min(this.earliest, slot);
        continue;
      }
      this.slots.delete(slot);
      for (const connection of inSlot) due.push(connection);
    }
    for (const connection of oldestFirst(due))
      if (connection.open) this.boundary.forConnection("timer", connection, () => this.connections.expire(connection));
  }
}

const slotOf = (connection: Connection): number => Math.ceil(connection.deadlineMs / SLOT_MS);

/**
 * Direct messages to a connection of a peer that has come back a moment ago. They wait for its first rosters: the public SDK gives
 * an offer that comes before them to an RTCPeerConnection that it then replaces, and the call would never go on. To their senders
 * they are delivered, like bytes that wait for a slow reader.
 */
import type { Clock } from "../../base/clock.ts";
import type { Connection } from "../state/connection.ts";
import type { EarlyDirect } from "../state/connection-extras.ts";
import { EARLY_DIRECTS_MAX } from "./limits.ts";

/** How long they wait for a connection that subscribes to nothing. */
const SUBSCRIBES_WITHIN_MS = 1000;
/** How long they wait for a connection whose rosters are late. */
const ROSTERS_WITHIN_MS = 3000;
const RETRY_MS = 150;

interface EarlyDirectsParts {
  readonly clock: Clock;
  readonly write: (connection: Connection, direct: EarlyDirect) => void;
}

export class EarlyDirects {
  /** Connections with messages that wait. Bound: the connections of this node. */
  private readonly connections = new Set<Connection>();
  private isTimerSet = false;

  constructor(private readonly parts: EarlyDirectsParts) {}

  /** Whether a message to this connection must wait, even if none waits before it. */
  isTooEarly(connection: Connection): boolean {
    return awaitsRoster(connection, this.parts.clock.monotonicMs());
  }

  add(connection: Connection, direct: EarlyDirect): void {
    const { withExtras } = connection;
    withExtras.earlyDirects ??= [];
    withExtras.earlyDirects.push(direct);
    this.connections.add(connection);
    if (withExtras.earlyDirects.length >= EARLY_DIRECTS_MAX) return this.flush(connection);
    this.setTimer();
  }

  /** The connection may have got a roster. */
  returned(connection: Connection): void {
    if (connection.extras?.earlyDirects && !this.isTooEarly(connection)) this.flush(connection);
  }

  /** The connection ends: where the service closes it, its client gets them before the close frame. */
  ended(connection: Connection): void {
    if (connection.extras?.earlyDirects) this.flush(connection);
  }

  private flush(connection: Connection): void {
    const { withExtras } = connection;
    const directs = withExtras.earlyDirects ?? [];
    withExtras.earlyDirects = undefined;
    this.connections.delete(connection);
    for (const direct of directs) this.parts.write(connection, direct);
  }

  private setTimer(): void {
    if (this.isTimerSet || this.connections.size === 0) return;
    this.isTimerSet = true;
    this.parts.clock.after(RETRY_MS, () => {
      this.isTimerSet = false;
      try {
        for (const connection of [...this.connections]) this.returned(connection);
      } finally {
        // Even after an exception: without the next turn messages would wait without an end.
        this.setTimer();
      }
    });
  }
}

function awaitsRoster({ subscriptions, openedMs }: Connection, monotonicMs: number): boolean {
  const ageMs = monotonicMs - openedMs;
  if (ageMs >= ROSTERS_WITHIN_MS) return false;
  let hasRoster = false;
  for (const subscription of subscriptions) {
    if (subscription.awaitsRoster) return true;
    hasRoster ||= subscription.hasRoster;
  }
  return !hasRoster && ageMs < SUBSCRIBES_WITHIN_MS;
}

/**
 * Peers whose last connection the service itself has closed and that it expects back within seconds (history 4): a direct message
 * to one of them waits for its return. The node that has closed the connection still receives direct messages to the peer, and
 * answers that it is held.
 */
import type { Engine } from "../../engine/engine.ts";
import { HOLD_MS } from "../../protocol/limits.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import type { Clock } from "../clock.ts";
import type { Connection } from "../connection.ts";
import { LINGERING_MAX } from "../limits.ts";
import { safely } from "../safely.ts";
import type { Spaces } from "../spaces.ts";

const SWEEP_MS = 500;

interface Hold {
  readonly app: string;
  readonly peerId: string;
  /** Steady ms. */
  readonly untilMs: number;
  /** This node has closed the connection, and still receives what is sent to the peer. */
  readonly isOwn: boolean;
  readonly keyId: string;
}

export interface HoldsParts {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly spaces: Spaces;
  readonly faults: FaultLog;
}

export class Holds {
  private readonly held = new Map<string, Hold>();
  private isTimerSet = false;
  /** Steady ms until which peers are held at least: while a node drains, those it has closed first wait for the last. */
  atLeastUntilMs = 0;

  constructor(private readonly parts: HoldsParts) {}

  get size(): number {
    return this.held.size;
  }

  get all(): Iterable<Hold> {
    return this.held.values();
  }

  isHeld(app: string, peerId: string): boolean {
    const hold = this.held.size === 0 ? undefined : this.held.get(keyOf(app, peerId));
    if (hold !== undefined && hold.untilMs > this.parts.clock.steadyMs()) return true;
    // Its last connection ends in this turn: the hold begins when everything of that connection has ended.
    for (const { open, departure, isFromToken } of this.parts.spaces.peer(app, peerId)?.connections ?? [])
      if (!open && departure === "held" && isFromToken) return true;
    return false;
  }

  /** The last connection of a peer here has ended. Returns whether the peer is held; otherwise nothing is received for it any more. */
  disconnected({ peer, peerId, keyId, departure, isFromToken }: Connection): boolean {
    if (departure !== "held" || !isFromToken) return false;
    const untilMs = Math.max(this.parts.clock.steadyMs() + HOLD_MS, this.atLeastUntilMs);
    return this.add({ app: peer.space.app, peerId, untilMs, isOwn: true, keyId });
  }

  /** Another node has closed the connection of this peer, and is gone. */
  inherit(app: string, peerId: string, untilMs: number, keyId: string): void {
    if (!this.held.has(keyOf(app, peerId))) this.add({ app, peerId, untilMs, isOwn: false, keyId });
  }

  private add(hold: Hold): boolean {
    if (this.held.size >= LINGERING_MAX) return false;
    this.held.set(keyOf(hold.app, hold.peerId), hold);
    this.setTimer();
    return true;
  }

  /** The peer is back, or must not come back. */
  end(app: string, peerId: string): void {
    const hold = this.held.size === 0 ? undefined : this.held.get(keyOf(app, peerId));
    if (hold) this.remove(hold);
  }

  endKey(keyId: string): void {
    for (const hold of [...this.held.values()]) if (hold.keyId === keyId) this.remove(hold);
  }

  private remove(hold: Hold): void {
    const { app, peerId } = hold;
    this.held.delete(keyOf(app, peerId));
    const { spaces, engine, faults } = this.parts;
    if (!hold.isOwn || spaces.peer(app, peerId)?.isConnected) return;
    safely(faults, "timer", () => engine.release(app, peerId));
  }

  private setTimer(): void {
    if (this.isTimerSet || this.held.size === 0) return;
    this.isTimerSet = true;
    this.parts.clock.after(SWEEP_MS, () => {
      this.isTimerSet = false;
      const nowMs = this.parts.clock.steadyMs();
      for (const hold of [...this.held.values()]) if (hold.untilMs <= nowMs) this.remove(hold);
      this.setTimer();
    });
  }
}

/** Unambiguous: an application's id contains no space. */
const keyOf = (app: string, peerId: string): string => `${app} ${peerId}`;

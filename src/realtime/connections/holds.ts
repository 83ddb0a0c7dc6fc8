/**
 * Peers whose last connection the service itself has closed and that it expects back within seconds (history 4): a direct message
 * to one of them waits for its return. The node that has closed the connection still receives direct messages to the peer, and
 * answers that it is held.
 */
import type { Clock } from "../../base/clock.ts";
import type { SpaceId } from "../../base/ids.ts";
import type { Engine } from "../../engine/engine.ts";
import { HOLD_MS } from "../../protocol/limits.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { safely } from "../../telemetry/safely.ts";
import type { Connection } from "../state/connection.ts";
import type { Spaces } from "../state/spaces.ts";
import { LINGERING_MAX, LINGERING_PER_APP_MAX } from "./limits.ts";

const SWEEP_MS = 500;
/** How long a hold goes on when the peer has connected to another node: messages that know of this node only still arrive. */
const AFTER_RETURN_MS = 1000;

interface Hold {
  readonly spaceId: SpaceId;
  readonly peerId: string;
  /** Steady ms. */
  readonly untilMs: number;
  /** This node has closed the connection, and still receives what is sent to the peer. */
  readonly isOwn: boolean;
  readonly keyId: string;
  /** It has connected to another node, and the hold ends soon. */
  readonly hasReturned?: true;
}

interface HoldsParts {
  readonly clock: Clock;
  readonly engine: Engine;
  readonly spaces: Spaces;
  readonly faults: FaultLog;
}

export class Holds {
  /** Bound: LINGERING_MAX, half of them of one application, for 10 s; further peers are not waited for. */
  private readonly held = new Map<string, Hold>();
  /** How many of them each application has. Bound: applications in `held`. */
  private readonly counts = new Map<string, number>();
  private isTimerSet = false;
  /** Steady ms until which peers are held at least: while a node drains, those it has closed first wait for the last. */
  atLeastUntilMs = 0;
  /** The peer is back, or must not come back. `isOwn`: this node has closed its connection. */
  onReturn: (spaceId: SpaceId, peerId: string, isOwn: boolean) => void = () => undefined;
  /** The peer is expected back. */
  onHold: (spaceId: SpaceId, peerId: string) => void = () => undefined;

  constructor(private readonly parts: HoldsParts) {}

  get size(): number {
    return this.held.size;
  }

  /** Those that are still expected. */
  get all(): Iterable<Hold> {
    return this.held.values().filter(({ hasReturned }) => !hasReturned);
  }

  isHeld(spaceId: SpaceId, peerId: string): boolean {
    const hold = this.held.size === 0 ? undefined : this.held.get(keyOf(spaceId, peerId));
    if (hold !== undefined && hold.untilMs > this.parts.clock.steadyMs()) return true;
    // Its last connection ends in this turn: the hold begins when everything of that connection has ended.
    for (const { open, departure, isFromToken } of this.parts.spaces.peer(spaceId, peerId)?.connections ?? [])
      if (!open && departure === "held" && isFromToken) return true;
    return false;
  }

  /** The last connection of a peer here has ended. Returns whether the peer is held; otherwise nothing is received for it any more. */
  disconnected({ peer, peerId, keyId, departure, isFromToken }: Connection): boolean {
    if (departure !== "held" || !isFromToken) return false;
    const untilMs = Math.max(this.parts.clock.steadyMs() + HOLD_MS, this.atLeastUntilMs);
    return this.add({ spaceId: peer.space.id, peerId, untilMs, isOwn: true, keyId });
  }

  /** Another node has closed the connection of this peer, and is gone. */
  inherit(spaceId: SpaceId, peerId: string, untilMs: number, keyId: string): void {
    const isKnown =
      this.held.has(keyOf(spaceId, peerId)) || this.parts.spaces.peer(spaceId, peerId)?.isConnected === true;
    if (!isKnown) this.add({ spaceId, peerId, untilMs, isOwn: false, keyId });
  }

  private add(hold: Hold): boolean {
    const { spaceId, peerId, isOwn } = hold;
    const { engine, faults } = this.parts;
    const key = keyOf(spaceId, peerId);
    const count = this.held.has(key) ? (this.counts.get(spaceId) ?? 1) - 1 : (this.counts.get(spaceId) ?? 0);
    if (this.held.size >= LINGERING_MAX || count >= LINGERING_PER_APP_MAX) return false;
    this.held.set(key, hold);
    this.counts.set(spaceId, count + 1);
    this.onHold(spaceId, peerId);
    if (isOwn) safely(faults, "socket", () => engine.expect(spaceId, peerId));
    this.setTimer();
    return true;
  }

  /** The peer has connected to another node. */
  returnedElsewhere(spaceId: SpaceId, peerId: string): void {
    const key = keyOf(spaceId, peerId);
    const hold = this.held.size === 0 ? undefined : this.held.get(key);
    if (!hold) return;
    const untilMs = Math.min(hold.untilMs, this.parts.clock.steadyMs() + AFTER_RETURN_MS);
    this.held.set(key, { ...hold, untilMs, hasReturned: true });
    if (!hold.hasReturned) this.onReturn(spaceId, peerId, hold.isOwn);
  }

  /** The peer is back, or must not come back. */
  end(spaceId: SpaceId, peerId: string): void {
    const hold = this.held.size === 0 ? undefined : this.held.get(keyOf(spaceId, peerId));
    if (!hold) return;
    this.remove(hold);
    this.onReturn(spaceId, peerId, hold.isOwn);
  }

  endKey(keyId: string): void {
    for (const hold of [...this.held.values()]) if (hold.keyId === keyId) this.remove(hold);
  }

  private remove(hold: Hold): void {
    const { spaceId, peerId } = hold;
    this.held.delete(keyOf(spaceId, peerId));
    const left = (this.counts.get(spaceId) ?? 1) - 1;
    if (left > 0) this.counts.set(spaceId, left);
    else this.counts.delete(spaceId);
    const { spaces, engine, faults } = this.parts;
    if (!hold.isOwn || spaces.peer(spaceId, peerId)?.isConnected) return;
    safely(faults, "timer", () => engine.release(spaceId, peerId));
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
const keyOf = (spaceId: SpaceId, peerId: string): string => `${spaceId} ${peerId}`;

/**
 * The other workers by slot, and whether this worker is up. A connection that is lost says nothing yet about its worker: if no process
 * listens in the slot any more, that worker is gone, which is no outage. If the same process connects again, payloads were lost in both
 * directions, and the node protocol has to repair that: `down`, then `up`. A new process in the slot is a new node.
 */
import type { WorkerConnection } from "./worker-connection.ts";

/**
 * A worker that has lost all its connections is down after this time, unless the others turn out to be gone. A killed process takes a moment.
 * One that has some again is up after this time, also if others are still lost.
 */
const DOUBT_MS = 250;

type State =
  | { readonly is: "unknown" }
  | { readonly is: "absent" }
  | { readonly is: "connected"; readonly connection: WorkerConnection }
  | { readonly is: "lost"; readonly sinceMs: number };

interface Slot {
  state: State;
  /** The process that was connected last. */
  incarnation: string | undefined;
}

interface SlotsParts {
  /** Number of slots, and the one of this worker. */
  readonly slots: number;
  readonly own: number;
  readonly nowMs: () => number;
  readonly down: () => void;
  readonly up: () => void;
}

export class Slots {
  isUp = true;
  /** Bound: one per slot. */
  private readonly byNumber: ReadonlyMap<number, Slot>;
  /** A worker has come back, and `down` and `up` are due. */
  private isRepairDue = false;
  private settled: (() => void) | undefined;

  constructor(private readonly parts: SlotsParts) {
    const others = Array.from({ length: parts.slots }, (_, slot) => slot).filter((slot) => slot !== parts.own);
    this.byNumber = new Map(others.map((slot) => [slot, { state: { is: "unknown" }, incarnation: undefined }]));
  }

  get others(): number[] {
    return [...this.byNumber.keys()];
  }

  has(slot: number): boolean {
    return this.byNumber.has(slot);
  }

  isLinked(slot: number): boolean {
    return this.byNumber.get(slot)?.state.is === "connected";
  }

  isAbsent(slot: number): boolean {
    return this.byNumber.get(slot)?.state.is === "absent";
  }

  /** Nothing was heard of it yet. */
  isUnknown(slot: number): boolean {
    return this.byNumber.get(slot)?.state.is === "unknown";
  }

  /** Those that are neither connected nor absent. */
  get awaited(): number[] {
    return this.others.filter((slot) => !this.isLinked(slot) && !this.isAbsent(slot));
  }

  /** Each other worker is connected or absent, and no repair is due. */
  get isSettled(): boolean {
    return !this.isRepairDue && this.awaited.length === 0;
  }

  /** Resolves when each other worker is connected or absent. */
  settle(): Promise<void> {
    return new Promise((resolve) => {
      this.settled = resolve;
      this.check();
    });
  }

  /** Takes effect with `check`. Returns the earlier connection to the same process, which that process no longer uses. */
  connected(slot: number, connection: WorkerConnection): WorkerConnection | undefined {
    const one = this.byNumber.get(slot);
    if (!one) return undefined;
    const { state, incarnation } = one;
    const isSame = incarnation === connection.worker?.incarnation;
    one.state = { is: "connected", connection };
    one.incarnation = connection.worker?.incarnation;
    this.isRepairDue ||= isSame;
    // What a process that has ended still sent is read to its end.
    return state.is === "connected" && isSame ? state.connection : undefined;
  }

  /** Whether it was the connection in use. */
  lost(slot: number, connection: WorkerConnection): boolean {
    const one = this.byNumber.get(slot);
    if (one?.state.is !== "connected" || one.state.connection !== connection) return false;
    one.state = { is: "lost", sinceMs: this.parts.nowMs() };
    return true;
  }

  /** No process listens in that slot. */
  absent(slot: number): void {
    const one = this.byNumber.get(slot);
    if (!one || one.state.is === "connected") return;
    one.state = { is: "absent" };
    this.check();
  }

  /** Called after each change, and periodically: a doubt ends with time too. */
  check(): void {
    const states = [...this.byNumber.values()].map(({ state }) => state);
    const isAnyLinked = states.some(({ is }) => is === "connected");
    const isAnyLost = states.some(({ is }) => is === "lost");
    const before = this.parts.nowMs() - DOUBT_MS;
    const isInDoubt = states.some((state) => state.is === "lost" && state.sinceMs > before);
    if (this.settled && this.awaited.length === 0) this.settled();
    // At once when a worker comes back: what it sends now must not be taken for all that it has sent.
    if (this.isUp && (this.isRepairDue || (isAnyLost && !isAnyLinked && !isInDoubt))) {
      this.isUp = false;
      this.parts.down();
    }
    // Once for all connections that come back together, for example after this process was stopped for a while.
    if (!this.isUp && (!isAnyLost || (isAnyLinked && !isInDoubt))) this.repair();
  }

  private repair(): void {
    this.isRepairDue = false;
    this.isUp = true;
    this.parts.up();
  }
}

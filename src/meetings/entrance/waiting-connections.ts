/**
 * The connections of visitors in lobbies that this node has: one per visitor, so that no one can use up an application's connections from a lobby. The newest
 * wins, on whichever node it is; the older one is closed with 4021 `replaced`. A visitor who has an answer needs none any more: one that is still there soon
 * after is closed.
 */
import type { RoomClaims } from "../../access/tokens/room-token.ts";
import { asAppId } from "../../base/ids.ts";
import { isObject } from "../../protocol/json.ts";
import type { WaitingRow } from "../../store/contract/meetings.ts";
import type { Floor } from "../contract/floor.ts";
import { ADMITTED_LEAVES_MS, DECLINED_LEAVES_MS, OPENS_WITHIN_MS, WAIT_MAX_SEC } from "../contract/limits.ts";

interface WaitingConnectionParts {
  readonly floor: Pick<Floor, "close" | "ask" | "on">;
  readonly nodeId: string;
  readonly nowMs: () => number;
  readonly steadyMs: () => number;
  readonly failed: (error: unknown) => void;
}

/** When its connection is closed at the latest. */
interface Until {
  /** Steady ms. */
  untilMs: number;
  /** The visitor was admitted or declined. */
  isAnswered: boolean;
  /** The answer was published while it was connected. */
  isTold: boolean;
}

/** Accepted, but not open yet. */
interface Opening extends Until {
  /** Unix ms: decides which of two connections on different nodes is the newer one. */
  readonly enteredMs: number;
  /** Steady ms. */
  readonly openingSinceMs: number;
}

/** A visitor with a connection on this node. */
export interface WaitingHere extends Until {
  readonly claims: RoomClaims;
  readonly connection: string;
  readonly enteredMs: number;
  /** When this was last noted in the store, steady ms. */
  seen: number;
}

type Answer = Exclude<WaitingRow["state"], "waiting">;

/** Asked of all nodes: a visitor has a newer connection; a visitor has an answer; which of these visitors have a connection there. */
const REPLACED = "meetings.wait.replaced";
const ANSWERED = "meetings.wait.answered";
const CONNECTED = "meetings.wait.connected";

const WAIT_MAX_MS = WAIT_MAX_SEC * 1000;
const LEAVES_MS: Readonly<Record<Answer, number>> = { admitted: ADMITTED_LEAVES_MS, declined: DECLINED_LEAVES_MS };

export class WaitingConnections {
  /** Bound: connections that are being opened, at most OPENS_WITHIN_MS. */
  private readonly opening = new Map<RoomClaims, Opening>();
  /** By waitId. Bound: one per place in a lobby. */
  private readonly here = new Map<string, WaitingHere>();

  constructor(private readonly parts: WaitingConnectionParts) {
    parts.floor.on(REPLACED, (payload) => this.replacedElsewhere(payload));
    parts.floor.on(ANSWERED, (payload) => {
      if (!isObject(payload)) return;
      const { id, state, isTold } = payload;
      if (typeof id === "string" && (state === "admitted" || state === "declined"))
        this.answered(id, state, isTold !== false);
    });
    parts.floor.on(CONNECTED, (payload) => {
      const ids = isObject(payload) && Array.isArray(payload.ids) ? payload.ids : [];
      return ids.filter((id) => this.here.has(id));
    });
  }

  has(one: WaitingHere): boolean {
    return this.here.get(one.claims.id) === one;
  }

  all(): readonly WaitingHere[] {
    return [...this.here.values()];
  }

  /**
   * Those of these visitors who have a connection, on whichever node. The store may know nothing of it: a node that cannot reach the store cannot note there
   * that a visitor is connected.
   */
  async connectedOf(waitIds: readonly string[]): Promise<readonly string[]> {
    const connected = new Set((await this.parts.floor.ask(CONNECTED, { ids: waitIds })).flat());
    return waitIds.filter((waitId) => connected.has(waitId));
  }

  /** A connection to the lobby is about to open. Returns the time to be noted in the store, Unix ms. */
  opens(claims: RoomClaims, { since, seen, state }: WaitingRow): number {
    const { nowMs, steadyMs } = this.parts;
    const now = nowMs();
    const openingSinceMs = steadyMs();
    // Later than what was noted before, by whichever node's clock.
    const enteredMs = seen > now ? seen + 1 : now;
    const leftMs = Math.min(WAIT_MAX_MS, since + WAIT_MAX_MS - now);
    const isAnswered = state !== "waiting";
    const untilMs = openingSinceMs + (isAnswered ? Math.min(leftMs, LEAVES_MS[state]) : leftMs);
    this.opening.set(claims, { enteredMs, openingSinceMs, untilMs, isAnswered, isTold: false });
    return enteredMs;
  }

  connected(claims: RoomClaims, connection: string): void {
    const { floor, steadyMs, failed } = this.parts;
    const { app, id } = claims;
    const opening = this.opening.get(claims);
    const earlier = this.here.get(id);
    if (!opening) {
      // It took too long: nothing would close it later.
      floor.close(app, id, "replaced", earlier?.connection);
      return;
    }
    this.opening.delete(claims);
    const { enteredMs, untilMs, isAnswered, isTold } = opening;
    this.here.set(id, { claims, connection, enteredMs, untilMs, isAnswered, isTold, seen: steadyMs() });
    if (earlier) floor.close(app, id, "replaced", connection);
    this.tellOthers(claims, connection, enteredMs).catch(failed);
  }

  /** Whether the visitor has no connection here any more, nor one that is being opened. One that was replaced or closed before changes nothing. */
  disconnected(claims: RoomClaims, connection: string): boolean {
    const { id } = claims;
    const here = this.here.get(id);
    if (this.opening.delete(claims)) return !here && !this.isOpening(id);
    if (here?.connection !== connection) return false;
    this.here.delete(id);
    return !this.isOpening(id);
  }

  /** It is not known here any more; who calls this closes it. */
  remove({ claims }: WaitingHere): void {
    this.here.delete(claims.id);
  }

  /** On this node: its page leaves by itself within moments; the sweep closes a connection that does not. */
  answered(waitId: string, state: Answer, isTold: boolean): void {
    const untilMs = this.parts.steadyMs() + LEAVES_MS[state];
    const ofVisitor: (Until | undefined)[] = [this.here.get(waitId)];
    for (const [{ id }, opening] of this.opening) if (id === waitId) ofVisitor.push(opening);
    for (const one of ofVisitor) {
      if (one) one.isTold ||= isTold;
      if (!one || one.isAnswered) continue;
      one.isAnswered = true;
      one.untilMs = Math.min(one.untilMs, untilMs);
    }
  }

  /** The same on all nodes. */
  async tellAnswer(waitId: string, state: Answer, isTold: boolean): Promise<void> {
    await this.parts.floor.ask(ANSWERED, { id: waitId, state, isTold }).catch(this.parts.failed);
  }

  /** Connections that were accepted and did not open. */
  forgetUnopened(): void {
    const before = this.parts.steadyMs() - OPENS_WITHIN_MS;
    for (const [claims, { openingSinceMs }] of this.opening) if (openingSinceMs <= before) this.opening.delete(claims);
  }

  private isOpening(waitId: string): boolean {
    for (const { id } of this.opening.keys()) if (id === waitId) return true;
    return false;
  }

  /** An older connection on another node is closed there; if a newer one is there, this one is closed here. */
  private async tellOthers({ app, id }: RoomClaims, connection: string, enteredMs: number): Promise<void> {
    const { floor, nodeId } = this.parts;
    const answers = await floor.ask(REPLACED, { app, id, enteredMs, node: nodeId });
    if (!answers.includes("newer") || this.here.get(id)?.connection !== connection) return;
    this.here.delete(id);
    floor.close(app, id, "replaced");
  }

  private replacedElsewhere(payload: unknown): string {
    if (!isObject(payload)) return "none";
    const { app, id, node } = payload as Record<string, string | undefined>;
    const enteredMs = Number(payload.enteredMs);
    const { floor, nodeId } = this.parts;
    if (!app || !id || !node || node === nodeId) return "none";
    const here = this.here.get(id);
    if (here?.claims.app !== app) return "none";
    if (here.enteredMs > enteredMs || (here.enteredMs === enteredMs && nodeId > node)) return "newer";
    this.here.delete(id);
    floor.close(asAppId(app), id, "replaced");
    return "closed";
  }
}

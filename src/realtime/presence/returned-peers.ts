/**
 * Peers that were expected back and have come back, or were kicked. Notes (notes.ts) do not say that, and stay in the store for nodes
 * that start later. So nodes tell each other who is back, and one that starts asks before it believes a note: otherwise people who have
 * said goodbye since would be members again.
 */
import type { Clock } from "../../base/clock.ts";
import { asSpaceId, type SpaceId } from "../../base/ids.ts";
import { SharedMap } from "../../base/shared-map.ts";
import type { NodeRequests } from "../../engine/node-requests.ts";
import { RETURNED_PEERS_MAX } from "./limits.ts";

/** Who has returned, by application and peer id. */
export type PeerName = readonly [spaceId: SpaceId, peerId: string];

interface ReturnedPeersParts {
  readonly clock: Clock;
  readonly nodeRequests: Pick<NodeRequests, "gather" | "onRequest" | "othersKnown">;
  /** As long as a note counts. */
  readonly rememberedMs: number;
  /** Other nodes say that these have come back to them. */
  readonly returnedElsewhere: (peers: readonly PeerName[]) => void;
  readonly failed: (error: unknown) => void;
}

/** The names of the requests: that peers have returned, and which ones have. */
const NOTIFY = "peers-returned";
const ASK = "which-peers-returned";
/** Many peers return at once when a node restarts: one request names many. */
const NOTIFY_AFTER_MS = 500;
/** In one request, whose length is limited. */
const NOTIFIED_TOGETHER_MAX = 250;
/** A node that is busy may miss one question. */
const QUESTIONS_MAX = 2;

export class ReturnedPeers {
  /** Until when each is remembered, steady ms; oldest first. Bound: RETURNED_PEERS_MAX; beyond it that of the application that has the most goes. */
  private readonly returned = new SharedMap<number>(RETURNED_PEERS_MAX);
  /** Those that other nodes are to be notified of. Bound: the same, for half a second. */
  private toNotify = new SharedMap<PeerName>(RETURNED_PEERS_MAX);
  private isTimerSet = false;

  constructor(private readonly parts: ReturnedPeersParts) {
    parts.nodeRequests.onRequest(NOTIFY, (peers) => this.notified(peersOf(peers)));
    parts.nodeRequests.onRequest(ASK, () => this.all());
  }

  get size(): number {
    return this.returned.size;
  }

  has(spaceId: SpaceId, peerId: string): boolean {
    return this.returned.size > 0 && (this.returned.get(keyOf(spaceId, peerId)) ?? 0) > this.parts.clock.steadyMs();
  }

  /** `isNoted`: other nodes may expect it too. */
  add(spaceId: SpaceId, peerId: string, isNoted: boolean): void {
    // What another node has said is not repeated to it.
    const isKnown = this.has(spaceId, peerId);
    this.remember(spaceId, peerId);
    if (isKnown || !isNoted) return;
    this.toNotify.set(spaceId, keyOf(spaceId, peerId), [spaceId, peerId]);
    this.setTimer();
  }

  /** Its connection was closed again. */
  expectedAgain(spaceId: SpaceId, peerId: string): void {
    if (this.returned.size > 0) this.returned.delete(spaceId, keyOf(spaceId, peerId));
  }

  /** Resolves with false if it is not known who has returned: a node has not answered. Never rejects. */
  async ask(): Promise<boolean> {
    const { nodeRequests, failed } = this.parts;
    try {
      await nodeRequests.othersKnown();
      for (let question = 0; question < QUESTIONS_MAX; question++) {
        const { answers, isComplete } = await nodeRequests.gather(ASK, null, peersOf);
        for (const peers of answers) for (const [spaceId, peerId] of peers) this.remember(spaceId, peerId);
        if (isComplete) return true;
      }
    } catch (error) {
      failed(error);
    }
    return false;
  }

  private remember(spaceId: SpaceId, peerId: string): void {
    const nowMs = this.parts.clock.steadyMs();
    for (const [oldest, untilMs] of this.returned) {
      if (untilMs > nowMs) break;
      this.returned.delete(nameOf(oldest)[0], oldest);
    }
    // Behind all others, also if it was there: the map is in the order of times.
    this.returned.set(spaceId, keyOf(spaceId, peerId), nowMs + this.parts.rememberedMs);
  }

  private notified(peers: readonly PeerName[]): boolean {
    for (const [spaceId, peerId] of peers) this.remember(spaceId, peerId);
    this.parts.returnedElsewhere(peers);
    return true;
  }

  private all(): PeerName[] {
    const nowMs = this.parts.clock.steadyMs();
    return [...this.returned].filter(([, untilMs]) => untilMs > nowMs).map(([key]) => nameOf(key));
  }

  private setTimer(): void {
    if (this.isTimerSet) return;
    this.isTimerSet = true;
    this.parts.clock.after(NOTIFY_AFTER_MS, () => {
      this.isTimerSet = false;
      const { nodeRequests, failed } = this.parts;
      const peers = [...this.toNotify].map(([, peer]) => peer);
      this.toNotify = new SharedMap(RETURNED_PEERS_MAX);
      for (let at = 0; at < peers.length; at += NOTIFIED_TOGETHER_MAX)
        nodeRequests.gather(NOTIFY, peers.slice(at, at + NOTIFIED_TOGETHER_MAX), Boolean).catch(failed);
    });
  }
}

/** Throws if another node has sent something else. */
function peersOf(value: unknown): readonly PeerName[] {
  if (!Array.isArray(value) || value.length > RETURNED_PEERS_MAX) throw new Error("not a list of peers");
  return value.map((one: unknown) => {
    if (!Array.isArray(one) || typeof one[0] !== "string" || typeof one[1] !== "string" || one[0].includes(" "))
      throw new Error("not a peer");
    return [asSpaceId(one[0]), one[1]];
  });
}

/** Unambiguous: an application's id contains no space. */
const keyOf = (spaceId: SpaceId, peerId: string): string => `${spaceId} ${peerId}`;

function nameOf(key: string): PeerName {
  const at = key.indexOf(" ");
  return [asSpaceId(key.slice(0, at)), key.slice(at + 1)];
}

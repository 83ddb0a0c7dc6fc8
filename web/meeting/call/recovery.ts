/**
 * What to do about a connection that does not work. The leader of a pair makes the offers: it begins connections and begins them anew. The
 * other one waits longer before it does something, because two offers at the same moment lose candidates in Chromium.
 */
export interface Seen {
  readonly isLeader: boolean;
  /** As RTCPeerConnection says it; `none`: there is none. */
  readonly state: "none" | "new" | "connecting" | "connected" | "disconnected" | "failed" | "closed";
}

/** `askLeader`: ask the leader to begin anew. */
export type Step = "wait" | "begin" | "restartIce" | "askLeader";

/** A connection that is `disconnected` often comes back by itself. */
const DISCONNECTED_MS = 3000;
/** On a busy machine a connection takes long, and one that is begun anew too early would never be made: each attempt gets twice the time. */
const CONNECT_WITHIN_MS = 12_000;
const CONNECT_WITHIN_MAX_MS = 60_000;
const RESTART_WITHIN_MS = 6000;
/** How much longer the other one waits than the leader. */
const FOLLOWER_MS = 4000;
const RESTARTS_MAX = 2;
/** Between attempts to begin: a participant may refuse all of them. */
const BEGIN_AGAIN_MS = 10_000;

export class Recovery {
  /** When it was last known to work, or began. */
  #sinceMs: number | undefined;
  #triedMs: number | undefined;
  #restarts = 0;
  /** Attempts without a connection. */
  #begun = 0;
  #isEager = false;

  /** Asked about once a second. */
  next({ isLeader, state }: Seen, nowMs: number): Step {
    if (state === "connected") {
      this.#forget();
      return "wait";
    }
    this.#sinceMs ??= nowMs;
    const waitedMs = nowMs - (this.#triedMs ?? this.#sinceMs);
    if (waitedMs < this.#patienceMs(isLeader, state)) return "wait";
    const hadConnection = state === "disconnected" || state === "failed";
    this.#triedMs = nowMs;
    this.#isEager = false;
    if (hadConnection && this.#restarts++ < RESTARTS_MAX) return "restartIce";
    this.#restarts = 0;
    this.#begun++;
    return isLeader ? "begin" : "askLeader";
  }

  /** This page is back after it was away: what does not work now has waited long enough. */
  wake(): void {
    this.#isEager = true;
  }

  /** The other one has begun anew, or ended its connection. */
  restarted(nowMs: number): void {
    this.#forget();
    this.#sinceMs = nowMs;
  }

  #forget(): void {
    this.#sinceMs = undefined;
    this.#triedMs = undefined;
    this.#restarts = 0;
    this.#begun = 0;
    this.#isEager = false;
  }

  #patienceMs(isLeader: boolean, state: Seen["state"]): number {
    const moreMs = isLeader ? 0 : FOLLOWER_MS;
    const isFirst = this.#triedMs === undefined || this.#isEager;
    if (state === "none" || state === "closed") return moreMs + (isFirst ? 0 : BEGIN_AGAIN_MS);
    if (state === "failed") return moreMs + (isFirst ? 0 : RESTART_WITHIN_MS);
    if (state === "disconnected") return moreMs + (this.#isEager ? 0 : isFirst ? DISCONNECTED_MS : RESTART_WITHIN_MS);
    const times = 2 ** Math.max(0, this.#begun - 1);
    return moreMs + Math.min(CONNECT_WITHIN_MAX_MS, CONNECT_WITHIN_MS * times);
  }
}

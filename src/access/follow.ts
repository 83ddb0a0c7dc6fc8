/**
 * What this node holds in memory of a store that other nodes write to as well: applications, keys, blocks. It looks twice a
 * second, at once when another node says that there is something new, and when somebody shows a credential that is not known
 * or does not fit: it may be younger than the last look.
 *
 * While the store is away, everything goes on with what is known.
 */
import type { Snapshot, Store } from "../store/store.ts";
import type { Blocks } from "./blocks.ts";
import type { Keyring } from "./keyring.ts";

/** A change acts on every node within a second, also where nothing tells of it. */
const LOOK_EVERY_MS = 500;
/** Strangers with made-up credentials must not make us ask more often than this. */
const LOOK_GAP_MS = 50;

export interface FollowParts {
  readonly store: Pick<Store, "revisions" | "snapshot" | "blocks">;
  readonly keyring: Keyring;
  readonly blocks: Blocks;
  readonly clock: {
    nowMs(): number;
    monotonicMs(): number;
    after(ms: number, callback: () => void): void;
  };
  /** Another node's changes have been read; the ring shows them. */
  readonly changed?: (snapshot: Snapshot) => void;
  /** Another node has blocked a peer. */
  readonly blocked?: (app: string, peerId: string) => void;
  /** The store does not answer any more, and why; or does again. */
  readonly away?: (error: unknown) => void;
  readonly back?: () => void;
}

/** For whoever has to refuse a credential: whether that would be too early. */
export interface News {
  /** Resolves when all is known that the store held at the time of the call; false: it cannot be asked. */
  latest(): Promise<boolean>;
}

export class Follow implements News {
  private looking: Promise<boolean> = Promise.resolve(true);
  private next: Promise<boolean> | undefined;
  private beganMs = Number.NEGATIVE_INFINITY;
  private blocksSeen: number | undefined;
  private isAway = false;
  private isStopped = false;

  constructor(private readonly parts: FollowParts) {}

  /** Resolves after the first look. */
  async start(): Promise<void> {
    await this.look();
    this.lookLater();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.looking.catch(() => false);
  }

  /** Whether the store answered when it was last asked. */
  get isUp(): boolean {
    return !this.isAway;
  }

  latest(): Promise<boolean> {
    // The next look finds out; whoever waits for it is told soon enough.
    return this.isAway ? Promise.resolve(false) : this.lookAfterNow();
  }

  /** Another node says that there is something new. Resolves when it is known here; false: the store cannot be asked. */
  nudge(): Promise<boolean> {
    return this.lookAfterNow(0);
  }

  private lookLater(): void {
    this.parts.clock.after(LOOK_EVERY_MS, async () => {
      if (this.isStopped) return;
      try {
        await this.lookAfterNow();
      } finally {
        // Whatever happened: a node that does not look any more keeps revoked keys alive.
        this.lookLater();
      }
    });
  }

  /** A look that begins after this call: one that is under way may have asked too early. All who come meanwhile share it. */
  private lookAfterNow(gapMs = LOOK_GAP_MS): Promise<boolean> {
    const wait = (): Promise<void> | undefined => this.gap(gapMs);
    this.next ??= this.looking
      // Also behind a look that has failed in a way nobody foresaw: it must not be the last one.
      .then(wait, wait)
      .then(() => {
        this.next = undefined;
        this.looking = this.look();
        return this.looking;
      });
    return this.next;
  }

  private gap(ms: number): Promise<void> | undefined {
    const { clock } = this.parts;
    const left = this.beganMs + ms - clock.monotonicMs();
    return left <= 0 ? undefined : new Promise((resolve) => clock.after(left, resolve));
  }

  private async look(): Promise<boolean> {
    if (this.isStopped) return false;
    this.beganMs = this.parts.clock.monotonicMs();
    try {
      const { keys, blocks } = await this.parts.store.revisions();
      const { keyring } = this.parts;
      if (keyring.isBehind || keys !== keyring.revision) await this.readKeys();
      if (blocks !== this.blocksSeen) await this.readBlocks(blocks);
    } catch (error) {
      if (!this.isAway) this.parts.away?.(error);
      this.isAway = true;
      return false;
    }
    if (this.isAway) this.parts.back?.();
    this.isAway = false;
    return true;
  }

  private async readKeys(): Promise<void> {
    const { store, keyring } = this.parts;
    for (;;) {
      const { edition } = keyring;
      const snapshot = await store.snapshot();
      // A change of our own was shown meanwhile: the snapshot may be from before it.
      if (edition !== keyring.edition) continue;
      keyring.load(snapshot);
      return this.parts.changed?.(snapshot);
    }
  }

  private async readBlocks(revision: number): Promise<void> {
    const { store, blocks, clock } = this.parts;
    for (const row of await store.blocks(clock.nowMs())) {
      if (!blocks.add(row)) continue;
      // It may have come in here while the block was under way.
      this.parts.blocked?.(row.app, row.peerId);
    }
    this.blocksSeen = revision;
  }
}

/**
 * Keeps the keyring and the blocks of this node up to date with a store that other nodes write to as well. The store's revisions are
 * read twice a second (rarely if the store announces changes itself), at once when another node announces a change, and before a
 * credential is refused that is unknown or does not match: it may be newer than the last refresh.
 *
 * While the store is unreachable, the last known state stays in force, except for what other nodes name as taken away. That is refused
 * before the store is read, which can take seconds; the read then decides.
 */
import type { Clock } from "../../base/clock.ts";
import type { AppId } from "../../base/ids.ts";
import type { Snapshot, Store } from "../../store/contract/store.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Withdrawn } from "../keys/withdrawn.ts";
import type { Blocks } from "./blocks.ts";

/** A change takes effect on every node within a second, even if its announcement is lost. */
const REFRESH_EVERY_MS = 500;
/** The same for a store that announces changes itself and cannot lose what it announces. */
const REFRESH_ANNOUNCED_EVERY_MS = 5000;
/**
 * A narrowed key still allows something, and only the store says what: its connections are closed if the store takes longer than this,
 * so that what the key no longer allows ends within a second on every node.
 */
const NARROWED_READ_MAX_MS = 800;
/** Edits of keys that are known to have been read. */
const READ_EDITS_MAX = 1000;
/** Bound: clients with made-up credentials cannot cause refreshes more often than this. */
const REFRESH_GAP_MS = 50;

interface StoreFollowerParts {
  readonly store: Pick<Store, "revisions" | "snapshot" | "blocks" | "onChange">;
  readonly keyring: Keyring;
  readonly blocks: Blocks;
  readonly clock: Pick<Clock, "wallMs" | "monotonicMs" | "after">;
  /** Changes of another node have been loaded into the keyring. */
  readonly changed?: (snapshot: Snapshot) => void;
  /** Another node has taken something away, which the store has not confirmed yet; the keyring has been changed already. */
  readonly withdrawn?: (one: Withdrawn) => void;
  /** The store could not be read after that: it is refused until the store answers. */
  readonly unconfirmed?: (one: Withdrawn) => void;
  /** Another node has blocked a peer. */
  readonly blocked?: (app: AppId, peerId: string) => void;
  /** Called when the store becomes unreachable, with the reason. */
  readonly unreachable?: (error: unknown) => void;
  /** Called when the store is reachable again. */
  readonly reachable?: () => void;
}

/** For code that is about to refuse a credential: it may only be unknown to this node so far. */
export interface Follower {
  /** Resolves when this node has everything that the store held at the time of the call; false: the store is unreachable. */
  catchUp(): Promise<boolean>;
}

export class StoreFollower implements Follower {
  private current: Promise<boolean> = Promise.resolve(true);
  private next: Promise<boolean> | undefined;
  private startedMs = Number.NEGATIVE_INFINITY;
  private blocksRevision: number | undefined;
  /** Where the revisions were read last: on another server the same numbers may stand for other changes. */
  private server: string | undefined;
  private isUnreachable = false;
  /** How many refreshes have begun. */
  private refreshes = 0;
  /** What was announced and withdrawn after the last refresh began, which may load an earlier state. Bound: announcements during a refresh. */
  private withdrawnSince: Withdrawn[] = [];
  /** Edits that narrowed a key and were read after their announcement, the oldest first. Bound: READ_EDITS_MAX. */
  private readonly readEdits = new Set<string>();
  /** Number of the regular refresh that is scheduled; earlier ones are void. */
  private scheduled = 0;
  private isStopped = false;

  constructor(private readonly parts: StoreFollowerParts) {}

  /** Resolves after the first refresh. */
  async start(): Promise<void> {
    // What a refresh may throw unexpectedly is reported by the next regular one.
    this.parts.store.onChange?.(() => void this.readNow().catch(() => undefined));
    await this.refresh();
    this.scheduleRefresh();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    await this.current.catch(() => false);
  }

  /** Whether the last request to the store was answered. */
  get isUp(): boolean {
    return !this.isUnreachable;
  }

  catchUp(): Promise<boolean> {
    // Callers do not wait for an unreachable store: the regular refresh notices when it is back.
    return this.isUnreachable ? Promise.resolve(false) : this.refreshFromNow();
  }

  /**
   * Another node has announced a change, and what it takes away. Resolves when it is loaded here; false: the store is unreachable, and
   * what was taken away is refused until it answers.
   */
  async readNow(withdrawn?: Withdrawn): Promise<boolean> {
    const edit = withdrawn?.kind === "narrowed key" ? withdrawn.edit : undefined;
    // A repeated announcement of what is in force here already: nothing is withheld for it.
    if (!withdrawn || (edit !== undefined && this.readEdits.has(edit))) return this.refreshFromNow(0);
    const { refreshes } = this;
    let isDecided = false;
    const withdraw = (): void => {
      if (isDecided || this.isStopped) return;
      isDecided = true;
      if (refreshes === this.refreshes) this.withdrawnSince.push(withdrawn);
      this.withdraw(withdrawn);
    };
    // Only committed changes are announced: the store will say the same, unless a failover has lost the change.
    if (withdrawn.kind !== "narrowed key" || this.isUnreachable) withdraw();
    else this.parts.clock.after(NARROWED_READ_MAX_MS, withdraw);
    const isRead = await this.refreshFromNow(0);
    if (!isRead) withdraw();
    isDecided = true;
    if (isRead && edit !== undefined) this.noteRead(edit);
    if (!isRead && !this.isStopped) this.parts.unconfirmed?.(withdrawn);
    return isRead;
  }

  private noteRead(edit: string): void {
    this.readEdits.add(edit);
    const [oldest] = this.readEdits;
    if (oldest !== undefined && this.readEdits.size > READ_EDITS_MAX) this.readEdits.delete(oldest);
  }

  private withdraw(one: Withdrawn): void {
    this.parts.keyring.withdraw(one);
    this.parts.withdrawn?.(one);
  }

  private scheduleRefresh(): void {
    const number = ++this.scheduled;
    const isAnnounced = this.parts.store.onChange !== undefined && !this.isUnreachable;
    this.parts.clock.after(isAnnounced ? REFRESH_ANNOUNCED_EVERY_MS : REFRESH_EVERY_MS, async () => {
      if (this.isStopped || number !== this.scheduled) return;
      try {
        await this.refreshFromNow();
      } finally {
        // Also after an unexpected error: a node that stops refreshing would accept revoked keys.
        this.scheduleRefresh();
      }
    });
  }

  /** A refresh that starts after this call, because a running one may have read the store too early. Callers share it. */
  private refreshFromNow(gapMs = REFRESH_GAP_MS): Promise<boolean> {
    const wait = (): Promise<void> | undefined => this.gap(gapMs);
    this.next ??= this.current
      // Also after a refresh that failed unexpectedly: it must not be the last one.
      .then(wait, wait)
      .then(() => {
        this.next = undefined;
        this.current = this.refresh();
        return this.current;
      });
    return this.next;
  }

  private gap(ms: number): Promise<void> | undefined {
    const { clock } = this.parts;
    const left = this.startedMs + ms - clock.monotonicMs();
    return left <= 0 ? undefined : new Promise((resolve) => clock.after(left, resolve));
  }

  private async refresh(): Promise<boolean> {
    if (this.isStopped) return false;
    this.startedMs = this.parts.clock.monotonicMs();
    this.refreshes++;
    this.withdrawnSince = [];
    try {
      const { keys, blocks, server } = await this.parts.store.revisions();
      const { keyring } = this.parts;
      const isOther = this.server !== undefined && this.server !== server;
      if (isOther || keyring.isBehind || keys !== keyring.revision) await this.loadKeys();
      if (isOther || blocks !== this.blocksRevision) await this.loadBlocks(blocks);
      this.server = server;
    } catch (error) {
      if (this.isUnreachable) return false;
      this.isUnreachable = true;
      this.parts.unreachable?.(error);
      // A change that was announced may not have been read: not only with the next refresh of a store that announces them.
      this.scheduleRefresh();
      return false;
    }
    if (this.isUnreachable) this.parts.reachable?.();
    this.isUnreachable = false;
    return true;
  }

  private async loadKeys(): Promise<void> {
    const { store, keyring } = this.parts;
    let edition: number;
    let snapshot: Snapshot;
    do {
      edition = keyring.edition;
      snapshot = await store.snapshot();
      // A change of this node was applied meanwhile, and the snapshot may lack it: read another one.
    } while (edition !== keyring.edition);
    keyring.load(snapshot);
    this.parts.changed?.(snapshot);
    // The snapshot may lack these too. Another one is not waited for: where a read takes seconds, further withdrawals might come each time.
    for (const one of this.withdrawnSince) this.withdraw(one);
  }

  private async loadBlocks(revision: number): Promise<void> {
    const { store, blocks, clock } = this.parts;
    const added = await blocks.replace(() => store.blocks(clock.wallMs()));
    // These peers may have connected to this node before their blocks were known here.
    for (const { app, peerId } of added) this.parts.blocked?.(app, peerId);
    this.blocksRevision = revision;
  }
}

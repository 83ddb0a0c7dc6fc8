/** A follower of a store that other nodes write to, with a fake clock and a fake store. */
import type { BlockRow, KeyRow, Revisions, Snapshot } from "../../store/contract/store.ts";
import { StoreUnreachable } from "../../store/contract/store.ts";
import { keyRow } from "../../store/testing/rows.ts";
import { Blocks } from "../admission/blocks.ts";
import { StoreFollower } from "../admission/store-follower.ts";
import { Keyring } from "../keys/keyring.ts";
import { Vault } from "../keys/vault.ts";

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export const key = (id: string, fields: Partial<KeyRow> = {}): KeyRow =>
  keyRow(id, { type: "publishable", actions: ["publish"], ...fields });

/** A store that the test changes as another node would, and whose answers it can delay. */
class SharedStore {
  rows: KeyRow[] = [key("k")];
  blockRows: BlockRow[] = [];
  at: Revisions = { keys: 1, blocks: 0 };
  isUnreachable = false;
  requests = 0;
  onChange?: (listener: () => void) => void;
  snapshots = 0;
  /** Answers wait for this, if it is set. */
  blocked: Promise<void> | undefined;
  /** The same for blocks alone. */
  blocksRead: Promise<void> | undefined;

  put(...rows: KeyRow[]): void {
    this.rows = rows;
    this.at = { ...this.at, keys: this.at.keys + 1 };
  }

  block(row: BlockRow): void {
    this.blockRows.push(row);
    this.at = { ...this.at, blocks: this.at.blocks + 1 };
  }

  unblock(peerId: string): void {
    this.blockRows = this.blockRows.filter((row) => row.peerId !== peerId);
    this.at = { ...this.at, blocks: this.at.blocks + 1 };
  }

  revisions = async (): Promise<Revisions> => {
    this.requests++;
    const { at } = this;
    await this.blocked;
    if (this.isUnreachable) throw new StoreUnreachable("gone");
    return at;
  };

  snapshot = async (): Promise<Snapshot> => {
    this.snapshots++;
    const { rows, at } = this;
    await this.blocked;
    return {
      revision: at.keys,
      apps: [],
      keys: rows,
      secrets: [],
      revokedKeys: [],
      operators: [],
      sessions: [],
      webhooks: [],
      webhookSecrets: [],
      meta: new Map(),
    };
  };

  blocks = async (): Promise<BlockRow[]> => {
    const { blockRows } = this;
    await this.blocksRead;
    return blockRows;
  };
}

export class FollowerFixture {
  readonly store = new SharedStore();
  readonly keyring = new Keyring(new Vault(Buffer.alloc(32)));
  readonly blocks = new Blocks();
  readonly events: string[] = [];
  readonly withdrawn: string[] = [];
  readonly follower: StoreFollower;
  private nowMs = 1000;
  private timers: { dueMs: number; callback: () => void }[] = [];

  constructor() {
    this.keyring.onChange((id) => this.events.push(id));
    this.follower = new StoreFollower({
      store: this.store,
      keyring: this.keyring,
      blocks: this.blocks,
      clock: {
        wallMs: () => this.nowMs,
        monotonicMs: () => this.nowMs,
        after: (ms, callback) => void this.timers.push({ dueMs: this.nowMs + ms, callback }),
      },
      withdrawn: ({ kind }) => this.withdrawn.push(kind),
      blocked: (app, peerId) => this.events.push(`${app} ${peerId} blocked`),
      unreachable: () => this.events.push("unreachable"),
      reachable: () => this.events.push("reachable"),
    });
  }

  async started(): Promise<this> {
    await this.follower.start();
    this.events.length = 0;
    return this;
  }

  async pass(ms: number): Promise<void> {
    for (const until = this.nowMs + ms; this.nowMs < until; this.nowMs += 10) {
      const due = this.timers.filter(({ dueMs }) => dueMs <= this.nowMs);
      this.timers = this.timers.filter(({ dueMs }) => dueMs > this.nowMs);
      for (const { callback } of due) callback();
      await turn();
    }
  }
}

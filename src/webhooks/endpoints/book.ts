/**
 * All endpoints of webhooks, in memory, with what they sign with: giving events to endpoints never waits for the store. It follows the
 * store as the keyring does (access/admission/store-follower.ts): snapshots replace it, changes of this node are applied to it.
 */
import type { Vault } from "../../access/keys/vault.ts";
import type { AppId } from "../../base/ids.ts";
import { type Glob, parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import type { Snapshot } from "../../store/contract/store.ts";
import type { WebhookRow, WebhookSecretRow } from "../../store/contract/webhooks.ts";
import { roomEndpointKey } from "./room-endpoints.ts";
import { type Headers, openHeaders, openSecret } from "./seals.ts";

export interface WebhookSecret {
  readonly seq: number;
  /** The raw bytes. */
  readonly key: Buffer;
  /** Unix ms until which it signs; null: it is the current one. */
  readonly ends: number | null;
}

export interface WebhookEntry {
  readonly row: WebhookRow;
  /** Newest first. Empty: the master key does not open them, or the headers. Then nothing can be sent. */
  readonly secrets: readonly WebhookSecret[];
  readonly headers: Headers;
  /** What `channelPatterns` match; null: no channel. */
  readonly channels: Scope | null;
}

/** What a change has written. */
export interface TouchedWebhooks {
  readonly put?: readonly { readonly row: WebhookRow; readonly secrets: readonly WebhookSecretRow[] }[];
  readonly removed?: readonly string[];
}

/** An endpoint, and the rows that it was made from: without other rows it is not made again. */
interface Known {
  readonly entry: WebhookEntry;
  readonly rows: string;
}

/** The secrets that sign what is sent at that time. */
export const signingAt = (entry: WebhookEntry, nowMs: number): readonly WebhookSecret[] =>
  entry.secrets.filter(({ ends }) => ends === null || nowMs < ends);

export class WebhookBook {
  /** Bound: ENDPOINTS_PER_APP_MAX and ROOM_ENDPOINTS_PER_APP_MAX per application. */
  private known = new Map<string, Known>();
  /** Ids of endpoints in the order of the store. Bound: as `known`. */
  private byApp = new Map<AppId, Set<string>>();
  /** Bound: registered at the start. */
  private readonly listeners: ((app: AppId) => void)[] = [];

  constructor(private readonly vault: Vault) {}

  /** Called after endpoints of an application have changed. */
  onChange(listener: (app: AppId) => void): void {
    this.listeners.push(listener);
  }

  /** Replaces all. Endpoints whose rows have not changed stay the same objects. */
  load(snapshot: Pick<Snapshot, "webhooks" | "webhookSecrets">): void {
    const before = this.known;
    this.known = new Map();
    this.byApp = new Map();
    const secrets = Map.groupBy(snapshot.webhookSecrets, ({ webhook }) => webhook);
    for (const row of snapshot.webhooks) this.put(row, secrets.get(row.id) ?? [], before);
    const changed = new Set<AppId>();
    for (const known of [before, this.known])
      for (const [id, { entry }] of known)
        if (before.get(id)?.entry !== this.known.get(id)?.entry) changed.add(entry.row.app);
    for (const app of changed) this.notify(app);
  }

  /** Applies a change of this node. */
  apply({ put = [], removed = [] }: TouchedWebhooks): void {
    const changed = new Set<AppId>();
    for (const { row, secrets } of put) {
      this.put(row, secrets);
      changed.add(row.app);
    }
    for (const id of removed) {
      const app = this.remove(id);
      if (app !== undefined) changed.add(app);
    }
    for (const app of changed) this.notify(app);
  }

  /** An application was deleted. */
  removeApp(app: AppId): void {
    const ids = this.byApp.get(app);
    if (!ids) return;
    for (const id of [...ids]) this.remove(id);
    this.notify(app);
  }

  get(id: string): WebhookEntry | undefined {
    return this.known.get(id)?.entry;
  }

  /** Oldest first. */
  of(app: AppId): readonly WebhookEntry[] {
    return [...(this.byApp.get(app) ?? [])].flatMap((id) => this.get(id) ?? []);
  }

  /** Applications with endpoints. */
  get apps(): Iterable<AppId> {
    return this.byApp.keys();
  }

  get ids(): Iterable<string> {
    return this.known.keys();
  }

  get size(): number {
    return this.known.size;
  }

  /** Ids of endpoints that cannot sign, because the master key does not open what they have sealed. */
  get sealed(): readonly string[] {
    return [...this.known.values()].flatMap(({ entry }) => (entry.secrets.length === 0 ? [entry.row.id] : []));
  }

  private notify(app: AppId): void {
    for (const listener of this.listeners) listener(app);
  }

  private put(
    row: WebhookRow,
    secrets: readonly WebhookSecretRow[],
    before: ReadonlyMap<string, Known> = this.known,
  ): void {
    const rows = JSON.stringify([row, secrets]);
    const known = before.get(row.id);
    this.known.set(row.id, known?.rows === rows ? known : { entry: this.compile(row, secrets), rows });
    const ids = this.byApp.get(row.app) ?? new Set();
    ids.add(row.id);
    this.byApp.set(row.app, ids);
  }

  /** The application that it was of. */
  private remove(id: string): AppId | undefined {
    const app = this.known.get(id)?.entry.row.app;
    this.known.delete(id);
    if (app === undefined) return undefined;
    const ids = this.byApp.get(app);
    ids?.delete(id);
    if (ids?.size === 0) this.byApp.delete(app);
    return app;
  }

  private compile(row: WebhookRow, rows: readonly WebhookSecretRow[]): WebhookEntry {
    const headers = openHeaders(this.vault, row);
    const globs = row.channelPatterns?.map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string");
    return {
      row,
      secrets: headers ? this.secretsOf(row, rows) : [],
      headers: headers ?? {},
      channels: globs ? new Scope(globs) : null,
    };
  }

  private secretsOf(row: WebhookRow, rows: readonly WebhookSecretRow[]): WebhookSecret[] {
    if (row.kind === "room") return [{ seq: 1, key: roomEndpointKey(this.vault, row.app, row.url), ends: null }];
    const opened = rows
      .toSorted((a, b) => b.seq - a.seq)
      .flatMap((secret) => {
        const key = openSecret(this.vault, secret);
        return key ? [{ seq: secret.seq, key, ends: secret.ends }] : [];
      });
    // Without the current one, what is sent would be signed with one that the receiver forgets.
    return opened[0]?.ends === null ? opened : [];
  }
}

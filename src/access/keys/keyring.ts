/**
 * All live keys and applications, in memory: authentication never waits for the disk. Only a `secret` key holds an HMAC key; a key
 * whose secret could not be decrypted is `sealed`, so the types force every caller to handle that case.
 */
import { type AppId, appOfSpace, isRoomSpace, type SpaceId, spaceOf } from "../../base/ids.ts";
import { type ActionSet, actionSet } from "../../protocol/actions.ts";
import { type ChannelRule, ChannelRules } from "../../protocol/patterns/channel-rules.ts";
import { type Glob, parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import type { AppRow, KeyRow, SecretRow, Snapshot } from "../../store/contract/store.ts";
import { RevokedKeys } from "./revoked-keys.ts";
import { ROOM_RULES } from "./room-rules.ts";
import { DUMMY_DIGEST, keySecretIdentity, type Vault } from "./vault.ts";
import { endAfterRotation, type SecretLeft, type Withdrawn } from "./withdrawn.ts";

interface Common {
  readonly id: string;
  readonly app: AppId;
  readonly scope: Scope;
  readonly actions: ActionSet;
  /** Its connections get ICE servers in their welcome. */
  readonly turn: boolean;
}

export interface PublishableKey extends Common {
  readonly type: "publishable";
  readonly origins: readonly string[];
}

/** A secret by its digest: enough to recognise it, not to sign. */
export interface KnownSecret {
  readonly seq: number;
  readonly digest: string;
  /** Unix ms until which it verifies; null for the current one. */
  readonly ends: number | null;
}

export interface SigningSecret extends KnownSecret {
  readonly hmacKey: Buffer;
}

export interface SecretKey extends Common {
  readonly type: "secret";
  /** Newest first; the first is the current one. Retired ones are kept to tell "expired" from "never valid". */
  readonly secrets: readonly SigningSecret[];
}

export interface SealedKey extends Common {
  readonly type: "sealed";
  readonly secrets: readonly KnownSecret[];
}

export type Key = PublishableKey | SecretKey | SealedKey;

/** The rows that a change has written. */
export interface Touched {
  readonly apps?: readonly AppRow[];
  readonly keys?: readonly { readonly row: KeyRow; readonly secrets: readonly SecretRow[] }[];
}

/** A key, and the rows it was made from: a key whose rows have not changed is not made again. */
interface KeyEntry {
  readonly key: Key;
  readonly rows: string;
}

export const isLive = (secret: KnownSecret, nowMs: number): boolean => secret.ends === null || nowMs < secret.ends;

export class Keyring {
  /** Bound: KEYS_PER_APP_MAX per application, each with PREVIOUS_SECRETS_MAX + RETIRED_SECRETS_KEPT + 1 secrets. */
  private keys = new Map<string, KeyEntry>();
  /** Bound: live applications, which an operator makes. */
  private apps = new Map<string, AppRow>();
  /** Bound: live applications. */
  private appsByName = new Map<string, AppRow>();
  /** Keys that were narrowed, it is not known how, until the next snapshot. Bound: they were in `keys`. */
  private readonly withheld = new Set<string>();
  readonly revoked = new RevokedKeys((app) => this.apps.has(app));
  private currentRevision = 0;
  private hasGap = false;
  private applied = 0;
  /** Bound: registered at the start, like the other listeners. */
  private readonly listeners: ((keyId: string) => void)[] = [];
  /** By application, while it has rules. Bound: live applications, each with CHANNEL_RULES_MAX rules. */
  private rules = new Map<SpaceId, ChannelRules>();
  /** Bound: registered at the start. */
  private readonly ruleListeners: ((app: AppId) => void)[] = [];
  /** Bound: registered at the start. */
  private readonly deletionListeners: ((app: AppId) => void)[] = [];
  /** Bound: registered at the start. */
  private readonly rotationListeners: ((app: AppId) => void)[] = [];

  constructor(private readonly vault: Vault) {}

  /** Called after a key has changed or was removed. */
  onChange(listener: (keyId: string) => void): void {
    this.listeners.push(listener);
  }

  /** Called after the channel rules of an application have changed. */
  onRulesChange(listener: (app: AppId) => void): void {
    this.ruleListeners.push(listener);
  }

  /** Called after an application was deleted. */
  onDeletion(listener: (app: AppId) => void): void {
    this.deletionListeners.push(listener);
  }

  /** Called after the secret key of an application was rotated. */
  onRotation(listener: (app: AppId) => void): void {
    this.rotationListeners.push(listener);
  }

  /** The channel rules of a space: those of an application, or of its rooms. */
  rulesOf(spaceId: SpaceId): ChannelRules {
    return this.rules.get(spaceId) ?? (isRoomSpace(spaceId) ? ROOM_RULES : ChannelRules.NONE);
  }

  /** Replaces the whole state. Keys whose rows have not changed stay the same objects. */
  load(snapshot: Partial<Snapshot> & Pick<Snapshot, "revision" | "apps" | "keys" | "secrets">): void {
    const before = this.keys;
    const appsBefore = this.apps;
    this.keys = new Map();
    this.apps = new Map();
    this.appsByName = new Map();
    const removed = new Set(this.rules.keys());
    for (const app of snapshot.apps) {
      this.putApp(app);
      removed.delete(spaceOf(app.id));
    }
    for (const space of removed) this.setRules(appOfSpace(space), []);
    const secrets = Map.groupBy(snapshot.secrets, (secret) => secret.keyId);
    for (const key of snapshot.keys) this.putKey(key, secrets.get(key.id) ?? [], before);
    this.revoked.load(snapshot.revokedKeys ?? []);
    this.withheld.clear();
    this.currentRevision = snapshot.revision;
    this.hasGap = false;
    for (const id of new Set([...before.keys(), ...this.keys.keys()]))
      if (before.get(id) !== this.keys.get(id)) this.notify(id);
    for (const { id } of appsBefore.values()) if (!this.apps.has(id)) this.notifyDeletion(id);
    for (const { id, secretSeq } of appsBefore.values()) this.notifyIfRotated(id, secretSeq);
  }

  /** The revision of the store that this keyring reflects. */
  get revision(): number {
    return this.currentRevision;
  }

  /** Another node has changed the store in between, and that change is missing here. */
  get isBehind(): boolean {
    return this.hasGap;
  }

  /** Incremented by every `apply`: a snapshot that was read meanwhile may lack what was applied. */
  get edition(): number {
    return this.applied;
  }

  /**
   * Applies one change of this node to the applications and keys it has touched. Returns false if a later snapshot was loaded
   * meanwhile: that contains this change.
   */
  apply(touched: Touched, revision: number): boolean {
    if (revision <= this.currentRevision) return false;
    const before = (touched.apps ?? []).flatMap(({ id }) => this.apps.get(id) ?? []);
    for (const app of touched.apps ?? []) this.putApp(app);
    for (const { row, secrets } of touched.keys ?? []) this.putKey(row, secrets);
    this.hasGap ||= revision !== this.currentRevision + 1;
    this.currentRevision = revision;
    this.applied++;
    for (const { row } of touched.keys ?? []) this.notify(row.id);
    for (const { id, deleted } of touched.apps ?? []) if (deleted !== null) this.notifyDeletion(id);
    for (const { id, secretSeq } of before) this.notifyIfRotated(id, secretSeq);
    return true;
  }

  /**
   * Takes away what another node says was taken away, before the store is read. The next snapshot, which is loaded whatever its
   * revision, decides anew. Nothing is granted here.
   */
  withdraw(one: Withdrawn): void {
    this.hasGap = true;
    if (one.kind === "app") this.withdrawApp(one.id);
    if (one.kind === "key" || one.kind === "narrowed key") this.withdrawKey(one.id, one.kind === "narrowed key");
    if (one.kind === "key secrets") this.withdrawKeySecrets(one.id, one.left);
    if (one.kind === "app secrets") this.withdrawAppSecrets(one.id, one.left);
  }

  /** The key is not in force only because this node does not know what it still allows. */
  isWithheld(keyId: string): boolean {
    return this.withheld.has(keyId);
  }

  private withdrawApp(id: string): void {
    const row = this.apps.get(id);
    if (!row) return;
    this.putApp({ ...row, deleted: row.created });
    for (const { key } of [...this.keys.values()]) if (key.app === id) this.withdrawKey(key.id, false);
    this.notifyDeletion(row.id);
  }

  private withdrawKey(id: string, isNarrowed: boolean): void {
    const app = this.keys.get(id)?.key.app;
    if (app !== undefined && !isNarrowed) this.revoked.note({ id, app });
    if (!this.keys.delete(id)) return void (isNarrowed || this.withheld.delete(id));
    if (isNarrowed) this.withheld.add(id);
    this.notify(id);
  }

  private withdrawKeySecrets(id: string, left: readonly SecretLeft[]): void {
    const key = this.keys.get(id)?.key;
    if (!key || key.type === "publishable") return;
    const ended = <S extends KnownSecret>(secrets: readonly S[]): S[] =>
      secrets.map((secret) => ({ ...secret, ends: endAfterRotation(secret, left) }));
    const changed: Key =
      key.type === "secret" ? { ...key, secrets: ended(key.secrets) } : { ...key, secrets: ended(key.secrets) };
    // No row has this text: the next snapshot makes the key anew.
    this.keys.set(id, { key: changed, rows: "" });
    this.notify(id);
  }

  private withdrawAppSecrets(id: string, left: readonly SecretLeft[]): void {
    const row = this.apps.get(id);
    if (!row) return;
    const newest = Math.max(...left.map(({ seq }) => seq));
    const isKnown = newest <= row.secretSeq;
    const known = [
      ...(isKnown ? [] : [{ seq: row.secretSeq, digest: row.secretDigest, ends: null }]),
      ...row.previousSecrets,
    ];
    const previousSecrets = known.flatMap((secret) => {
      const ends = endAfterRotation(secret, left);
      return ends === null || ends === 0 ? [] : [{ ...secret, ends }];
    });
    // The new secret is not known here: none matches until the store was read.
    this.putApp({ ...row, previousSecrets, ...(!isKnown && { secretSeq: newest, secretDigest: DUMMY_DIGEST }) });
    this.notifyIfRotated(row.id, row.secretSeq);
  }

  private notify(keyId: string): void {
    for (const listener of this.listeners) listener(keyId);
  }

  private notifyDeletion(app: AppId): void {
    for (const listener of this.deletionListeners) listener(app);
  }

  private notifyIfRotated(app: AppId, before: number): void {
    const now = this.apps.get(app)?.secretSeq;
    if (now !== undefined && now !== before) for (const listener of this.rotationListeners) listener(app);
  }

  get size(): number {
    return this.keys.size;
  }

  /** Ids of keys whose signing secret the master key does not open. */
  get sealed(): readonly string[] {
    return [...this.keys.values()].flatMap(({ key }) => (key.type === "sealed" ? [key.id] : []));
  }

  /** How many secret keys are usable, and how many are not because the master key does not open them. */
  get secretKeys(): { readonly usable: number; readonly sealed: number } {
    const count = { usable: 0, sealed: 0 };
    for (const { key } of this.keys.values()) {
      if (key.type === "secret") count.usable++;
      if (key.type === "sealed") count.sealed++;
    }
    return count;
  }

  key(id: string): Key | undefined {
    return this.keys.get(id)?.key;
  }

  app(idOrName: string): AppRow | undefined {
    return this.apps.get(idOrName) ?? this.appsByName.get(idOrName);
  }

  /** The ids of all live applications. */
  get appIds(): Iterable<AppId> {
    return this.apps.values().map(({ id }) => id);
  }

  /** By name only: a host contains the name of an application, never its id. */
  appNamed(name: string): AppRow | undefined {
    return this.appsByName.get(name);
  }

  /** The id of a publishable key of that application which allows every origin. */
  openKeyOf(appName: string): string | undefined {
    const app = this.appsByName.get(appName);
    if (!app) return undefined;
    for (const { key } of this.keys.values())
      if (key.app === app.id && key.type === "publishable" && key.origins.includes("*")) return key.id;
    return undefined;
  }

  private setRules(app: AppId, rules: readonly ChannelRule[]): void {
    const space = spaceOf(app);
    if (JSON.stringify(this.rulesOf(space).rules) === JSON.stringify(rules)) return;
    if (rules.length > 0) this.rules.set(space, new ChannelRules(rules));
    else this.rules.delete(space);
    for (const listener of this.ruleListeners) listener(app);
  }

  private putApp(row: AppRow): void {
    this.setRules(row.id, row.deleted === null ? row.channelRules : []);
    if (row.deleted === null) {
      this.apps.set(row.id, row);
      this.appsByName.set(row.name, row);
    } else {
      this.apps.delete(row.id);
      this.appsByName.delete(row.name);
    }
  }

  private putKey(row: KeyRow, secrets: readonly SecretRow[], before?: ReadonlyMap<string, KeyEntry>): void {
    this.withheld.delete(row.id);
    if (row.revoked !== null) this.revoked.note(row);
    if (row.revoked !== null) return void this.keys.delete(row.id);
    const rows = JSON.stringify([row, secrets]);
    const known = before?.get(row.id);
    this.keys.set(row.id, known?.rows === rows ? known : { key: this.compile(row, secrets), rows });
  }

  private compile(row: KeyRow, secrets: readonly SecretRow[]): Key {
    const common: Common = {
      id: row.id,
      app: row.app,
      scope: new Scope(row.channelPatterns.map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string")),
      actions: actionSet(row.actions),
      turn: row.turn,
    };
    if (row.type === "publishable") return { ...common, type: "publishable", origins: row.allowedOrigins ?? [] };
    const signing = secrets.flatMap((secret) => this.open(secret) ?? []);
    const current = secrets[0];
    return current && signing[0]?.seq === current.seq
      ? { ...common, type: "secret", secrets: signing }
      : { ...common, type: "sealed", secrets };
  }

  private open(row: SecretRow): SigningSecret | undefined {
    const secret = this.vault.open(row.sealed, keySecretIdentity(row.keyId, row.seq));
    if (secret === undefined) return undefined;
    return { seq: row.seq, digest: row.digest, ends: row.ends, hmacKey: Buffer.from(secret, "utf8") };
  }
}

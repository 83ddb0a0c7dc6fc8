/**
 * The keys and applications that are live, in memory: authentication never waits for the disk. Only a `secret` key has
 * material that can reach HMAC; one whose secret did not open is `sealed`, and everything that needs it must say so.
 */
import { type ActionSet, actionSet } from "../protocol/actions.ts";
import { type Glob, parseGlob, Scope } from "../protocol/glob.ts";
import type { AppRow, KeyRow, SecretRow, Snapshot } from "../store/store.ts";
import { keySecretIdentity, type Vault } from "./vault.ts";

interface Common {
  readonly id: string;
  readonly app: string;
  readonly scope: Scope;
  readonly actions: ActionSet;
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
  /** Newest first; the first is the current one. Ended ones stay to tell "expired" from "never valid". */
  readonly secrets: readonly SigningSecret[];
}

export interface SealedKey extends Common {
  readonly type: "sealed";
  readonly secrets: readonly KnownSecret[];
}

export type Key = PublishableKey | SecretKey | SealedKey;

/** Rows that a change has written. */
export interface Touched {
  readonly apps?: readonly AppRow[];
  readonly keys?: readonly { readonly row: KeyRow; readonly secrets: readonly SecretRow[] }[];
}

/** A key as it is used, and the rows it was made from: where they are the same, so is the key. */
interface Held {
  readonly key: Key;
  readonly rows: string;
}

export const isLive = (secret: KnownSecret, nowMs: number): boolean => secret.ends === null || nowMs < secret.ends;

export class Keyring {
  private keys = new Map<string, Held>();
  private apps = new Map<string, AppRow>();
  private appsByName = new Map<string, AppRow>();
  private seen = 0;
  private skipped = false;
  private shown = 0;
  private readonly listeners: ((keyId: string) => void)[] = [];

  constructor(private readonly vault: Vault) {}

  /** Called when a key has changed or gone; the ring shows the new state already. */
  onChange(listener: (keyId: string) => void): void {
    this.listeners.push(listener);
  }

  /** The whole state, in place of whatever was known. Keys that are as they were stay as they are. */
  load(snapshot: Omit<Snapshot, "meta">): void {
    const before = this.keys;
    this.keys = new Map();
    this.apps = new Map();
    this.appsByName = new Map();
    for (const app of snapshot.apps) this.putApp(app);
    const secrets = Map.groupBy(snapshot.secrets, (secret) => secret.keyId);
    for (const key of snapshot.keys) this.putKey(key, secrets.get(key.id) ?? [], before);
    this.seen = snapshot.revision;
    this.skipped = false;
    for (const id of new Set([...before.keys(), ...this.keys.keys()]))
      if (before.get(id) !== this.keys.get(id)) this.tell(id);
  }

  /** The revision of the store that this ring shows. */
  get revision(): number {
    return this.seen;
  }

  /** Somebody else has changed the store in between: what is shown is not all. */
  get isBehind(): boolean {
    return this.skipped;
  }

  /** Rises with every `show`: a snapshot that was read while it rose may lack what was shown. */
  get edition(): number {
    return this.shown;
  }

  /** Shows what a change has made of some applications and keys. */
  show(touched: Touched, revision: number): void {
    // A later state has been loaded meanwhile, and this change is in it.
    if (revision <= this.seen) return;
    for (const app of touched.apps ?? []) this.putApp(app);
    for (const { row, secrets } of touched.keys ?? []) this.putKey(row, secrets);
    this.skipped ||= revision !== this.seen + 1;
    this.seen = revision;
    this.shown++;
    for (const { row } of touched.keys ?? []) this.tell(row.id);
  }

  private tell(keyId: string): void {
    for (const listener of this.listeners) listener(keyId);
  }

  get size(): number {
    return this.keys.size;
  }

  /** Keys whose signing secret the master key does not open. */
  get sealed(): readonly string[] {
    return [...this.keys.values()].flatMap(({ key }) => (key.type === "sealed" ? [key.id] : []));
  }

  /** How many secret keys can be used, and how many cannot because the master key does not open them. */
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

  /** By name alone: a host names an application, never its id. */
  appNamed(name: string): AppRow | undefined {
    return this.appsByName.get(name);
  }

  /** A publishable key of that application which every origin may use. */
  openKeyOf(appName: string): string | undefined {
    const app = this.appsByName.get(appName);
    if (!app) return undefined;
    for (const { key } of this.keys.values())
      if (key.app === app.id && key.type === "publishable" && key.origins.includes("*")) return key.id;
    return undefined;
  }

  private putApp(row: AppRow): void {
    if (row.deleted === null) {
      this.apps.set(row.id, row);
      this.appsByName.set(row.name, row);
    } else {
      this.apps.delete(row.id);
      this.appsByName.delete(row.name);
    }
  }

  private putKey(row: KeyRow, secrets: readonly SecretRow[], before?: ReadonlyMap<string, Held>): void {
    if (row.revoked !== null) return void this.keys.delete(row.id);
    const rows = JSON.stringify([row, secrets]);
    const held = before?.get(row.id);
    this.keys.set(row.id, held?.rows === rows ? held : { key: this.compile(row, secrets), rows });
  }

  private compile(row: KeyRow, secrets: readonly SecretRow[]): Key {
    const common: Common = {
      id: row.id,
      app: row.app,
      scope: new Scope(row.channelPatterns.map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string")),
      actions: actionSet(row.actions),
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

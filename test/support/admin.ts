/** A small client of the control plane and of POST /v1/tokens. */
import { type Answer, type Call, call, type Json, type Refusal } from "./http.ts";
import { refuseListed } from "./seen-credentials.ts";

export const ALL_ACTIONS = ["publish", "subscribe", "presence", "send"];

export interface App {
  readonly _id: string;
  readonly name: string;
  readonly created: number;
  readonly plan: { name: string; maxConcurrentConnections: number | null; maxMessagesPerPeriod: number | null };
  readonly retentionDays: number | null;
}

export interface Key {
  readonly keyId: string;
  readonly app: string;
  readonly type: "publishable" | "secret";
  readonly label: string | null;
  readonly channelPatterns: string[];
  readonly actions: string[];
  readonly allowedOrigins?: string[];
  readonly turn: boolean;
  readonly created: number;
  readonly rotated: number | null;
  readonly revoked: number | null;
  readonly previousSecrets: { endsAt: number }[];
  /** Only in the answer to one key. */
  readonly connections?: number;
}

export interface SecretKey extends Key {
  readonly secret: string;
  /** `<sk_id>:<sk_secret>` */
  readonly credential: string;
}

export interface Rotated {
  readonly keyId: string;
  readonly secret: string;
  readonly previousSecretExpiresAt: number;
}

export interface Checked {
  readonly valid: boolean;
  readonly error?: string;
  readonly reason?: string;
  readonly keyId?: string;
  readonly app?: string;
  readonly peerId?: string;
  readonly expiresAt?: number;
  readonly channels?: string[];
  readonly permissions?: string[];
}

export type Minted = { readonly token: string; readonly expiresAt: number } & Refusal;

export type Observer = (method: string, path: string, answer: Answer) => void;

let names = 0;
/** A name for an application that no other test uses. */
export const freshName = (): string => `app-${++names}-${crypto.randomUUID().slice(0, 8)}`;

export class Admin {
  /** Called with every response. */
  observe: Observer = () => undefined;

  constructor(
    readonly url: string,
    readonly token: string,
  ) {}

  /** Any call, whatever its outcome; `path` is below /api/internal/v1. */
  async call<T = Json>(method: string, path: string, body?: unknown, rest: Call = {}): Promise<Answer<T & Refusal>> {
    const whole = `/api/internal/v1${path}`;
    const answer = await call<T & Refusal>(this.url + whole, { method, body, bearer: this.token, ...rest });
    this.observe(method, whole, answer as Answer);
    refuseListed(method, path, answer.text);
    return answer;
  }

  /** A call that must succeed. */
  async must<T>(method: string, path: string, body?: unknown): Promise<T> {
    const { status, text, body: value } = await this.call<T>(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return value;
  }

  createApp(name = freshName()): Promise<App & { secretKey: string }> {
    return this.must("POST", "/apps", { name });
  }

  /** Everything is allowed unless `fields` says otherwise. */
  async createKey(app: string, fields: Json = {}): Promise<SecretKey> {
    const body = { app, type: "secret", channelPatterns: ["**"], actions: ALL_ACTIONS, ...fields };
    const key = await this.must<Key & { secret: string }>("POST", "/signalling/keys", body);
    return { ...key, credential: `${key.keyId}:${key.secret}` };
  }

  createPublishable(app: string, fields: Json = {}): Promise<Key> {
    return this.createKey(app, { type: "publishable", allowedOrigins: ["*"], ...fields });
  }

  key(keyId: string): Promise<Key> {
    return this.must("GET", `/signalling/keys/${keyId}`);
  }

  async keys(app?: string): Promise<Key[]> {
    const query = app === undefined ? "" : `?app=${app}`;
    return (await this.must<{ data: Key[] }>("GET", `/signalling/keys${query}`)).data;
  }

  patchKey(keyId: string, fields: Json): Promise<Key> {
    return this.must("PATCH", `/signalling/keys/${keyId}`, fields);
  }

  rotate(keyId: string, options: { graceSec?: number; retirePrevious?: boolean } = {}): Promise<Rotated> {
    return this.must("POST", `/signalling/keys/${keyId}/rotate`, options);
  }

  revoke(keyId: string): Promise<Key> {
    return this.must("DELETE", `/signalling/keys/${keyId}`);
  }

  check(token: string): Promise<Checked> {
    return this.must("POST", "/signalling/tokens/check", { token });
  }

  /** The store's revision: if it is the same, no key or application was changed. */
  async revision(): Promise<number> {
    const { text } = await call(`${this.url}/metrics`, { bearer: this.token });
    return Number(/^parley_store_revision (\d+)$/m.exec(text)?.[1]);
  }
}

/** POST /v1/tokens, whatever its outcome. */
export const mint = (url: string, credential: string, body: unknown = { peerId: "alice" }): Promise<Answer<Minted>> =>
  call<Minted>(`${url}/v1/tokens`, { bearer: credential, body });

export async function mintToken(url: string, credential: string, body?: unknown): Promise<string> {
  const { status, text, body: minted } = await mint(url, credential, body);
  if (status !== 200) throw new Error(`POST /v1/tokens: ${status} ${text}`);
  return minted.token;
}

/** For tests: one application and its keys, shown to a keyring as the store would. */
import type { KeyGrant } from "../../access/admission/admit.ts";
import { Keyring } from "../../access/keys/keyring.ts";
import { keySecretIdentity, Vault } from "../../access/keys/vault.ts";
import { RoomTokens } from "../../access/tokens/room-token.ts";
import { signToken } from "../../access/tokens/token.ts";
import type { Clock } from "../../base/clock.ts";
import { spaceOf } from "../../base/ids.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { ACTIONS, type Action, actionSet } from "../../protocol/actions.ts";
import { type Glob, parseGlob } from "../../protocol/patterns/glob.ts";
import { Scope } from "../../protocol/patterns/scope.ts";
import type { AppRow, KeyRow, SecretRow } from "../../store/contract/store.ts";
import { appRow, keyRow } from "../../store/testing/rows.ts";

const OTHER = anAppId("other");

export const APP = anAppId("app");
export const SECRET_KEY = "sk_id_1";
export const PUBLISHABLE_KEY = "pk_live_1";
/** Another secret key of the same application. */
export const SECOND_KEY = "sk_id_2";
/** Keys of another application. */
export const OTHER_KEY = "pk_live_2";
export const OTHER_SECRET_KEY = "sk_id_3";

/** Signs the connect tokens of rooms. */
export const ROOM_TOKENS = new RoomTokens(new Vault(Buffer.alloc(32, 7)));

export interface GrantOptions {
  readonly key?: string;
  /** peerMetadata. */
  readonly metadata?: unknown;
  /** The token's own; absent: what the key has. */
  readonly actions?: readonly Action[];
  readonly channels?: readonly string[];
  readonly expiresInMs?: number;
}

export class TestKeys {
  readonly keyring: Keyring;
  private readonly vault = new Vault(Buffer.alloc(32, 7));
  private app: AppRow = appRow(APP, { name: "demo" });
  private readonly keys = new Map<string, { row: KeyRow; secrets: SecretRow[] }>();
  private revision = 1;

  constructor(private readonly clock: Clock) {
    this.keyring = new Keyring(this.vault);
    this.keys.set(SECRET_KEY, { row: keyOf(SECRET_KEY, "secret"), secrets: [this.secret(SECRET_KEY, 1)] });
    this.keys.set(SECOND_KEY, { row: keyOf(SECOND_KEY, "secret"), secrets: [this.secret(SECOND_KEY, 1)] });
    this.keys.set(PUBLISHABLE_KEY, { row: keyOf(PUBLISHABLE_KEY, "publishable"), secrets: [] });
    this.keys.set(OTHER_KEY, { row: { ...keyOf(OTHER_KEY, "publishable"), app: OTHER }, secrets: [] });
    this.keys.set(OTHER_SECRET_KEY, {
      row: { ...keyOf(OTHER_SECRET_KEY, "secret"), app: OTHER },
      secrets: [this.secret(OTHER_SECRET_KEY, 1)],
    });
    this.keyring.load({
      revision: 1,
      apps: [this.app],
      keys: [...this.keys.values()].map((key) => key.row),
      secrets: [...this.keys.values()].flatMap((key) => key.secrets),
    });
  }

  grant(
    peerId: string,
    { key: id = SECRET_KEY, metadata, actions, channels, expiresInMs }: GrantOptions = {},
  ): KeyGrant {
    const key = this.keyring.key(id);
    if (!key || key.type === "sealed") throw new Error(`the key ${id} cannot be used to connect`);
    const current = key.type === "secret" ? key.secrets[0] : undefined;
    const globs = channels?.map(parseGlob).filter((glob): glob is Glob => typeof glob !== "string");
    return {
      spaceId: spaceOf(key.app),
      key,
      peerId,
      tokenScope: globs && new Scope(globs),
      tokenActions: actions && actionSet(actions),
      secretSeq: current?.seq,
      secretEndsMs: current?.ends ?? null,
      expiresAtMs: expiresInMs === undefined ? null : this.clock.wallMs() + expiresInMs,
      peerMetadataJson: metadata === undefined ? undefined : JSON.stringify(metadata),
      metadataJson: undefined,
      extraConnects: 0,
      seat: undefined,
    };
  }

  /** The same as a signed token; without `expiresInMs` it is good for an hour. `seq`: which of the key's secrets signs it. */
  token(peerId: string, options: GrantOptions & { readonly seq?: number } = {}): string {
    const { key: id = SECRET_KEY, metadata, actions, channels, expiresInMs = 3_600_000, seq } = options;
    const key = this.keyring.key(id);
    const secret = key?.type === "secret" && key.secrets.find((one) => seq === undefined || one.seq === seq);
    if (!secret) throw new Error(`the key ${id} has no such secret`);
    const nowMs = this.clock.wallMs();
    const claims = {
      sub: peerId,
      iat: Math.floor(nowMs / 1000),
      exp: Math.ceil((nowMs + expiresInMs) / 1000),
      ...(channels && { channels }),
      ...(actions && { permissions: actions }),
    };
    return signToken(claims, id, secret, {
      peerMetadata: metadata === undefined ? undefined : JSON.stringify(metadata),
    });
  }

  editApp(edit: Partial<AppRow>): void {
    this.app = { ...this.app, ...edit };
    this.keyring.apply({ apps: [this.app] }, ++this.revision);
  }

  editKey(
    id: string,
    edit: Partial<Pick<KeyRow, "channelPatterns" | "actions" | "allowedOrigins" | "turn" | "revoked">>,
  ): void {
    const key = this.keyOf(id);
    key.row = { ...key.row, ...edit };
    this.keyring.apply({ keys: [key] }, ++this.revision);
  }

  /** A new secret; the ones before it verify until their grace ends. */
  rotate(id: string, graceMs: number): void {
    const key = this.keyOf(id);
    const ends = this.clock.wallMs() + graceMs;
    key.secrets = [
      this.secret(id, (key.secrets[0]?.seq ?? 0) + 1),
      ...key.secrets.map((secret) => ({ ...secret, ends: secret.ends ?? ends })),
    ];
    this.keyring.apply({ keys: [key] }, ++this.revision);
  }

  private keyOf(id: string): { row: KeyRow; secrets: SecretRow[] } {
    const key = this.keys.get(id);
    if (!key) throw new Error(`there is no key ${id}`);
    return key;
  }

  private secret(keyId: string, seq: number): SecretRow {
    const sealed = this.vault.seal(`sk_secret_${keyId}_${seq}`, keySecretIdentity(keyId, seq));
    return { keyId, seq, sealed, digest: `digest ${seq}`, created: 0, ends: null };
  }
}

const keyOf = (id: string, type: KeyRow["type"]): KeyRow => keyRow(id, { app: APP, type, actions: ACTIONS });

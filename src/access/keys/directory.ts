/**
 * The only place that changes applications and keys. A change is written to the store first, then applied to the keyring before
 * the next change begins. When a call has resolved, the change is durable and in force on this node, and on every other node that
 * is reachable.
 */
import { type AppId, asAppId } from "../../base/ids.ts";
import { type Action, actionList, actionSet } from "../../protocol/actions.ts";
import { Problem } from "../../protocol/codes.ts";
import type { AppRow, Change, KeyRow, SecretRow, Store } from "../../store/contract/store.ts";
import {
  HISTORY_DEFAULT_BYTES,
  KEYS_PER_APP_MAX,
  MEETINGS_KEPT_DEFAULT_DAYS,
  PREVIOUS_SECRETS_MAX,
  RECORDINGS_DEFAULT_BYTES,
  RETIRED_SECRETS_KEPT,
  STREAMS_DEFAULT_BYTES,
} from "../limits.ts";
import { newAppSecret, newObjectId, newPublishableId, newSecretId, newSigningSecret } from "./ids.ts";
import { keyEvent } from "./key-events.ts";
import { isLive, type Keyring, type Touched } from "./keyring.ts";
import { appSecretIdentity, digestOf, keySecretIdentity, type Vault } from "./vault.ts";
import { isNarrower, type SecretLeft, type Withdrawn } from "./withdrawn.ts";

export interface NewKey {
  /** Id or name. */
  readonly app: string;
  readonly type: "publishable" | "secret";
  readonly channelPatterns: readonly string[];
  readonly actions: readonly Action[];
  readonly allowedOrigins: readonly string[] | null;
  readonly turn: boolean;
  readonly label: string | null;
}

/** Absent fields stay unchanged. */
export type KeyEdit = Partial<Pick<NewKey, "channelPatterns" | "actions" | "allowedOrigins" | "turn" | "label">>;
export type AppEdit = Partial<
  Pick<
    AppRow,
    | "planName"
    | "maxConcurrentConnections"
    | "maxMessagesPerPeriod"
    | "retentionDays"
    | "consolePayloads"
    | "channelRules"
    | "maxHistoryBytes"
    | "maxStreamBytes"
    | "allowedFrameOrigins"
    | "meetingRetentionDays"
    | "maxRecordingBytesTotal"
  >
>;

export interface RotateOptions {
  readonly graceSeconds: number;
  /** For a secret that leaked: every earlier one ends now. */
  readonly retirePrevious: boolean;
}

/** What an edit has replaced, and what it has written: for the audit. */
export interface Edited<Row> {
  readonly before: Row;
  readonly after: Row;
}

interface Outcome<T> {
  readonly result: T;
  readonly touched: Touched;
  /** What the change takes away; absent if nothing. */
  readonly withdrawn?: Withdrawn | undefined;
}

const DEFAULT_PLAN = "default";

export class Directory {
  /** Bound: registered at the start. */
  private readonly listeners: ((withdrawn: Withdrawn | undefined, app: AppId | undefined) => Promise<void>)[] = [];

  constructor(
    private readonly store: Store,
    private readonly keyring: Keyring,
    private readonly vault: Vault,
    private readonly nowMs: () => number,
  ) {}

  /** Called when a change is durable and in force on this node; the change resolves after its listeners. */
  onChange(listener: (withdrawn: Withdrawn | undefined, app: AppId | undefined) => Promise<void>): void {
    this.listeners.push(listener);
  }

  apps(): Promise<AppRow[]> {
    return this.store.apps();
  }

  /** In the order of their ids; `after` is the last id of the page before. */
  appsPage(limit: number, after = ""): Promise<AppRow[]> {
    return this.store.appsPage(limit, after);
  }

  async app(idOrName: string): Promise<AppRow> {
    return existing(await this.store.app(idOrName), "application");
  }

  /** In the order of their creation; `after` is the last key of the page before. `isRevoked`: only those, or only the others. */
  async keysPage(limit: number, app?: string, after?: string, isRevoked?: boolean): Promise<KeyRow[]> {
    // Continuing somewhere else would make a reader of all pages begin from the start, without end.
    if (after !== undefined && !(await this.store.key(after)))
      throw new Problem(
        "invalid_request",
        "after: this key does not exist, or no longer does; use next from the previous page, or start with the first page",
      );
    return this.store.keysPage(limit, app === undefined ? undefined : (await this.app(app)).id, after, isRevoked);
  }

  async key(id: string): Promise<KeyRow> {
    return existing(await this.store.key(id), "key");
  }

  createApp(name: string, consolePayloads = false): Promise<{ app: AppRow; secret: string }> {
    return this.change(async (change) => {
      if ((await change.apps()).some((app) => app.name === name))
        throw new Problem("conflict", `An application named ${name} already exists. Use it, or choose another name.`);
      const id = asAppId(newObjectId(this.nowMs()));
      const secret = newAppSecret();
      const app: AppRow = {
        id,
        name,
        ...this.sealAppSecret(id, secret),
        secretSeq: 1,
        previousSecrets: [],
        planName: DEFAULT_PLAN,
        maxConcurrentConnections: null,
        maxMessagesPerPeriod: null,
        retentionDays: null,
        consolePayloads,
        channelRules: [],
        maxHistoryBytes: HISTORY_DEFAULT_BYTES,
        maxStreamBytes: STREAMS_DEFAULT_BYTES,
        allowedFrameOrigins: [],
        meetingRetentionDays: MEETINGS_KEPT_DEFAULT_DAYS,
        maxRecordingBytesTotal: RECORDINGS_DEFAULT_BYTES,
        created: this.nowMs(),
        deleted: null,
      };
      await change.putApp(app);
      return { result: { app, secret }, touched: { apps: [app] } };
    });
  }

  editApp(idOrName: string, edit: AppEdit): Promise<Edited<AppRow>> {
    return this.change(async (change) => {
      const before = existing(await change.app(idOrName), "application");
      const after = { ...before, ...edit };
      await change.putApp(after);
      return { result: { before, after }, touched: { apps: [after] } };
    });
  }

  deleteApp(idOrName: string): Promise<AppRow> {
    return this.change(async (change) => {
      const now = this.nowMs();
      const found = existing(await change.app(idOrName), "application");
      const app = { ...found, secretSealed: "", secretDigest: "", previousSecrets: [], deleted: now };
      const keys = (await change.keys(app.id))
        .filter((key) => key.revoked === null)
        .map((key) => ({ row: { ...key, revoked: now }, secrets: [] }));
      await change.putApp(app);
      for (const { row } of keys) await change.putKey(row);
      await change.removeSecretsOfApp(app.id);
      // Before its rooms are archived, so that no event of it is written.
      await change.removeWebhooksOfApp(app.id);
      await change.archiveRooms(app.id, now);
      return { result: app, touched: { apps: [app], keys }, withdrawn: { kind: "app", id: app.id } };
    });
  }

  /** In clear text; a Problem with status 503 if the master key does not open it. */
  async appSecret(idOrName: string): Promise<string> {
    const app = await this.app(idOrName);
    const secret = this.vault.open(app.secretSealed, appSecretIdentity(app.id));
    if (secret === undefined) throw new Problem("internal_error", "The application's secret cannot be decrypted.");
    return secret;
  }

  rotateAppSecret(
    idOrName: string,
    options: RotateOptions,
  ): Promise<{ app: AppRow; secret: string; previousEndsMs: number }> {
    return this.change(async (change) => {
      const old = existing(await change.app(idOrName), "application");
      const now = this.nowMs();
      const ends = options.retirePrevious ? now : now + options.graceSeconds * 1000;
      const earlier = [{ seq: old.secretSeq, digest: old.secretDigest, ends }, ...old.previousSecrets];
      const previousSecrets = options.retirePrevious ? [] : earlier.filter((one) => isLive(one, now));
      if (previousSecrets.length > PREVIOUS_SECRETS_MAX) throw tooManyInGrace();
      const secret = newAppSecret();
      const sealed = this.sealAppSecret(old.id, secret);
      const app = { ...old, ...sealed, secretSeq: old.secretSeq + 1, previousSecrets };
      await change.putApp(app);
      const left: SecretLeft[] = [
        { seq: app.secretSeq, ends: null },
        ...previousSecrets.map((one) => ({ seq: one.seq, ends: one.ends })),
      ];
      const withdrawn: Withdrawn = { kind: "app secrets", id: app.id, left };
      return { result: { app, secret, previousEndsMs: ends }, touched: { apps: [app] }, withdrawn };
    });
  }

  /** `secret` is set for secret keys. This is the only time it is returned. */
  createKey(wanted: NewKey): Promise<{ key: KeyRow; secret?: string }> {
    return this.change<{ key: KeyRow; secret?: string }>(async (change) => {
      const app = existing(await change.app(wanted.app), "application");
      const live = (await change.keys(app.id)).filter((key) => key.revoked === null).length;
      if (live >= KEYS_PER_APP_MAX)
        throw new Problem(
          "conflict",
          `An application can have at most ${KEYS_PER_APP_MAX} live keys. Revoke one first.`,
        );
      const key: KeyRow = {
        id: wanted.type === "secret" ? newSecretId() : newPublishableId(),
        app: app.id,
        type: wanted.type,
        label: wanted.label,
        channelPatterns: wanted.channelPatterns,
        actions: actionList(actionSet(wanted.actions)),
        allowedOrigins: wanted.allowedOrigins,
        turn: wanted.turn,
        created: this.nowMs(),
        rotated: null,
        revoked: null,
      };
      await change.putKey(key);
      await change.addWebhookEvent(keyEvent("key.created", key, key.created));
      if (key.type === "publishable") return { result: { key }, touched: { keys: [{ row: key, secrets: [] }] } };
      const secret = newSigningSecret();
      const row = this.sealKeySecret(key.id, 1, secret);
      await change.putSecret(row);
      return { result: { key, secret }, touched: { keys: [{ row: key, secrets: [row] }] } };
    });
  }

  editKey(id: string, edit: KeyEdit): Promise<Edited<KeyRow>> {
    return this.change(async (change) => {
      const before = liveKey(await change.key(id));
      if (edit.allowedOrigins && before.type === "secret")
        throw new Problem(
          "invalid_request",
          "allowedOrigins: does not apply to a secret key, which browsers must never have.",
        );
      const after: KeyRow = { ...before, ...edit, actions: actionList(actionSet(edit.actions ?? before.actions)) };
      await change.putKey(after);
      const touched = { keys: [{ row: after, secrets: await change.secrets(id) }] };
      const withdrawn: Withdrawn | undefined = isNarrower(before, after)
        ? { kind: "narrowed key", id, edit: crypto.randomUUID() }
        : undefined;
      return { result: { before, after }, touched, withdrawn };
    });
  }

  /** Idempotent: a revoked key keeps the time of its first revocation. */
  revokeKey(id: string): Promise<KeyRow> {
    return this.change(async (change) => {
      const old = existing(await change.key(id), "key");
      const now = this.nowMs();
      const key = { ...old, revoked: old.revoked ?? now };
      await change.putKey(key);
      if (old.revoked === null) await change.addWebhookEvent(keyEvent("key.revoked", key, now));
      await change.removeSecretsOfKey(id);
      return { result: key, touched: { keys: [{ row: key, secrets: [] }] }, withdrawn: { kind: "key", id } };
    });
  }

  rotateKey(id: string, options: RotateOptions): Promise<{ key: KeyRow; secret: string; previousEndsMs: number }> {
    return this.change(async (change) => {
      const old = liveKey(await change.key(id));
      if (old.type === "publishable") throw new Problem("conflict", "A publishable key has no secret to rotate.");
      const now = this.nowMs();
      const ends = options.retirePrevious ? now : now + options.graceSeconds * 1000;
      const earlier = (await change.secrets(id)).map((secret) => ({
        ...secret,
        ends: options.retirePrevious ? Math.min(secret.ends ?? now, now) : (secret.ends ?? ends),
      }));
      if (earlier.filter((secret) => isLive(secret, now)).length > PREVIOUS_SECRETS_MAX) throw tooManyInGrace();
      const secret = newSigningSecret();
      const row = this.sealKeySecret(id, (earlier[0]?.seq ?? 0) + 1, secret);
      const kept = await this.keepSecrets(change, [row, ...earlier], now);
      const key = { ...old, rotated: now };
      await change.putKey(key);
      await change.addWebhookEvent(keyEvent("key.rotated", key, now));
      const left = kept.filter((one) => isLive(one, now)).map((one) => ({ seq: one.seq, ends: one.ends }));
      const touched = { keys: [{ row: key, secrets: kept }] };
      return {
        result: { key, secret, previousEndsMs: ends },
        touched,
        withdrawn: { kind: "key secrets", id, left },
      };
    });
  }

  /** Writes the secrets of a key, newest first, and removes retired ones beyond RETIRED_SECRETS_KEPT. */
  private async keepSecrets(change: Change, secrets: readonly SecretRow[], nowMs: number): Promise<SecretRow[]> {
    const retired = secrets.filter((secret) => !isLive(secret, nowMs));
    const removed = new Set(retired.sort((a, b) => (b.ends ?? 0) - (a.ends ?? 0)).slice(RETIRED_SECRETS_KEPT));
    for (const secret of secrets) {
      if (removed.has(secret)) await change.removeSecret(secret.keyId, secret.seq);
      else await change.putSecret(secret);
    }
    return secrets.filter((secret) => !removed.has(secret));
  }

  private async change<T>(work: (change: Change) => Promise<Outcome<T>>): Promise<T> {
    const { result, withdrawn, touched } = await this.store.change(work, ({ touched }, revision) =>
      this.keyring.apply(touched, revision),
    );
    const app = touched.apps?.[0]?.id ?? touched.keys?.[0]?.row.app;
    await Promise.all(this.listeners.map((listener) => listener(withdrawn, app)));
    return result;
  }

  private sealAppSecret(appId: AppId, secret: string): Pick<AppRow, "secretSealed" | "secretDigest"> {
    return { secretSealed: this.vault.seal(secret, appSecretIdentity(appId)), secretDigest: digestOf(secret) };
  }

  private sealKeySecret(keyId: string, seq: number, secret: string): SecretRow {
    const sealed = this.vault.seal(secret, keySecretIdentity(keyId, seq));
    return { keyId, seq, sealed, digest: digestOf(secret), created: this.nowMs(), ends: null };
  }
}

const tooManyInGrace = (): Problem =>
  new Problem(
    "conflict",
    `${PREVIOUS_SECRETS_MAX} previous secrets are still in their grace period; wait for one to end, or use graceSec 0 or retirePrevious.`,
  );

function existing<T>(row: T | undefined, what: string): T {
  if (row === undefined) throw new Problem("not_found", `There is no such ${what}.`);
  return row;
}

function liveKey(row: KeyRow | undefined): KeyRow {
  const key = existing(row, "key");
  if (key.revoked !== null) throw new Problem("conflict", "This key is revoked.");
  return key;
}

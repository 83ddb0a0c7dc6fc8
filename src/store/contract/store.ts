/**
 * The contract of durable state.
 *
 * - `change` MUST run one change at a time, MUST raise the revision with it, and MUST NOT resolve before the change would
 *   survive a power loss. If its work throws, nothing of it MUST remain.
 * - `snapshot` MUST be consistent: all rows as they were at one revision.
 * - `addUsage` and `putBlock` MUST be all or nothing. They do not raise that revision; blocks have a revision of their own.
 * - `addUsage` MUST NOT add a write again that the store has already, nor one that a later write of the same writer has followed.
 * - If the database cannot be reached, calls MUST throw StoreUnreachable. Whether their statements took effect is then unknown.
 * - Rows contain sealed secrets only; a store never has a secret in plain text.
 */
import type { AppId } from "../../base/ids.ts";
import type { Action } from "../../protocol/actions.ts";
import type { ChannelRule } from "../../protocol/patterns/channel-rules.ts";
import type { AmountStore } from "./amounts.ts";
import type { ClearingStore } from "./clearing.ts";
import type { HeldMemberStore } from "./held-members.ts";
import type { Leases } from "./leases.ts";
import type { MeetingStore } from "./meetings.ts";
import type { AuditStore, OperatorRow, SessionRow } from "./operators.ts";
import type { RecordingStore } from "./recordings.ts";
import type { RoomStore } from "./rooms.ts";
import type { TrackingStore } from "./tracking.ts";
import type { NewWebhookEvent, WebhookRow, WebhookSecretRow, WebhookStore } from "./webhooks.ts";

export interface AppRow {
  readonly id: AppId;
  readonly name: string;
  readonly secretSealed: string;
  readonly secretDigest: string;
  /** Generation of the current secret: the first is 1, and each rotation raises it. */
  readonly secretSeq: number;
  /** Earlier secrets that still worked when the secret was last rotated, newest first. */
  readonly previousSecrets: readonly PreviousAppSecret[];
  readonly planName: string;
  readonly maxConcurrentConnections: number | null;
  readonly maxMessagesPerPeriod: number | null;
  readonly retentionDays: number | null;
  /** Whether operators can see the application's messages. */
  readonly consolePayloads: boolean;
  /** In order: the first whose pattern matches a channel applies. */
  readonly channelRules: readonly ChannelRule[];
  /** How many bytes of history are kept for all its channels together. */
  readonly maxHistoryBytes: number;
  /** How many bytes its streams may have together. */
  readonly maxStreamBytes: number;
  /** Origins whose pages may frame the meeting page. */
  readonly allowedFrameOrigins: readonly string[];
  /** How many days meetings that have ended are kept. */
  readonly meetingRetentionDays: number;
  /** How many bytes its recordings and open uploads may have together. */
  readonly maxRecordingBytesTotal: number;
  readonly created: number;
  readonly deleted: number | null;
}

/** An earlier secret of an application: its digest is enough to recognise it until it ends. */
export interface PreviousAppSecret {
  readonly seq: number;
  readonly digest: string;
  /** Unix ms. */
  readonly ends: number;
}

export interface KeyRow {
  readonly id: string;
  readonly app: AppId;
  readonly type: "publishable" | "secret";
  readonly label: string | null;
  readonly channelPatterns: readonly string[];
  readonly actions: readonly Action[];
  /** Only publishable keys have allowed origins. */
  readonly allowedOrigins: readonly string[] | null;
  /** Whether those who connect with it get ICE servers. */
  readonly turn: boolean;
  readonly created: number;
  readonly rotated: number | null;
  readonly revoked: number | null;
}

export interface SecretRow {
  readonly keyId: string;
  readonly seq: number;
  readonly sealed: string;
  readonly digest: string;
  readonly created: number;
  /** null: it is the current secret. */
  readonly ends: number | null;
}

export interface UsageRow {
  readonly app: AppId;
  /** Unix seconds of the beginning of the period. */
  readonly period: number;
  readonly messages: number;
  /** Those of `messages` that guests of rooms have sent. */
  readonly guestMessages: number;
  readonly peakConnections: number;
}

/** What a repeated write of usage is recognised by. */
export interface UsageWrite {
  /** A random id of the process that counts. */
  readonly writer: string;
  /** Each write of a writer has a larger number than the one before; the first has 1. */
  readonly seq: number;
  /** Unix ms. */
  readonly atMs: number;
}

export interface BlockRow {
  readonly app: AppId;
  readonly peerId: string;
  readonly untilMs: number;
}

/** Compared with earlier ones, they show what has changed. */
export interface Revisions {
  /** Revision of everything that `change` writes: applications, keys, operators, sessions, meta. */
  readonly keys: number;
  readonly blocks: number;
  /**
   * The server that they come from. Another one, or one that was restarted, may have lost the latest changes, and may have given their
   * revisions to others.
   */
  readonly server?: string;
}

/** A node knows the application of this many revoked keys, the last revoked of all applications. */
export const REVOKED_KEYS_KNOWN_MAX = 1000;

export interface Snapshot {
  readonly revision: number;
  /** Live applications, live keys, and the secrets of those keys, newest first. */
  readonly apps: readonly AppRow[];
  readonly keys: readonly KeyRow[];
  readonly secrets: readonly SecretRow[];
  /** Keys of live applications that were revoked, the last first. Bound: REVOKED_KEYS_KNOWN_MAX. */
  readonly revokedKeys: readonly Pick<KeyRow, "id" | "app">[];
  /** Live operators, and all sessions of the dashboard. */
  readonly operators: readonly OperatorRow[];
  readonly sessions: readonly SessionRow[];
  /** Endpoints of live applications, and their secrets, newest first. */
  readonly webhooks: readonly WebhookRow[];
  readonly webhookSecrets: readonly WebhookSecretRow[];
  /** The store's own notes. Bound: their names are in the code. */
  readonly meta: ReadonlyMap<string, string>;
}

export interface Reads {
  app(idOrName: string): Promise<AppRow | undefined>;
  apps(): Promise<AppRow[]>;
  /** Live applications behind the one with that id, in the order of their ids. */
  appsPage(limit: number, after: string): Promise<AppRow[]>;
  key(id: string): Promise<KeyRow | undefined>;
  /** Keys of one application or of all, also revoked ones. */
  keys(app?: AppId): Promise<KeyRow[]>;
  /** The same in pages, in the order of creation; `after` is the last key of the page before. `isRevoked`: only those, or only the others. */
  keysPage(limit: number, app?: AppId, after?: string, isRevoked?: boolean): Promise<KeyRow[]>;
  /** Newest first. */
  secrets(keyId: string): Promise<SecretRow[]>;
  meta(name: string): Promise<string | undefined>;
  /** Operators that are not revoked, oldest first. */
  operators(): Promise<OperatorRow[]>;
  operator(id: string): Promise<OperatorRow | undefined>;
  /** Oldest first. */
  sessions(): Promise<SessionRow[]>;
  /** Endpoints of one application or of all, oldest first. */
  webhooksOf(app?: AppId): Promise<WebhookRow[]>;
  webhook(id: string): Promise<WebhookRow | undefined>;
  /** Newest first. */
  webhookSecrets(webhook: string): Promise<WebhookSecretRow[]>;
}

export interface Change extends Reads {
  putApp(row: AppRow): Promise<void>;
  putKey(row: KeyRow): Promise<void>;
  putSecret(row: SecretRow): Promise<void>;
  removeSecret(keyId: string, seq: number): Promise<void>;
  removeSecretsOfKey(keyId: string): Promise<void>;
  removeSecretsOfApp(app: AppId): Promise<void>;
  putMeta(name: string, value: string): Promise<void>;
  putOperator(row: OperatorRow): Promise<void>;
  putSession(row: SessionRow): Promise<void>;
  removeSession(digest: string): Promise<void>;
  /** Archives all rooms of an application. */
  archiveRooms(app: AppId, nowMs: number): Promise<void>;
  putWebhook(row: WebhookRow): Promise<void>;
  /** With its secrets. What it has left in the queue and in the log is removed later (WebhookStore.forget). */
  removeWebhook(id: string): Promise<void>;
  /** All endpoints of an application: from then on it has no events. */
  removeWebhooksOfApp(app: AppId): Promise<void>;
  putWebhookSecret(row: WebhookSecretRow): Promise<void>;
  removeWebhookSecret(webhook: string, seq: number): Promise<void>;
  /** Writes nothing for an application without anyone to tell. */
  addWebhookEvent(event: NewWebhookEvent): Promise<void>;
}

export interface Store extends Reads {
  readonly rooms: RoomStore;
  readonly meetings: MeetingStore;
  readonly recordings: RecordingStore;
  readonly audit: AuditStore;
  readonly heldMembers: HeldMemberStore;
  readonly clearing: ClearingStore;
  readonly amounts: AmountStore;
  /** What nodes write of their connections and memberships, for webhooks. */
  readonly tracking: TrackingStore;
  readonly webhooks: WebhookStore;
  /** Leases of uploads: one writer at a time, over all nodes. */
  readonly leases: Leases;
  /** Other nodes may write to it, so that state in memory must be refreshed. */
  readonly isShared: boolean;
  /**
   * Calls back when the revisions may be others because of another process, and when the store becomes unreachable or reachable. Absent:
   * the revisions have to be read often.
   */
  readonly onChange?: (listener: () => void) => void;
  /** Cheap, and with a short timeout. */
  revisions(): Promise<Revisions>;
  snapshot(): Promise<Snapshot>;
  /** `committed` is called once the change is durable, before the next one begins. */
  change<T>(work: (change: Change) => Promise<T>, committed?: (result: T, revision: number) => void): Promise<T>;
  /** A deleted application by its id, while its usage is kept. */
  deletedApp(id: string): Promise<AppRow | undefined>;
  /** Usage of all applications in one period. */
  usage(period: number): Promise<UsageRow[]>;
  /** Usage of one application, newest period first, from the period `from` on. */
  usageOf(app: AppId, from: number): Promise<UsageRow[]>;
  /** Adds messages to a period and raises its peak; writes all rows or none. A write whose outcome is unknown can be repeated with its number. */
  addUsage(rows: readonly UsageRow[], write: UsageWrite): Promise<void>;
  /** Notes when an operator was last there, without raising a revision. */
  touchOperator(id: string, atMs: number): Promise<void>;
  /** Blocks that have not ended at that time. */
  blocks(nowMs: number): Promise<BlockRow[]>;
  /** Also removes blocks that have ended. */
  putBlock(row: BlockRow, nowMs: number): Promise<void>;
  /** Ends a block before its time: all or nothing, and raises the revision of blocks. false: there was none, or it had ended. */
  removeBlock(app: AppId, peerId: string, nowMs: number): Promise<boolean>;
  /** Removes blocks that have ended, without raising a revision. */
  forgetBlocks(nowMs: number): Promise<void>;
  /** Rejects if nothing can be written, as on a full disk. Has a short timeout. */
  tryWrite(): Promise<void>;
  /** Takes a lock of that name among all nodes, until it is released or this process ends. */
  lock(name: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** The store cannot be used; the message tells the operator what to do. */
export class StoreError extends Error {}

/** The data folder has a server. `by` says which, if that is known. */
export class StoreInUse extends StoreError {
  constructor(
    readonly folder: string,
    readonly remedy = "stop it first, or choose another folder with --data",
    by = "",
  ) {
    super(`another Parley process is using ${folder}${by}; ${remedy}`);
  }
}

/** A backup cannot be written to the file that was named. */
export class WrongTarget extends StoreError {}

/** The store cannot be reached at the moment; the message is for the log. */
export class StoreUnreachable extends Error {}

/** It can be read, but takes no changes: a standby, or a server that was made read-only. What it holds may be old. */
export class StoreReadOnly extends StoreUnreachable {}

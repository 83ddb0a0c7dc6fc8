/**
 * The contract of durable state.
 *
 * - `change` MUST run one change at a time, MUST raise the revision with it, and MUST NOT resolve before the change would
 *   survive the loss of power. If its work throws, nothing of it MUST remain.
 * - `snapshot` MUST be consistent: one revision, everything that belongs to it.
 * - `addUsage` and `putBlock` MUST be all or nothing, and do not raise that revision; blocks have one of their own.
 * - A database that cannot be asked MUST give StoreAway, and what was asked MAY or MAY NOT have been done.
 * - Rows carry sealed secrets only; a store never sees one in clear.
 */
import type { Action } from "../protocol/actions.ts";
import type { Leases } from "./leases.ts";
import type { RecordingStore } from "./recordings.ts";
import type { RoomStore } from "./rooms.ts";

export interface AppRow {
  readonly id: string;
  readonly name: string;
  readonly secretSealed: string;
  readonly secretDigest: string;
  /** Of the current secret: the first is 1, each rotation raises it. */
  readonly secretSeq: number;
  /** Those that still worked when the secret was last rotated, newest first. */
  readonly previousSecrets: readonly PreviousAppSecret[];
  readonly planName: string;
  readonly maxConcurrentConnections: number | null;
  readonly maxMessagesPerPeriod: number | null;
  readonly retentionDays: number | null;
  readonly created: number;
  readonly deleted: number | null;
}

/** A replaced secret of an application: enough to recognise it until it ends. */
export interface PreviousAppSecret {
  readonly seq: number;
  readonly digest: string;
  /** Unix ms. */
  readonly ends: number;
}

export interface KeyRow {
  readonly id: string;
  readonly app: string;
  readonly type: "publishable" | "secret";
  readonly label: string | null;
  readonly channelPatterns: readonly string[];
  readonly actions: readonly Action[];
  /** Only publishable keys have them. */
  readonly allowedOrigins: readonly string[] | null;
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
  /** null: the current one. */
  readonly ends: number | null;
}

export interface UsageRow {
  readonly app: string;
  /** Unix seconds of the period's beginning. */
  readonly period: number;
  readonly messages: number;
  readonly peakConnections: number;
}

export interface BlockRow {
  readonly app: string;
  readonly peerId: string;
  readonly untilMs: number;
}

/** What has changed since somebody last looked. */
export interface Revisions {
  /** Of applications, keys and whatever else `change` writes. */
  readonly keys: number;
  readonly blocks: number;
}

export interface Snapshot {
  readonly revision: number;
  /** Live applications, live keys, and the secrets of those keys, newest first. */
  readonly apps: readonly AppRow[];
  readonly keys: readonly KeyRow[];
  readonly secrets: readonly SecretRow[];
  readonly meta: ReadonlyMap<string, string>;
}

export interface Reads {
  app(idOrName: string): Promise<AppRow | undefined>;
  apps(): Promise<AppRow[]>;
  key(id: string): Promise<KeyRow | undefined>;
  /** Of one application, or of all; revoked ones too. */
  keys(app?: string): Promise<KeyRow[]>;
  /** Newest first. */
  secrets(keyId: string): Promise<SecretRow[]>;
  meta(name: string): Promise<string | undefined>;
}

export interface Change extends Reads {
  putApp(row: AppRow): Promise<void>;
  putKey(row: KeyRow): Promise<void>;
  putSecret(row: SecretRow): Promise<void>;
  removeSecret(keyId: string, seq: number): Promise<void>;
  putMeta(name: string, value: string): Promise<void>;
  /** All rooms of an application. */
  archiveRooms(app: string, nowMs: number): Promise<void>;
}

export interface Store extends Reads {
  readonly rooms: RoomStore;
  readonly recordings: RecordingStore;
  /** Of uploads: one writer at a time, over all nodes. */
  readonly leases: Leases;
  /** Other nodes may write to it: what is held in memory must follow. */
  readonly isShared: boolean;
  /** Cheap, and given up soon where there is no answer. */
  revisions(): Promise<Revisions>;
  snapshot(): Promise<Snapshot>;
  /** `committed` is called once the change is durable, before the next one begins. */
  change<T>(work: (change: Change) => Promise<T>, committed?: (result: T, revision: number) => void): Promise<T>;
  /** Of one period, all applications. */
  usage(period: number): Promise<UsageRow[]>;
  /** Adds messages to a period and raises its peak; several at once or none. */
  addUsage(rows: readonly UsageRow[]): Promise<void>;
  /** Those that still hold at that time. */
  blocks(nowMs: number): Promise<BlockRow[]>;
  /** Also forgets those that have ended. */
  putBlock(row: BlockRow, nowMs: number): Promise<void>;
  /** Removes those that have ended; no revision rises with it. */
  forgetBlocks(nowMs: number): Promise<void>;
  /** Rejects where nothing can be written, as on a full disk. Given up soon where there is no answer. */
  tryWrite(): Promise<void>;
  /** Alone among all nodes, by name, until it is released or this process ends. */
  claim(name: string): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/** The store cannot be used as it is; the message tells the operator what to do. */
export class StoreError extends Error {}

/** The store cannot be asked at the moment; its message is for the log. */
export class StoreAway extends Error {}

/**
 * Which methods of the contracts travel between a worker and the server. The types require every asynchronous method of a contract to be
 * listed, and no other. Both sides run the same version, so that the number of a method is its place in the list.
 */
import type { AppId } from "../base/ids.ts";
import type { HistoryStore } from "../history/contract/history.ts";
import type { StreamsByChannel } from "../history/sqlite/created/store.ts";
import type { RulesByChannel } from "../history/sqlite/history.ts";
import type { AmountStore } from "../store/contract/amounts.ts";
import type { ClearingStore } from "../store/contract/clearing.ts";
import type { HeldMemberStore } from "../store/contract/held-members.ts";
import type { BytesState, LeaseNote } from "../store/contract/leases.ts";
import type { MeetingStore } from "../store/contract/meetings.ts";
import type { AuditStore } from "../store/contract/operators.ts";
import type { RecordingStore } from "../store/contract/recordings.ts";
import type { RoomStore } from "../store/contract/rooms.ts";
import type { StillFiles } from "../store/contract/still-files.ts";
import type { Change, Store } from "../store/contract/store.ts";
import type { TrackingStore } from "../store/contract/tracking.ts";
import type { WebhookStore } from "../store/contract/webhooks.ts";
import type { TakenLease } from "../store/sql/recordings/worker-leases.ts";
import { type CreatedPart, created, createdCalls } from "./created-methods.ts";
import type { Listed } from "./listed.ts";
import { tracking, webhooks } from "./webhook-methods.ts";

/** What a worker says first, and what it learns. */
export interface Welcome {
  /** A random id of the server's process. */
  readonly incarnation: string;
  /** How often the history has been rewound since the server started. */
  readonly rewinds: number;
}

/** The files of the stores, which are still until the hold is released or the connection ends. */
export interface HeldStill extends Omit<StillFiles, "release"> {
  readonly hold: number;
}

/** Calls that belong to the connection: what they begin ends with it. */
export interface SessionCalls {
  /** `worker`: a random id of the worker's process. */
  hello(version: string, worker: string): Promise<Welcome>;
  ping(): Promise<void>;
  /** Resolves when this change is next, with its number. */
  beginChange(): Promise<number>;
  inChange(change: number, method: string, args: readonly unknown[]): Promise<unknown>;
  /** Rejects if the server undoes the change; resolves when it has ended otherwise. */
  changeOver(change: number): Promise<void>;
  /** Resolves with the revision when the change is durable. `isKept` is false: it is undone. */
  endChange(change: number, isKept: boolean): Promise<number>;
  lock(name: string): Promise<number>;
  unlock(lock: number): Promise<void>;
  takeLease(id: string): Promise<TakenLease | undefined>;
  isLeaseHeld(id: string, generation: number): Promise<boolean>;
  releaseLease(id: string, generation: number, isClean: boolean, note: LeaseNote): Promise<boolean>;
  lookAtLease(id: string): Promise<BytesState | undefined>;
  holdStill(): Promise<HeldStill>;
  releaseStill(hold: number): Promise<boolean>;
}

/** In place of the methods of the history whose arguments are functions. */
export interface HistoryCalls extends RulesByChannel {
  /** Bytes that have changed since the last call, by application. `unknown`: applications whose bytes the server does not know. */
  trim(changed: ReadonlyMap<AppId, number>): Promise<{ readonly more: boolean; readonly unknown: readonly AppId[] }>;
}

const session: Listed<SessionCalls> = {
  hello: true,
  ping: true,
  beginChange: true,
  inChange: true,
  changeOver: true,
  endChange: true,
  lock: true,
  unlock: true,
  takeLease: true,
  isLeaseHeld: true,
  releaseLease: true,
  lookAtLease: true,
  holdStill: true,
  releaseStill: true,
};

const reads = {
  app: true,
  apps: true,
  appsPage: true,
  key: true,
  keys: true,
  keysPage: true,
  secrets: true,
  meta: true,
  operators: true,
  operator: true,
  sessions: true,
  webhooksOf: true,
  webhook: true,
  webhookSecrets: true,
} as const;

const store: Listed<Store, "change" | "lock" | "close"> = {
  ...reads,
  revisions: true,
  snapshot: true,
  deletedApp: true,
  usage: true,
  usageOf: true,
  addUsage: true,
  touchOperator: true,
  blocks: true,
  putBlock: true,
  removeBlock: true,
  forgetBlocks: true,
  tryWrite: true,
};

const change: Listed<Change> = {
  ...reads,
  putApp: true,
  putKey: true,
  putSecret: true,
  removeSecret: true,
  removeSecretsOfKey: true,
  removeSecretsOfApp: true,
  putMeta: true,
  putOperator: true,
  putSession: true,
  removeSession: true,
  archiveRooms: true,
  putWebhook: true,
  removeWebhook: true,
  removeWebhooksOfApp: true,
  putWebhookSecret: true,
  removeWebhookSecret: true,
  addWebhookEvent: true,
};

const rooms: Listed<RoomStore> = {
  room: true,
  roomById: true,
  archivedRoom: true,
  rooms: true,
  roomPage: true,
  addRoom: true,
  replaceRoom: true,
  archiveRoom: true,
  archiveDue: true,
  nextDue: true,
  recount: true,
};

const meetings: Listed<MeetingStore> = {
  wait: true,
  waiting: true,
  waitingOne: true,
  decide: true,
  setSeen: true,
  forgetWaiting: true,
  unseen: true,
  forgetUnseen: true,
  reserve: true,
  takenByOthers: true,
  enter: true,
  lost: true,
  rename: true,
  end: true,
  stay: true,
  openStays: true,
  inside: true,
  insideEach: true,
  current: true,
  latest: true,
  meeting: true,
  participants: true,
  peopleEach: true,
  firstEntry: true,
  meetings: true,
  lock: true,
  setRecording: true,
  ban: true,
  isBanned: true,
  isBarred: true,
  beat: true,
  overdue: true,
  endOverdue: true,
  endMeeting: true,
  endEmpty: true,
  forgetOld: true,
  bringBack: true,
};

const recordings: Listed<RecordingStore> = {
  addUpload: true,
  addStayUpload: true,
  upload: true,
  touchUpload: true,
  noteBytes: true,
  moveUpload: true,
  finish: true,
  finishedUploads: true,
  noteMending: true,
  putThumbnail: true,
  putSpeech: true,
  thumbnail: true,
  speech: true,
  dueStayUploads: true,
  openUploadsOfStay: true,
  bytesUsed: true,
  discardUpload: true,
  uploadsTouchedBefore: true,
  discardedUploads: true,
  forgetUpload: true,
  uploadsOf: true,
  filesToRemove: true,
  fileRemoved: true,
  complete: true,
  recording: true,
  seqOf: true,
  page: true,
  totalOf: true,
  hasRecordings: true,
  lastSeq: true,
  stored: true,
  recount: true,
  deleteRecordings: true,
  deletedRecordings: true,
  markRemoved: true,
  knownIds: true,
  deletedApps: true,
  roomIdOf: true,
  roomNames: true,
};

const audit: Listed<AuditStore> = { add: true, list: true, removeBefore: true, trim: true };

const heldMembers: Listed<HeldMemberStore> = { put: true, read: true, take: true, drop: true };

const clearing: Listed<ClearingStore> = {
  uncleared: true,
  clear: true,
  isClear: true,
  setCleared: true,
  forgetDeletedApps: true,
  forgetUsage: true,
  forgetKeys: true,
  forgetOperators: true,
  forgetRooms: true,
  forgetRecordingNumbers: true,
  forgetRecordingExtras: true,
};

const amounts: Listed<AmountStore> = { ofTables: true, ofApp: true, recordedBytes: true, bytes: true };

const history: Listed<HistoryStore, "applyRules" | "trim" | "close"> = {
  append: true,
  settle: true,
  open: true,
  read: true,
  heads: true,
  remove: true,
  removeSpace: true,
  usage: true,
  totals: true,
};

const historyCalls: Listed<HistoryCalls> = { trim: true, channelsAfter: true, applyTo: true };

/** The contracts, with the methods that the lists above name. */
export interface Contracts {
  readonly session: SessionCalls;
  readonly store: Pick<Store, keyof typeof store>;
  readonly rooms: RoomStore;
  readonly meetings: MeetingStore;
  readonly recordings: RecordingStore;
  readonly audit: AuditStore;
  readonly heldMembers: HeldMemberStore;
  readonly clearing: ClearingStore;
  readonly amounts: AmountStore;
  readonly tracking: TrackingStore;
  readonly webhooks: WebhookStore;
  readonly history: Pick<HistoryStore, keyof typeof history>;
  readonly historyCalls: HistoryCalls;
  readonly created: CreatedPart;
  readonly createdCalls: StreamsByChannel;
}
export type Part = keyof Contracts;

const LISTS: Readonly<Record<Part, Readonly<Record<string, true>>>> = {
  // `hello` is the first of all: its number is the same in every version.
  session,
  store,
  rooms,
  meetings,
  recordings,
  audit,
  heldMembers,
  clearing,
  amounts,
  tracking,
  webhooks,
  history,
  historyCalls,
  created,
  createdCalls,
};

export interface Method {
  readonly part: Part;
  readonly name: string;
}

/** By their numbers. */
export const METHODS: readonly Method[] = Object.entries(LISTS).flatMap(([part, names]) =>
  Object.keys(names).map((name) => ({ part: part as Part, name })),
);
export const HELLO = 0;
export const PING = 1;

export const CHANGE_METHODS: readonly string[] = Object.keys(change);

/** Calls of the contract of stores that show whether the store answers. */
const PROBES: readonly (keyof typeof store)[] = ["revisions", "blocks", "tryWrite"];
/** Calls of the contracts of history: when they cannot be made, the error is that of those contracts. */
const OF_HISTORY: readonly Part[] = ["history", "historyCalls", "created", "createdCalls"];
export const IS_HISTORY: readonly boolean[] = METHODS.map(({ part }) => OF_HISTORY.includes(part));

export const isProbe = ({ part, name }: Method): boolean =>
  part === "store" && (PROBES as readonly string[]).includes(name);

export type AnyMethod = (...args: unknown[]) => Promise<unknown>;

/** The methods of one part, made of one function for all of them. */
export function partOf<P extends Part>(part: P, methodFor: (nr: number, method: Method) => AnyMethod): Contracts[P] {
  const methods = METHODS.flatMap((method, nr) =>
    method.part === part ? [[method.name, methodFor(nr, method)] as const] : [],
  );
  // The lists above are compared with the contracts by the compiler.
  return Object.fromEntries(methods) as unknown as Contracts[P];
}

/** The methods of objects by their numbers. */
export const methodsOf = (parts: Contracts): readonly AnyMethod[] =>
  METHODS.map(({ part, name }) => {
    const owner = parts[part] as unknown as Readonly<Record<string, AnyMethod>>;
    return (...args) => (owner[name] as AnyMethod).apply(owner, args);
  });

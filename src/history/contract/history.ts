/**
 * The contract of history: streams of messages that survive their node. One stream per channel with history; every message has one
 * offset in it, without gaps. testing/history.suite.ts is the suite of all implementations. The contract is asynchronous throughout,
 * because the embedded file may later be in another process.
 *
 * - `append` MUST give offsets inside its transaction, in the order of the batch, and MUST resolve only when the messages would
 *   survive the end of this process. Two messages MUST NOT get the same offset, and a stream MUST NOT have a gap.
 * - If `append` rejects, the batch may be stored or not. `settle` MUST find out which, and MUST prevent a batch that it reports as not
 *   stored from being stored later, also by a connection or a server that was frozen meanwhile.
 * - A message whose id the same scope has used in that channel within MESSAGE_ID_REMEMBERED_MS MUST NOT be stored: its result is that
 *   of the first one, with `isDuplicate`. Ids outlive trimming, and `remove`: a retry must not bring back what was deleted. Two equal
 *   ids in one batch are a duplicate too.
 * - `time` MUST NOT decrease within a stream.
 * - The epoch of a stream MUST be new and random whenever its offsets could mean something else: after `remove`, and when a stream
 *   that was forgotten begins again. It MUST begin with a letter (random.ts). The offsets of a new epoch begin at 1.
 * - Reads MUST be consistent: state, check and messages as of one moment.
 * - `trim` MUST do a bounded amount of work per call, and MUST NOT delay `append` by more than that.
 * - What is too old or too much MUST NOT be read, also before `trim` has removed it.
 * - After `append` has rejected, the caller MUST settle that batch before it appends another.
 * - Calls MUST reject with HistoryUnavailable when the store cannot be used at the moment.
 */
import type { AppId, SpaceId } from "../../base/ids.ts";
import type { Retention } from "../../protocol/patterns/channel-rules.ts";
import type { Position } from "../../protocol/position.ts";
import type { CreatedStreamStore } from "./created-streams.ts";
import type { Appended, Batch, Page, Range, StreamState } from "./messages.ts";

export type { Appended, Batch, NewMessage, Page, Range, StoredMessage, StreamState } from "./messages.ts";

/** The end of a stream. */
export interface StreamHead extends Position {
  readonly app: SpaceId;
  readonly channel: string;
}

/** Streams that have changed. */
export interface ChangedHeads {
  readonly heads: readonly StreamHead[];
  /** For how long the oldest transaction has been open whose changes these heads may lack: the next call goes back that much further. */
  readonly openMs: number;
}

/** What an application has stored. */
export interface HistoryUsage {
  readonly streams: number;
  /** Streams that hold messages. The others had some, or clients have subscribed to them. */
  readonly filled: number;
  readonly messages: number;
  readonly bytes: number;
}

/** What all applications have stored. */
export interface HistoryTotals {
  readonly streams: number;
  readonly messages: number;
  /** On disk, or as `usage` counts them. */
  readonly bytes: number;
  /** They are estimates. */
  readonly isAbout: boolean;
}

export interface HistoryStore {
  /** Other nodes append to the same streams. */
  readonly isShared: boolean;
  /** Streams that are created over HTTP, which it keeps beside histories, and writes over HTTP to both. */
  readonly created: CreatedStreamStore;
  append(batch: Batch): Promise<readonly Appended[]>;
  /** The fate of a batch whose `append` has rejected: `undefined` if it is not stored, and never will be. */
  settle(batch: Batch): Promise<readonly Appended[] | undefined>;
  /**
   * The state of a stream, which begins with this if there is none. A stream without messages that nothing has opened or appended to
   * for an hour (a day if it had some) is forgotten, so a node opens each stream that it watches every STREAM_USE_NOTED_MS.
   */
  open(spaceId: SpaceId, channel: string, keep: Retention): Promise<StreamState>;
  /** `undefined`: there is no such stream. */
  read(spaceId: SpaceId, channel: string, range: Range): Promise<Page | undefined>;
  /**
   * The ends of streams that were appended to, or removed with `remove`, within the last `agoMs`. May contain older ones. Streams that
   * a change of rules has removed are not in it. Not since a time, because the clock of the store is not that of the caller. What a
   * call cannot see yet because its transaction is still open MUST be seen by a later one, however long that transaction takes.
   */
  heads(agoMs: number): Promise<ChangedHeads>;
  /** Forgets all messages of a channel: a new epoch begins. Returns false if there was no stream. */
  remove(spaceId: SpaceId, channel: string): Promise<boolean>;
  /** After a change of rules: `keep` says what a channel keeps now, or `undefined` if it has no history any more. */
  applyRules(spaceId: SpaceId, keep: (channel: string) => Retention | undefined): Promise<void>;
  /** Forgets all streams of a space. */
  removeSpace(spaceId: SpaceId): Promise<void>;
  usage(spaceId: SpaceId): Promise<HistoryUsage>;
  /** MUST cost about the same however much is stored. */
  totals(): Promise<HistoryTotals>;
  /**
   * Removes some of what is over its limits: count, age, bytes per application together with its rooms (base/ids.ts), old ids,
   * forgotten streams. True: there is more.
   */
  trim(maxBytesOf: (app: AppId) => number): Promise<boolean>;
  /** Called when the store has lost what it had acknowledged, as after a failover: positions may not mean what they did. */
  onRewound(listener: () => void): void;
  close(): Promise<void>;
}

/** The store of history cannot be used at the moment; the message is for the log. */
export class HistoryUnavailable extends Error {}

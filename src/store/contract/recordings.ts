/**
 * The contract of stored recordings. That of uploads is in uploads.ts.
 *
 * - `complete` makes a recording, which MUST NOT be visible before it is durable. Its `seq` is the next number of its application, and numbers MUST
 *   become visible in order: a reader that has seen one could have seen all before it.
 * - `complete` and `deleteRecordings` MUST succeed for one caller per row, however many nodes call them.
 * - `complete` MUST change nothing if the generation is not the current one (leases.ts), or if the application is deleted.
 * - Deleted recordings MUST keep a row until `markRemoved` is called: after a crash, the row still says which bytes to remove.
 * - With a common filter, the cost of `page` and `totalOf` MUST depend on how many rows match, not on how many there are. No statement MUST
 *   take longer than a second, whatever the filter (docs/recordings-performance.md).
 * - `page` and `totalOf` MAY throw TooManyWaiting (base/fair-queue.ts) where many of the same application wait.
 */
import type { AppId } from "../../base/ids.ts";
import type { RecordingExtraStore } from "./recording-extras.ts";
import type { RecordingType, Stored, UploadRow, UploadStore } from "./uploads.ts";

export type {
  BytesUsed,
  FilePlace,
  RecordingSource,
  RecordingType,
  StayUploadRow,
  Stored,
  UploadRow,
  WaitingUpload,
} from "./uploads.ts";

export type RecordingFormat = "webm" | "ogg" | "mp4" | "other";

/** What a recording has in addition to its upload. */
export interface Completion {
  /** Unix seconds. */
  readonly endTime: number;
  readonly fileName: string;
  readonly format: RecordingFormat;
  readonly sizeInBytes: number;
  /** Unix ms. */
  readonly completed: number;
  /** The place of its bytes, where it is not that of the upload. */
  readonly file?: string;
  /** Whether the file was mended; absent: the upload was not made by the page of a meeting. */
  readonly mended?: boolean;
}

type UploadOnly =
  | "locator"
  | "total"
  | "touched"
  | "stay"
  | "source"
  | "bytes"
  | "finished"
  | "mendedAs"
  | "tries"
  | "sender"
  | "byGuest"
  | "isClosed";

export interface RecordingRow extends Omit<UploadRow, UploadOnly>, Omit<Completion, "file" | "mended"> {
  readonly seq: number;
  /** The place of its bytes; null: its own id. */
  readonly file: string | null;
  /** null: it was not made by the page of a meeting. */
  readonly mended: boolean | null;
  readonly hasThumbnail: boolean;
  /** How long its person spoke; null: that was not measured. */
  readonly speechMs: number | null;
}

/** Absent fields do not filter. `room` is an id. */
export interface RecordingFilter {
  readonly room?: string | undefined;
  readonly meetingSession?: string | undefined;
  readonly participantSession?: string | undefined;
  readonly participantUsername?: string | undefined;
  readonly type?: RecordingType | undefined;
  /** Unix seconds: started then or later. */
  readonly startedAfter?: number | undefined;
  /** Unix seconds: started before then. */
  readonly startedBefore?: number | undefined;
}

export interface PageRequest {
  readonly filter: RecordingFilter;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** Only recordings after this `seq` in that order. */
  readonly after?: number | undefined;
  /** Never refused because others wait: for work that is not a caller's, or that has begun to change something. */
  readonly isPatient?: boolean;
}

export interface RecordingStore extends UploadStore, RecordingExtraStore {
  /**
   * Makes a recording of an upload, open or finished. If it has both a file of its own and a mended one, the place that is not used becomes
   * one to remove. undefined: there is no such upload, or it has another generation.
   */
  complete(id: string, generation: number, completion: Completion): Promise<RecordingRow | undefined>;

  recording(app: AppId, id: string): Promise<RecordingRow | undefined>;
  /** The number of a recording, also of a deleted one. */
  seqOf(app: AppId, id: string): Promise<number | undefined>;
  page(app: AppId, wanted: PageRequest): Promise<RecordingRow[]>;
  totalOf(app: AppId, filter: RecordingFilter): Promise<number>;
  /** Whether any application has a recording. */
  hasRecordings(): Promise<boolean>;
  lastSeq(app: AppId): Promise<number>;
  /** Recordings and their bytes are stored numbers; those of uploads are summed up. */
  stored(app: AppId): Promise<Stored>;
  /** Recomputes the bytes of `stored`: nodes of a version that does not count them may have written recordings. */
  recount(): Promise<void>;
  /** Returns the ids that were deleted; the caller removes their bytes. Files with another name become places to remove. */
  deleteRecordings(app: AppId, ids: readonly string[], nowMs?: number): Promise<string[]>;
  /** Deleted recordings whose bytes are to be removed. */
  deletedRecordings(limit: number): Promise<{ readonly app: AppId; readonly id: string }[]>;
  markRemoved(ids: readonly string[], nowMs: number): Promise<void>;
  /** Those of the ids that name a recording or its file, or an upload, ended or not, or its mended file. Places to remove count as uploads. */
  knownIds(ids: readonly string[]): Promise<ReadonlyMap<string, "upload" | "recording">>;
  /** Deleted applications that still have recordings or open uploads. */
  deletedApps(): Promise<AppId[]>;
  /** The id of a room, archived or not: the text is tried as an id first, then as a name. */
  roomIdOf(app: AppId, idOrName: string): Promise<string | undefined>;
  /** The names of rooms by their id, those of archived ones too. */
  roomNames(app: AppId, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

/**
 * The contract of stored recordings and uploads.
 *
 * - `complete` makes a recording, which MUST NOT be visible before it is durable. Its `seq` is the next number of its application, and numbers MUST
 *   become visible in order: a reader that has seen one could have seen all before it.
 * - `complete`, `endUpload` and `deleteRecordings` MUST succeed for one caller per row, however many nodes call them.
 * - `touchUpload`, `moveUpload` and `complete` MUST change nothing if the generation is not the current one (leases.ts), or if the
 *   application is deleted.
 * - Ended uploads and deleted recordings MUST keep a row until `forgetUpload` or `markRemoved` is called: after a crash, the row still says
 *   which bytes to remove.
 * - With a common filter, the cost of `page` and `totalOf` MUST depend on how many rows match, not on how many there are. No statement MUST
 *   take longer than a second, whatever the filter (docs/recordings-performance.md).
 */
export type RecordingType = "video" | "audio" | "screen" | "composition";
export type RecordingFormat = "webm" | "ogg" | "mp4" | "other";

export interface UploadRow {
  readonly id: string;
  readonly app: string;
  readonly room: string;
  readonly participantSession: string;
  readonly meetingSession: string;
  readonly participantUsername: string;
  readonly type: RecordingType;
  /** Unix seconds. */
  readonly startTime: number;
  readonly ticket: string;
  /** In bytes; null until a request names it. */
  readonly total: number | null;
  readonly touched: number;
}

/** What a recording has in addition to its upload. */
export interface Completion {
  /** Unix seconds. */
  readonly endTime: number;
  readonly fileName: string;
  readonly format: RecordingFormat;
  readonly sizeInBytes: number;
  /** Unix ms. */
  readonly completed: number;
}

export interface RecordingRow extends Omit<UploadRow, "ticket" | "total" | "touched">, Completion {
  readonly seq: number;
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
}

export interface RecordingStore {
  /** false: nothing was added, because the application has `max` open uploads. */
  addUpload(row: UploadRow, max: number): Promise<boolean>;
  /** An open upload. */
  upload(app: string, id: string): Promise<UploadRow | undefined>;
  /** Marks an upload as active, and stores `total` if none is stored, or 0. undefined: it is not open, or has another generation. */
  touchUpload(id: string, generation: number, total: number | null, nowMs: number): Promise<UploadRow | undefined>;
  /** Stores another ticket for its bytes. false: it is not open, or has another generation. */
  moveUpload(id: string, generation: number, ticket: string): Promise<boolean>;
  /** undefined: it is not open, or has another generation. */
  complete(id: string, generation: number, completion: Completion): Promise<RecordingRow | undefined>;
  /** false: it is not open, was touched at `touchedBy` or later, or has another generation than the given one. */
  endUpload(id: string, nowMs: number, touchedBy?: number, generation?: number): Promise<boolean>;
  /** Open uploads that were not touched since. */
  uploadsTouchedBefore(ms: number, limit: number): Promise<UploadRow[]>;
  /** Ended uploads whose bytes are to be removed, in the order in which they ended, without the first `skipped`. */
  endedUploads(limit: number, skipped?: number): Promise<UploadRow[]>;
  forgetUpload(id: string): Promise<void>;

  recording(app: string, id: string): Promise<RecordingRow | undefined>;
  /** The number of a recording, also of a deleted one. */
  seqOf(app: string, id: string): Promise<number | undefined>;
  page(app: string, wanted: PageRequest): Promise<RecordingRow[]>;
  totalOf(app: string, filter: RecordingFilter): Promise<number>;
  /** Whether any application has a recording. */
  hasRecordings(): Promise<boolean>;
  lastSeq(app: string): Promise<number>;
  /** How many recordings an application has, and how many bytes they have; both are stored numbers. */
  stored(app: string): Promise<{ readonly recordings: number; readonly bytes: number }>;
  /** Recomputes the bytes of `stored`: nodes of a version that does not count them may have written recordings. */
  recount(): Promise<void>;
  /** Returns the ids that were deleted; the caller removes their bytes. */
  deleteRecordings(app: string, ids: readonly string[]): Promise<string[]>;
  /** Deleted recordings whose bytes are to be removed. */
  deletedRecordings(limit: number): Promise<{ readonly app: string; readonly id: string }[]>;
  markRemoved(ids: readonly string[], nowMs: number): Promise<void>;
  /** Those of the ids that belong to a recording, or to an upload, ended or not. */
  knownIds(ids: readonly string[]): Promise<ReadonlyMap<string, "upload" | "recording">>;
  /** Deleted applications that still have recordings or open uploads. */
  deletedApps(): Promise<string[]>;
  uploadsOf(app: string): Promise<UploadRow[]>;
  /** The id of a room, archived or not: the text is tried as an id first, then as a name. */
  roomIdOf(app: string, idOrName: string): Promise<string | undefined>;
  /** The names of rooms by their id, those of archived ones too. */
  roomNames(app: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

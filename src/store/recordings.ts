/**
 * The contract of recordings at rest.
 *
 * - A recording is complete from `complete` on, and MUST NOT be seen before it is durable. Its `seq` is the next of its
 *   application, and MUST become visible in that order: whoever has seen one has been able to see all before it.
 * - `complete`, `endUpload` and `deleteRecordings` MUST give each row to one caller only, however many nodes ask.
 * - `touchUpload`, `moveUpload` and `complete` MUST change nothing for a generation that is not the current one (leases.ts), nor for an
 *   application that is deleted.
 * - What has a row that says its bytes are to go (`ended` uploads, deleted recordings not yet `removed`) keeps that row until
 *   `forgetUpload` or `removed` is called: a crash between the two leaves a note, not an orphan.
 * - The cost of `page` and `totalOf` MUST depend on how many rows match, not on how many there are, as long as few match.
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
  /** null until the first bytes say it. */
  readonly total: number | null;
  readonly touched: number;
}

/** What a completion adds to what its upload knows. */
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

/** What is absent does not filter. `room` is an id. */
export interface RecordingFilter {
  readonly room?: string | undefined;
  readonly meetingSession?: string | undefined;
  readonly participantSession?: string | undefined;
  readonly participantUsername?: string | undefined;
  readonly type?: RecordingType | undefined;
  /** Unix seconds; from this one on. */
  readonly startedAfter?: number | undefined;
  /** Unix seconds; up to the one before it. */
  readonly startedBefore?: number | undefined;
}

export interface PageWanted {
  readonly filter: RecordingFilter;
  readonly order: "asc" | "desc";
  readonly limit: number;
  /** From behind this `seq` on, in that order. */
  readonly behind?: number | undefined;
}

export interface RecordingStore {
  /** false, and nothing added: the application has `max` open uploads already. */
  addUpload(row: UploadRow, max: number): Promise<boolean>;
  /** Of uploads that are open. */
  upload(app: string, id: string): Promise<UploadRow | undefined>;
  /** A sign of life. `total` is kept if there was none, or 0: an empty body fixes nothing. undefined: it is not open any more, or not this generation's. */
  touchUpload(id: string, generation: number, total: number | null, nowMs: number): Promise<UploadRow | undefined>;
  /** Its bytes are found under another ticket from here on. false: it is not open any more, or not this generation's. */
  moveUpload(id: string, generation: number, ticket: string): Promise<boolean>;
  /** undefined: it is not open any more, or not this generation's. */
  complete(id: string, generation: number, completion: Completion): Promise<RecordingRow | undefined>;
  /** false: it is not open any more, has been touched at `touchedBy` or later, or is not this generation's (if one is given). */
  endUpload(id: string, nowMs: number, touchedBy?: number, generation?: number): Promise<boolean>;
  /** Open ones without a sign of life since. */
  uploadsTouchedBefore(ms: number, limit: number): Promise<UploadRow[]>;
  /** Those whose bytes are to go, from the one that ended first on; `skipped`: without so many of them. */
  endedUploads(limit: number, skipped?: number): Promise<UploadRow[]>;
  forgetUpload(id: string): Promise<void>;

  recording(app: string, id: string): Promise<RecordingRow | undefined>;
  /** Its place in the order, also if it was deleted. */
  seqOf(app: string, id: string): Promise<number | undefined>;
  page(app: string, wanted: PageWanted): Promise<RecordingRow[]>;
  totalOf(app: string, filter: RecordingFilter): Promise<number>;
  /** Of any application. */
  hasRecordings(): Promise<boolean>;
  lastSeq(app: string): Promise<number>;
  /** Those that were there: the caller has to see to their bytes. */
  deleteRecordings(app: string, ids: readonly string[]): Promise<string[]>;
  /** Deleted, with bytes that are to go. */
  deletedRecordings(limit: number): Promise<{ readonly app: string; readonly id: string }[]>;
  removed(ids: readonly string[], nowMs: number): Promise<void>;
  /** Of these ids, those that an upload, ended or not, or a recording has. */
  knownIds(ids: readonly string[]): Promise<ReadonlyMap<string, "upload" | "recording">>;
  /** Deleted applications that still have recordings or open uploads. */
  deletedApps(): Promise<string[]>;
  uploadsOf(app: string): Promise<UploadRow[]>;
  /** The id of a room of the application, archived or not: 24 hex digits are tried as an id first, then as a name. */
  roomIdOf(app: string, idOrName: string): Promise<string | undefined>;
}

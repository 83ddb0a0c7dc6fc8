/**
 * The contract of stored uploads.
 *
 * An upload is open until it is completed, discarded (the column `ended`) or finished. Those that a meeting's page sends are finished first: their file is
 * whole, and they wait to be mended and listed (recordings.ts, `complete`).
 *
 * - `discardUpload` MUST succeed for one caller per row, however many nodes call it.
 * - `touchUpload`, `noteBytes`, `moveUpload`, `finish` and `noteMending` MUST change nothing if the generation is not the current one
 *   (leases.ts), or if the application is deleted.
 * - Discarded uploads MUST keep a row until `forgetUpload` is called, and unused places one until `fileRemoved` is: after a crash, the row still
 *   says which bytes to remove.
 */
import type { AppId } from "../../base/ids.ts";
export type RecordingType = "video" | "audio" | "screen" | "composition";
/** What the page of a meeting records. */
export type RecordingSource = "camera" | "microphone" | "screen";

export interface UploadRow {
  readonly id: string;
  readonly app: AppId;
  readonly room: string;
  readonly participantSession: string;
  readonly meetingSession: string;
  readonly participantUsername: string;
  readonly type: RecordingType;
  /** Unix seconds. */
  readonly startTime: number;
  /** Unix ms: when the recorder of a meeting's page was started; null: only the second is known. */
  readonly startedMs: number | null;
  readonly locator: string;
  /** In bytes; null until a request names it. */
  readonly total: number | null;
  /** Unix ms of the last write that was noted. */
  readonly touched: number;
  /** The participantSession whose page sends it; null: it was begun with a secret key. */
  readonly stay: string | null;
  readonly source: RecordingSource | null;
  /** How many bytes it had when they were last noted; of a finished one, the size of its file. */
  readonly bytes: number;
  /** Unix ms; null: bytes can still come. */
  readonly finished: number | null;
  /** The place of the mended file; null: none was begun. */
  readonly mendedAs: string | null;
  /** How often mending has begun. */
  readonly tries: number;
  /** A digest of the address (IPv6: /48) from which the page began it; null: it was begun with a secret key, or by an earlier version. */
  readonly sender: string | null;
  /** The stay is a guest's (access/tokens/guests.ts). */
  readonly byGuest: boolean;
  /** Only in rows of `upload` and of leases: the person was removed from the meeting, and nothing is written to it any more. */
  readonly isClosed: boolean;
  /** Only in rows of `upload` and of leases: when its stay ended, Unix ms. A row of `upload` may be a minute old in this. Absent: it has not, or there is none. */
  readonly stayEnded?: number;
}

/** A finished upload, and which one of those that wait it is: 1 is the first. */
export interface WaitingUpload extends UploadRow {
  readonly nthOfStay: number;
  /** In a room, senders and their stays alternate. */
  readonly nthOfRoom: number;
}

export interface StayUploadRow extends UploadRow {
  readonly stay: string;
  readonly source: RecordingSource;
}

/** How many recordings an application has, how many bytes these have, and how many its uploads have. */
export interface Stored {
  readonly recordings: number;
  readonly bytes: number;
  readonly uploading: number;
}

/**
 * An upload or recording of a guest counts as no fewer bytes than these in what guests have: it costs a row, a file and an id that is never removed,
 * however small it is. In its size, and in what the application has, it counts as it is.
 */
export const GUEST_RECORDING_MIN_BYTES = 64 * 1024;

/** What the budgets of an upload are compared with. */
export interface BytesUsed {
  readonly maxOfApp: number;
  /** The bytes of the recordings and open uploads of the application. */
  readonly ofApp: number;
  /** Those of `ofApp` that the pages of guests have sent, each as at least GUEST_RECORDING_MIN_BYTES. */
  readonly ofGuests: number;
  /** How many uploads of stays the application has that are open, or wait to be listed. */
  readonly uploadsOfStays: number;
  /** Those of them that are guests'. */
  readonly uploadsOfGuests: number;
  /** The bytes of the uploads of the stay, and of the recordings that were made of them; 0 without a stay. */
  readonly ofStay: number;
  /** How many uploads and recordings these are. */
  readonly countOfStay: number;
}

export interface FilePlace {
  readonly app: AppId;
  readonly id: string;
}

export interface UploadStore {
  /** false: nothing was added, because the application has `max` open uploads that were begun with a secret key. */
  addUpload(row: UploadRow, max: number): Promise<boolean>;
  /** false: nothing was added, because the stay has `max` open uploads. */
  addStayUpload(row: StayUploadRow, max: number): Promise<boolean>;
  /** An upload that was neither discarded nor completed; `finished` says whether bytes can still come. */
  upload(app: AppId, id: string): Promise<UploadRow | undefined>;
  /** Marks an upload as active, and stores `total` if none is stored, or 0. undefined: it is not open, or has another generation. */
  touchUpload(id: string, generation: number, total: number | null, nowMs: number): Promise<UploadRow | undefined>;
  /** Notes how many bytes are held, and that the upload is active. false: it is not open, or has another generation. */
  noteBytes(id: string, generation: number, bytes: number, nowMs: number): Promise<boolean>;
  /** Stores another locator of its bytes. false: it is not open, or has another generation. */
  moveUpload(id: string, generation: number, locator: string): Promise<boolean>;
  /** Its file is whole and has `size` bytes. undefined: it is not open, or has another generation. */
  finish(id: string, generation: number, size: number, nowMs: number): Promise<UploadRow | undefined>;
  /**
   * Finished uploads. Applications alternate, within them senders, and within these stays: beyond `limit`, each of them has its first ones in the
   * list. Of one stay, in the order in which they were finished.
   */
  finishedUploads(limit: number): Promise<WaitingUpload[]>;
  /**
   * Notes the place of the mended file and one more try; an earlier place, if there is one, becomes one to remove. undefined: it is not
   * finished, or has another generation.
   */
  noteMending(id: string, generation: number, mendedAs: string): Promise<UploadRow | undefined>;
  /**
   * Open uploads of stays that ended before then, of people who were removed, of stays that the store does not know, and those not touched since
   * `touchedBeforeMs`: behind `after` in the order of their ids.
   */
  dueStayUploads(endedBeforeMs: number, limit: number, touchedBeforeMs?: number, after?: string): Promise<UploadRow[]>;
  /** Open uploads of a stay, oldest first. */
  openUploadsOfStay(app: AppId, stay: string): Promise<UploadRow[]>;
  /** Read with one statement. */
  bytesUsed(app: AppId, stay: string | null): Promise<BytesUsed>;
  /** Discards an upload; its bytes are removed after that. false: it is not open, was touched at `touchedBy` or later, or has another generation than the given one. */
  discardUpload(id: string, nowMs: number, touchedBy?: number, generation?: number): Promise<boolean>;
  /** Open uploads that were begun with a secret key and not touched since. */
  uploadsTouchedBefore(ms: number, limit: number): Promise<UploadRow[]>;
  /** Discarded uploads whose bytes are to be removed, in the order in which they were discarded, without the first `skipped`. */
  discardedUploads(limit: number, skipped?: number): Promise<UploadRow[]>;
  forgetUpload(id: string): Promise<void>;
  /** The uploads of an application that were neither discarded nor completed. */
  uploadsOf(app: AppId): Promise<UploadRow[]>;
  /** Places whose bytes are to be removed, behind `after` in the order of their ids. */
  filesToRemove(limit: number, after?: string): Promise<FilePlace[]>;
  fileRemoved(app: AppId, id: string): Promise<void>;
}

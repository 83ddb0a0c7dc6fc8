/**
 * The contract of what belongs to a recording beside its file: a picture, and when its person spoke.
 *
 * - `putThumbnail` and `putSpeech` MUST write only while the upload is open, so that a recording never changes.
 * - They MUST be removed in the transaction that removes the recording or discards the upload.
 */
import type { AppId } from "../../base/ids.ts";

export interface RecordingExtraStore {
  /** Replaces an earlier one. false: there is no such open upload. */
  putThumbnail(app: AppId, upload: string, jpeg: Uint8Array): Promise<boolean>;
  /** `intervals` as src/recordings/extras/speech.ts writes them; `totalMs` is their sum. Replaces earlier ones. false: there is no such open upload. */
  putSpeech(app: AppId, upload: string, intervals: string, totalMs: number): Promise<boolean>;
  thumbnail(app: AppId, recording: string): Promise<Uint8Array<ArrayBuffer> | undefined>;
  /** By the id of the recording; those whose speech was not measured are absent. */
  speech(app: AppId, recordings: readonly string[]): Promise<ReadonlyMap<string, string>>;
}

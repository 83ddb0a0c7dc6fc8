/** What belongs to a recording beside its file: a picture, and when its person spoke. Written while its upload is open, read when it is listed. */
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { RecordingExtraStore } from "../../store/contract/recording-extras.ts";
import type { RecordingStore } from "../../store/contract/recordings.ts";
import { notOpen } from "../uploads/locks.ts";
import { checkMayWrite } from "../uploads/stay-rules.ts";
import { cleanJpeg, NotThisJpeg } from "./jpeg.ts";
import { type Interval, readSpeech, writeSpeech } from "./speech.ts";

interface ExtraParts {
  readonly store: Pick<RecordingStore, "upload" | "recording" | keyof RecordingExtraStore>;
  readonly nowMs: () => number;
}

export class RecordingExtras {
  constructor(private readonly parts: ExtraParts) {}

  /** Resolves to how many bytes are kept. Throws a Problem if it is no JPEG that is accepted. */
  async putThumbnail(app: AppId, upload: string, bytes: Uint8Array): Promise<number> {
    await this.checkOpen(app, upload);
    const jpeg = acceptedJpeg(bytes);
    if (!(await this.parts.store.putThumbnail(app, upload, jpeg))) throw notOpen();
    return jpeg.length;
  }

  /** `intervals` are in order and do not overlap. */
  async putSpeech(app: AppId, upload: string, intervals: readonly Interval[]): Promise<void> {
    await this.checkOpen(app, upload);
    const { text, totalMs } = writeSpeech(intervals);
    if (!(await this.parts.store.putSpeech(app, upload, text, totalMs))) throw notOpen();
  }

  private async checkOpen(app: AppId, upload: string): Promise<void> {
    const { store, nowMs } = this.parts;
    const row = await store.upload(app, upload);
    if (row?.finished === null) return checkMayWrite(row, nowMs());
    if (row || (await store.recording(app, upload))) throw new Problem("upload_complete");
    throw notOpen();
  }

  async thumbnail(app: AppId, recording: string): Promise<Uint8Array<ArrayBuffer>> {
    const jpeg = await this.parts.store.thumbnail(app, recording);
    if (!jpeg) throw new Problem("recording_not_found", "This recording does not exist, or has no thumbnail.");
    return jpeg;
  }

  /** By the id of the recording; those whose speech was not measured are absent. */
  async speech(app: AppId, recordings: readonly string[]): Promise<ReadonlyMap<string, Interval[]>> {
    const written = await this.parts.store.speech(app, recordings);
    return new Map([...written].map(([id, text]) => [id, readSpeech(text)]));
  }
}

function acceptedJpeg(bytes: Uint8Array): Uint8Array {
  try {
    return cleanJpeg(bytes);
  } catch (error) {
    if (!(error instanceof NotThisJpeg)) throw error;
    throw new Problem("invalid_request", `This JPEG was not accepted: ${error.message}.`);
  }
}

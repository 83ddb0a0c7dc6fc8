/**
 * Uploads that the page of a meeting sends: what its recorder makes, in one upload per run. The service says whose they are; the page only says what
 * it records. They are finished when the page says so, or a while after its stay has ended, with whatever has come.
 */
import type { AppId } from "../../base/ids.ts";
import { Problem } from "../../protocol/codes.ts";
import type { StayRow } from "../../store/contract/meetings.ts";
import type { RecordingSource, RecordingStore, RecordingType, UploadRow } from "../../store/contract/recordings.ts";
import type { Log } from "../../telemetry/log.ts";
import { STAY_UPLOAD_SILENT_MS, STAY_UPLOADS_KEPT_MS, UPLOAD_ABANDONED_MS } from "../budgets/limits.ts";
import type { RecordingMetrics } from "../budgets/metrics.ts";
import type { UploadLocks } from "./locks.ts";
import type { NewStayUpload, Uploads } from "./uploads.ts";

interface StayUploadParts {
  readonly store: Pick<RecordingStore, "upload" | "openUploadsOfStay" | "recording" | "dueStayUploads">;
  readonly uploads: Pick<Uploads, "beginOfStay" | "finish">;
  readonly locks: Pick<UploadLocks, "isBusy">;
  readonly metrics: Pick<RecordingMetrics, "begunByPages" | "finishedByPages" | "finishedBySweeps">;
  readonly log: Pick<Log, "error">;
  readonly nowMs: () => number;
  /** Finished uploads wait to be listed. */
  readonly wake: () => void;
}

const TYPES: Readonly<Record<RecordingSource, RecordingType>> = {
  camera: "video",
  microphone: "audio",
  screen: "screen",
};

const ROWS_AT_ONCE = 200;
/** Longer than it takes to cut a part of a page that was removed. */
const REMOVED_TRIES = 20;
const REMOVED_RETRY_MS = 250;

/** Another request or node writes to it, or has done what was wanted. */
const TAKEN: readonly string[] = ["upload_busy", "upload_complete", "recording_not_found"];

export class StayUploads {
  readonly keptMs = STAY_UPLOADS_KEPT_MS;

  constructor(private readonly parts: StayUploadParts) {}

  /** The meeting was being recorded when the recorder was started, `startedMsAgo`. `sender`: a digest of the client's address, of IPv6 of its site (/48). */
  async begin(
    stay: StayRow,
    source: RecordingSource,
    startedMsAgo = 0,
    sender: string | null = null,
    byGuest = false,
  ): Promise<UploadRow> {
    const { uploads, metrics, nowMs } = this.parts;
    // The page says how long ago, and not when: clocks of browsers are wrong. Nothing is recorded before a participant is inside.
    const startedMs = Math.max(nowMs() - startedMsAgo, stay.began);
    const wanted: NewStayUpload = {
      app: stay.app,
      room: stay.room,
      meetingSession: stay.meeting,
      participantSession: stay.id,
      participantUsername: stay.name,
      type: TYPES[source],
      startTime: Math.floor(startedMs / 1000),
      startedMs: Math.floor(startedMs),
      stay: stay.id,
      source,
      sender,
      byGuest,
    };
    const row = await uploads.beginOfStay(wanted).catch(async (error: unknown) => {
      const isFull = error instanceof Problem && error.code === "too_many_uploads";
      if (!isFull || !(await this.finishSilent(stay))) throw error;
      return uploads.beginOfStay(wanted);
    });
    metrics.begunByPages.inc();
    return row;
  }

  /**
   * A page that was reloaded, and could not keep what its recorder made, has left an upload open that no one knows any more. It must not keep the stay
   * from recording again.
   */
  private async finishSilent(stay: StayRow): Promise<boolean> {
    const before = this.parts.nowMs() - STAY_UPLOAD_SILENT_MS;
    const open = await this.parts.store.openUploadsOfStay(stay.app, stay.id);
    const silent = open.find(({ touched }) => touched < before);
    return silent !== undefined && this.tryToFinish(silent);
  }

  /** The page has sent everything. Can be repeated: an answer may get lost. `total`: how many bytes the page has sent. */
  async sentAll(stay: StayRow, id: string, total?: number): Promise<void> {
    const { store } = this.parts;
    const row = await store.upload(stay.app, id);
    if (!row) {
      if ((await store.recording(stay.app, id))?.participantSession === stay.id) return;
      throw notFound();
    }
    if (row.stay !== stay.id) throw notFound();
    await this.finish(row, total);
  }

  /** The application's server says that everything was sent. false: it is no upload of a stay, or is listed already. */
  async sentAllByServer(app: AppId, id: string, total?: number): Promise<boolean> {
    const row = await this.parts.store.upload(app, id);
    if (!row || row.stay === null) return false;
    await this.finish(row, total);
    return true;
  }

  private async finish({ app, id, finished }: UploadRow, total: number | undefined): Promise<void> {
    const { uploads, metrics, wake } = this.parts;
    if (finished !== null) return;
    try {
      await uploads.finish(app, id, total);
    } catch (error) {
      if (error instanceof Problem && error.code === "upload_complete") return;
      throw error;
    }
    metrics.finishedByPages.inc();
    wake();
  }

  /**
   * The person was removed: what came is finished at once. A part that is on its way to this or another node is cut (writing.ts), which takes a
   * moment. What cannot be finished by then, because its storage does not answer or this node dies, is left to the sweep.
   */
  async stayRemoved({ app, id }: Pick<StayRow, "app" | "id">): Promise<void> {
    const { store, metrics } = this.parts;
    for (let tries = 0; tries < REMOVED_TRIES; tries++) {
      if (tries > 0) await Bun.sleep(REMOVED_RETRY_MS);
      for (const row of await store.openUploadsOfStay(app, id))
        if (await this.tryToFinish(row)) metrics.finishedBySweeps.inc();
      if ((await store.openUploadsOfStay(app, id)).length === 0) return;
    }
  }

  /** Finishes what came of stays that have ended a while ago, of people who were removed, and of pages that do nothing. Returns how many; each is finished by one node. */
  async sweep(): Promise<number> {
    const { store, metrics, nowMs } = this.parts;
    const [endedBefore, touchedBefore] = [nowMs() - this.keptMs, nowMs() - UPLOAD_ABANDONED_MS];
    let finished = 0;
    // To the end: those that cannot be finished, because someone goes on writing to them, must not keep the others waiting.
    for (let after = ""; ; ) {
      const rows = await store.dueStayUploads(endedBefore, ROWS_AT_ONCE, touchedBefore, after);
      for (const row of rows) {
        if (!(await this.tryToFinish(row))) continue;
        finished++;
        metrics.finishedBySweeps.inc();
      }
      if (rows.length < ROWS_AT_ONCE) return finished;
      after = rows.at(-1)?.id ?? after;
    }
  }

  /** false: it is being written to, it was finished by another node, or its storage does not answer. */
  private async tryToFinish({ app, id }: UploadRow): Promise<boolean> {
    const { uploads, locks, log, wake } = this.parts;
    if (locks.isBusy(id)) return false;
    try {
      await uploads.finish(app, id);
      wake();
      return true;
    } catch (err) {
      const isTaken = err instanceof Problem && TAKEN.includes(err.code);
      if (!isTaken) log.error({ err }, "a recording could not be completed; trying again in a minute");
      return false;
    }
  }
}

const notFound = (): Problem =>
  new Problem("recording_not_found", "This stay has no such upload, or no bytes of it arrived.");

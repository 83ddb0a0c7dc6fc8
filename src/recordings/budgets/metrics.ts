/** Metrics of recordings. Labels have fixed values: no name of an application, room or user. */
import type { Metrics } from "../../telemetry/metrics.ts";

export class RecordingMetrics {
  readonly begun;
  readonly begunByPages;
  readonly finishedByPages;
  readonly finishedBySweeps;
  readonly bytes;
  readonly completed;
  readonly mended;
  readonly listedAsItCame;
  readonly cancelled;
  readonly abandoned;
  readonly deleted;
  readonly expired;
  readonly quarantined;
  readonly restored;
  readonly purged;
  readonly leftovers;
  /** Strays that the last sweep left alone because there were too many. */
  refusedStrays = 0;
  readonly sweeps;
  readonly failedSweeps;

  constructor(metrics: Metrics, uploadsWriting: () => number) {
    this.begun = metrics.counter("parley_uploads_begun_total", "Recording uploads started.");
    this.begunByPages = metrics.counter(
      "parley_stay_uploads_begun_total",
      "Uploads started by meeting pages, included in all uploads started.",
    );
    const finished = metrics.counters(
      "parley_stay_uploads_finished_total",
      "Uploads of pages of meetings whose file is whole: the page has said so, or its stay had ended long enough.",
    );
    this.finishedByPages = finished({ by: "page" });
    this.finishedBySweeps = finished({ by: "sweep" });
    this.bytes = metrics.counter("parley_upload_bytes_total", "Bytes of recordings accepted.");
    const ended = metrics.counters("parley_uploads_ended_total", "Uploads that ended without becoming a recording.");
    this.cancelled = ended({ why: "cancelled" });
    this.abandoned = ended({ why: "abandoned" });
    this.completed = metrics.counter("parley_recordings_completed_total", "Recordings that were completed.");
    const mended = metrics.counters(
      "parley_recordings_mended_total",
      "Recordings of meetings that were listed: mended, or unchanged because they could not be mended.",
    );
    this.mended = mended({ outcome: "mended" });
    this.listedAsItCame = mended({ outcome: "as_it_came" });
    const deleted = metrics.counters("parley_recordings_deleted_total", "Recordings that were deleted.");
    this.deleted = deleted({ why: "asked" });
    this.expired = deleted({ why: "retention" });
    const sweeps = metrics.counters("parley_recording_sweeps_total", "Sweeps of the storage of recordings.");
    this.sweeps = sweeps({ outcome: "done" });
    this.failedSweeps = sweeps({ outcome: "failed" });
    const strays = metrics.counters(
      "parley_recording_strays_total",
      "Files without a recording: set aside, put back, removed after their time aside; and bytes that uploads left behind.",
    );
    this.quarantined = strays({ outcome: "quarantined" });
    this.restored = strays({ outcome: "restored" });
    this.purged = strays({ outcome: "removed" });
    this.leftovers = strays({ outcome: "leftover" });
    metrics.gauge(
      "parley_recording_strays_refused",
      "Files without a recording that the last sweep left alone because there were too many.",
      () => this.refusedStrays,
    );
    metrics.gauge("parley_uploads_writing", "Uploads being written to right now.", uploadsWriting);
  }
}

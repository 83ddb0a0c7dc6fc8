/** Metrics of backups that are written to the target. Those of the last one come from the store, so that every node has them. */
import type { Metrics } from "../../telemetry/metrics.ts";
import type { BackupNotes } from "./note.ts";

export class BackupMetrics {
  readonly made;
  readonly failed;

  /** `hasTarget`: else there is nothing to alert on. */
  constructor(metrics: Metrics, notes: Pick<BackupNotes, "latest">, hasTarget: boolean) {
    const all = metrics.counters(
      "parley_backups_total",
      "Backups that this node has written to their place, or failed to.",
    );
    this.made = all({ outcome: "made" });
    this.failed = all({ outcome: "failed" });
    if (!hasTarget) return;
    metrics.gauge(
      "parley_backup_last_success_timestamp_seconds",
      "The moment that the last backup shows, Unix seconds; 0: there was none.",
      () => (notes.latest.success?.atMs ?? 0) / 1000,
    );
    metrics.gauge(
      "parley_backup_last_duration_seconds",
      "How long the last successful backup took.",
      () => (notes.latest.success?.durationMs ?? 0) / 1000,
    );
    metrics.gauge(
      "parley_backup_last_bytes",
      "Size of the last successful backup.",
      () => notes.latest.success?.bytes ?? 0,
    );
  }
}

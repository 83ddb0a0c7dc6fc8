/** Reports of the last seconds are given again: a page that several operators look at is measured once. */
import type { AppRow } from "../../store/contract/store.ts";
import { type DataNow, type ReportParts, reportOfApp, reportOfService } from "./report.ts";

const KEPT_MS = 10_000;
const REPORTS_MAX = 100;

interface Kept {
  readonly atMs: number;
  /** The limits that it shows: another one must be shown at once. */
  readonly of: string;
  readonly report: Promise<DataNow>;
}

interface ReportsParts extends ReportParts {
  readonly monotonicMs: () => number;
}

export class DataReports {
  /** By application; "" is the service. Bound: REPORTS_MAX, the oldest is measured again. */
  private readonly kept = new Map<string, Kept>();

  constructor(private readonly parts: ReportsParts) {}

  ofService(): Promise<DataNow> {
    return this.recent("", "", () => reportOfService(this.parts));
  }

  ofApp(app: AppRow): Promise<DataNow> {
    const { channelRules, maxHistoryBytes, maxStreamBytes, meetingRetentionDays, retentionDays } = app;
    const limits = [channelRules, maxHistoryBytes, maxStreamBytes, meetingRetentionDays, retentionDays];
    return this.recent(app.id, JSON.stringify([...limits, app.maxRecordingBytesTotal]), () =>
      reportOfApp(app, this.parts),
    );
  }

  private recent(key: string, of: string, measure: () => Promise<DataNow>): Promise<DataNow> {
    const now = this.parts.monotonicMs();
    const found = this.kept.get(key);
    if (found && found.of === of && now - found.atMs < KEPT_MS) return found.report;
    this.kept.delete(key);
    const [oldest] = this.kept.keys();
    if (oldest !== undefined && this.kept.size >= REPORTS_MAX) this.kept.delete(oldest);
    const report = measure();
    this.kept.set(key, { atMs: now, of, report });
    // One that failed is not given again.
    report.catch(() => {
      if (this.kept.get(key)?.report === report) this.kept.delete(key);
    });
    return report;
  }
}

/**
 * One page of metrics from those of several processes. Counters and histograms are summed, and so are gauges, except for the ones below:
 * what describes a process has a label `worker`, and what all processes read from the same store is taken once.
 */

/** Each process for itself. */
const PER_WORKER = new Set([
  "parley_info",
  "parley_connections",
  "parley_event_loop_lag_seconds",
  "parley_request_head_limit_bytes",
  "process_start_time_seconds",
  "process_resident_memory_bytes",
  "process_cpu_seconds_total",
  "process_open_fds",
  "process_max_fds",
  "parley_files_full",
]);
/** The same in every process, or ahead in some: the highest counts. */
const HIGHEST = new Set([
  "parley_keys",
  "parley_store_revision",
  "parley_dashboard_sessions",
  "parley_other_nodes",
  "parley_backup_last_success_timestamp_seconds",
  "parley_backup_last_duration_seconds",
  "parley_backup_last_bytes",
]);
/** 1 or 0: one process that is cut off is what operators want to see. */
const LOWEST = new Set([
  "parley_store_up",
  "parley_nats_up",
  "parley_history_up",
  "parley_storage_up",
  "parley_mending_up",
]);

export interface Page {
  /** The value of the label `worker`. */
  readonly worker: string;
  readonly text: string;
}

interface Family {
  readonly name: string;
  /** The lines HELP and TYPE. */
  readonly head: string[];
  isCounted: boolean;
  /** With labels. Bound: those of one worker, times workers. */
  readonly values: Map<string, number>;
}

export class MetricsSum {
  /** Bound: the metrics of one worker. */
  private readonly families = new Map<string, Family>();

  add({ worker, text }: Page): void {
    for (const family of familiesOf(text)) this.addFamily(family, worker);
  }

  /** What has ended: its counts stay in the sums, because a sum that falls looks like a restart. */
  addEnded(text: string): void {
    for (const family of familiesOf(text))
      if (family.isCounted && !PER_WORKER.has(family.name)) this.addFamily(family, "");
  }

  text(): string {
    return [...this.families.values()]
      .map(({ head, values }) =>
        [...head, ...[...values].map(([series, value]) => `${series} ${value}`), ""].join("\n"),
      )
      .join("");
  }

  private addFamily(family: Family, worker: string): void {
    const { name, head, isCounted } = family;
    let sum = this.families.get(name);
    if (!sum) {
      sum = { name, head, isCounted, values: new Map() };
      this.families.set(name, sum);
    }
    for (const [series, value] of family.values) {
      const key = PER_WORKER.has(name) ? withLabel(series, worker) : series;
      sum.values.set(key, combined(name, sum.values.get(key), value));
    }
  }
}

function combined(name: string, before: number | undefined, value: number): number {
  if (before === undefined) return value;
  if (HIGHEST.has(name)) return Math.max(before, value);
  return LOWEST.has(name) ? Math.min(before, value) : before + value;
}

function withLabel(series: string, worker: string): string {
  const label = `worker="${worker}"`;
  return series.endsWith("}") ? `${series.slice(0, -1)},${label}}` : `${series}{${label}}`;
}

function familiesOf(text: string): Family[] {
  const families: Family[] = [];
  for (const line of text.split("\n")) {
    const [, kind, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    let family = families.at(-1);
    // A name may come again, with other labels.
    if (kind === "HELP" || (kind === "TYPE" && family?.name !== name)) {
      family = { name, head: [], isCounted: false, values: new Map() };
      families.push(family);
    }
    if (kind !== undefined) {
      family?.head.push(line);
      if (kind === "TYPE" && family) family.isCounted = rest !== "gauge";
      continue;
    }
    const space = line.lastIndexOf(" ");
    if (space > 0) family?.values.set(line.slice(0, space), Number(line.slice(space + 1)));
  }
  return families;
}

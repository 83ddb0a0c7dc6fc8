/**
 * Counters, gauges and histograms in the Prometheus text format. A series is created once, at the start, so that counting on a hot
 * path only increments a number. Labels never contain names of channels, peers or applications.
 */
import { systemClock } from "../base/clock.ts";

export class Counter {
  value = 0;

  inc(by = 1): void {
    this.value += by;
  }
}

class Histogram {
  /** Bound: one per entry of `bounds`. */
  readonly counts: number[];
  sum = 0;
  count = 0;

  /** `bounds` are ascending; values above the last are counted in +Inf only. */
  constructor(readonly bounds: readonly number[]) {
    this.counts = new Array<number>(bounds.length).fill(0);
  }

  observe(value: number): void {
    this.sum += value;
    this.count++;
    for (let i = 0; i < this.bounds.length; i++) {
      if (value <= (this.bounds[i] as number)) {
        (this.counts[i] as number)++;
        return;
      }
    }
  }
}

export interface HistogramReading {
  readonly atMost: (bound: number) => number;
  readonly count: number;
  readonly sum: number;
}

type Labels = Readonly<Record<string, string>>;

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly lines: () => string[];
}

const labelText = (labels: Labels): string => {
  const parts = Object.entries(labels).map(([key, value]) => `${key}="${value.replace(/[\\"\n]/g, "_")}"`);
  return parts.length > 0 ? `{${parts.join(",")}}` : "";
};

export class Metrics {
  /** Bound: the metrics of the code, set up at the start. */
  private readonly families: Family[] = [];

  counter(name: string, help: string): Counter {
    const one = new Counter();
    this.families.push({ name, help, type: "counter", lines: () => [`${name} ${one.value}`] });
    return one;
  }

  /** Returns the counter of a combination of labels, creating it on first use. */
  counters(name: string, help: string): (labels: Labels) => Counter {
    // Bound: labels come from fixed sets: routes, methods, statuses, codes, frame types.
    const all = new Map<string, Counter>();
    this.families.push({
      name,
      help,
      type: "counter",
      lines: () => [...all].map(([text, one]) => `${name}${text} ${one.value}`),
    });
    return (labels) => {
      const text = labelText(labels);
      const one = all.get(text) ?? new Counter();
      all.set(text, one);
      return one;
    };
  }

  gauge(name: string, help: string, read: () => number): void {
    this.reading(name, help, "gauge", read);
  }

  /** A value that is kept elsewhere and read when metrics are scraped. */
  reading(name: string, help: string, type: "counter" | "gauge", read: () => number, labels: Labels = {}): void {
    this.families.push({ name, help, type, lines: () => [`${name}${labelText(labels)} ${read()}`] });
  }

  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const one = new Histogram(bounds);
    const lines = (): string[] => {
      let below = 0;
      const buckets = one.bounds.map((bound, i) => {
        below += one.counts[i] as number;
        return `${name}_bucket{le="${bound}"} ${below}`;
      });
      return [
        ...buckets,
        `${name}_bucket{le="+Inf"} ${one.count}`,
        `${name}_sum ${one.sum}`,
        `${name}_count ${one.count}`,
      ];
    };
    this.families.push({ name, help, type: "histogram", lines });
    return one;
  }

  /** A histogram that is kept elsewhere; `atMost` says how many values do not exceed a bound. */
  histogramReading(name: string, help: string, bounds: readonly number[], read: () => HistogramReading): void {
    const lines = (): string[] => {
      const { atMost, count, sum } = read();
      return [
        ...bounds.map((bound) => `${name}_bucket{le="${bound}"} ${atMost(bound)}`),
        `${name}_bucket{le="+Inf"} ${count}`,
        `${name}_sum ${sum}`,
        `${name}_count ${count}`,
      ];
    };
    this.families.push({ name, help, type: "histogram", lines });
  }

  text(): string {
    return this.families
      .flatMap(({ name, help, type, lines }) => [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines()])
      .map((line) => `${line}\n`)
      .join("");
  }
}

/** The metrics of the process itself. */
export function processMetrics(metrics: Metrics, version: string, nodeId: string): void {
  const started = systemClock.wallMs() / 1000;
  metrics.reading("parley_info", "Version and node; always 1.", "gauge", () => 1, { version, node: nodeId });
  metrics.gauge("process_start_time_seconds", "Start of the process, Unix seconds.", () => started);
  metrics.gauge("process_resident_memory_bytes", "Resident memory.", () => process.memoryUsage.rss());
  metrics.reading("process_cpu_seconds_total", "User and system CPU time.", "counter", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
}

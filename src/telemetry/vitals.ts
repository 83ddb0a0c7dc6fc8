/** How busy this process is: CPU and event-loop lag of the last seconds, from samples that a timer takes. */
const SAMPLES = 20;
const US_PER_MS = 1000;

interface Sample {
  readonly atMs: number;
  readonly cpuMs: number;
  readonly lagMs: number;
}

export interface VitalsSources {
  readonly monotonicMs: () => number;
  /** CPU time of this process since its start. */
  readonly cpuMs: () => number;
}

const SYSTEM: VitalsSources = {
  monotonicMs: () => performance.now(),
  cpuMs: () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / US_PER_MS;
  },
};

export class Vitals {
  /** Bound: SAMPLES, the oldest is dropped. */
  private readonly samples: Sample[] = [];

  constructor(private readonly sources: VitalsSources = SYSTEM) {
    this.sample(0);
  }

  /** `lagMs`: how late the timer fired. */
  sample(lagMs: number): void {
    this.samples.push({ atMs: this.sources.monotonicMs(), cpuMs: this.sources.cpuMs(), lagMs });
    if (this.samples.length > SAMPLES) this.samples.shift();
  }

  /** Share of one core: 0.5 is half a core. */
  get cpu(): number {
    const [oldest] = this.samples;
    const elapsedMs = oldest ? this.sources.monotonicMs() - oldest.atMs : 0;
    return oldest && elapsedMs > 0 ? (this.sources.cpuMs() - oldest.cpuMs) / elapsedMs : 0;
  }

  /** The largest of the last samples. */
  get loopLagMs(): number {
    return this.samples.reduce((most, { lagMs }) => Math.max(most, lagMs), 0);
  }
}

/** Every few seconds the windows of the rates advance, and a step of the series is over. One timer for the whole node. */
import type { Clock } from "../../base/clock.ts";
import type { KeyTraffic } from "../../telemetry/key-traffic.ts";
import { SAMPLE_EVERY_MS, Series } from "../../telemetry/series.ts";
import type { Traffic } from "../../telemetry/traffic.ts";
import type { RateWindow } from "./rate-window.ts";

/** A timer may fire a moment early: before the end of a step it would be set again at once, for a window of no length. */
const AFTER_STEP_MS = 50;

export class Sampling {
  readonly series: Series;
  /** What the series of keys are made from. */
  readonly keys: KeyTraffic;
  private isStopped = false;

  constructor(
    private readonly clock: Clock,
    traffic: Traffic,
    private readonly window: RateWindow,
  ) {
    this.series = new Series(traffic, clock.wallMs());
    this.keys = traffic.keys;
  }

  start(): void {
    // After whole multiples of the step, so that the steps of all nodes are the same.
    this.clock.after(SAMPLE_EVERY_MS - (this.clock.wallMs() % SAMPLE_EVERY_MS) + AFTER_STEP_MS, () => {
      if (this.isStopped) return;
      try {
        this.sample();
      } finally {
        // Even after an exception: without the next sample the charts would end here.
        this.start();
      }
    });
  }

  stop(): void {
    this.isStopped = true;
  }

  sample(): void {
    this.window.advance(this.clock.monotonicMs());
    this.series.sample(this.clock.wallMs());
  }
}

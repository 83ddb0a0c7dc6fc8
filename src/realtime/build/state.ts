/** Builds what exists on a node, how it is counted, and what is reported of it. */
import type { Clock } from "../../base/clock.ts";
import type { Engine, NodeId } from "../../engine/engine.ts";
import type { FaultLog } from "../../telemetry/faults.ts";
import { SAMPLE_EVERY_MS } from "../../telemetry/series.ts";
import type { RealtimeMetrics } from "../counting/metrics.ts";
import { RateWindow } from "../counting/rate-window.ts";
import { Sampling } from "../counting/sampling.ts";
import type { Usage } from "../counting/usage.ts";
import { Emitter } from "../events/emitter.ts";
import { RealtimeEvents } from "../events/events.ts";
import { Recorder } from "../events/recorder.ts";
import { Refusals } from "../events/refusals.ts";
import { Spaces } from "../state/spaces.ts";

export interface StateOutside {
  readonly id: NodeId;
  readonly clock: Clock;
  readonly engine: Engine;
  readonly usage: Usage;
  readonly metrics: RealtimeMetrics;
  readonly faults: FaultLog;
}

export interface StateBuilt {
  readonly rateWindow: RateWindow;
  /** Started with the node. */
  readonly sampling: Sampling;
  readonly spaces: Spaces;
  readonly events: RealtimeEvents;
  readonly recorder: Recorder;
  readonly refusals: Refusals;
  readonly emitter: Emitter;
}

export function buildState({ id, clock, engine, usage, metrics, faults }: StateOutside): StateBuilt {
  const { traffic } = metrics;
  const rateWindow = new RateWindow(SAMPLE_EVERY_MS, clock.monotonicMs());
  const sampling = new Sampling(clock, traffic, rateWindow);
  const spaces = new Spaces(id, engine, traffic, rateWindow, usage);
  const events = new RealtimeEvents();
  const recorder = new Recorder(clock, spaces);
  const refusals = new Refusals(clock.wallMs);
  const emitter = new Emitter({ events, recorder, refusals, traffic, faults });
  return { rateWindow, sampling, spaces, events, recorder, refusals, emitter };
}

/** The metrics of realtime. On the hot path counting is adding to a number. */
import type { Faults } from "../../telemetry/faults.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import { Traffic } from "../../telemetry/traffic.ts";
import type { Vitals } from "../../telemetry/vitals.ts";

const US_PER_SECOND = 1_000_000;

const PUBLISH_BOUNDS_US = [10, 25, 50, 100, 250, 500, 1000, 2500, 10_000, 50_000];

export class RealtimeMetrics {
  /** What is counted per application, and never named in the metrics. */
  readonly traffic = new Traffic();
  readonly framesIn;
  readonly acks;
  readonly pongs;
  readonly goingAways;
  readonly errors;
  readonly welcomes;
  readonly messages;
  readonly directs;
  readonly presenceFrames;
  readonly stateFrames;
  readonly occupancyFrames;
  readonly historyFrames;
  readonly recovered;
  readonly notRecovered;
  readonly replayed;
  readonly gapReads;
  readonly unconfirmedWrites;
  readonly bytesIn;
  readonly presenceChanges;
  readonly rateCuts;
  readonly slowCuts;
  readonly silentDrops;
  readonly connects;
  readonly refused;
  readonly closes;

  constructor(metrics: Metrics) {
    const framesIn = metrics.counters("parley_frames_in_total", "Client frames by type.");
    this.framesIn = {
      subscribe: framesIn({ type: "subscribe" }),
      unsubscribe: framesIn({ type: "unsubscribe" }),
      publish: framesIn({ type: "publish" }),
      send: framesIn({ type: "send" }),
      state: framesIn({ type: "state" }),
      history: framesIn({ type: "history" }),
      renew: framesIn({ type: "renew" }),
      ping: framesIn({ type: "ping" }),
      other: framesIn({ type: "other" }),
    };
    const framesOut = metrics.counters(
      "parley_frames_out_total",
      "Server frames by type; messages once per subscriber.",
    );
    this.welcomes = framesOut({ type: "welcome" });
    this.acks = framesOut({ type: "ack" });
    this.pongs = framesOut({ type: "pong" });
    this.goingAways = framesOut({ type: "going_away" });
    this.errors = framesOut({ type: "error" });
    this.messages = framesOut({ type: "message" });
    this.directs = framesOut({ type: "direct" });
    this.presenceFrames = framesOut({ type: "presence" });
    this.occupancyFrames = framesOut({ type: "occupancy" });
    this.stateFrames = framesOut({ type: "state" });
    this.historyFrames = framesOut({ type: "history" });
    const recoveries = metrics.counters("parley_recoveries_total", "Subscribes with recover or rewind, by result.");
    this.recovered = recoveries({ recovered: "true" });
    this.notRecovered = recoveries({ recovered: "false" });
    this.replayed = metrics.counter("parley_replayed_messages_total", "Earlier messages sent to new subscriptions.");
    this.gapReads = metrics.counter("parley_history_gap_reads_total", "Reads of messages that had not arrived.");
    this.unconfirmedWrites = metrics.counter(
      "parley_stream_unconfirmed_writes_total",
      "Writes to streams answered with 503: the store did not say in time whether they are stored, or too many waited.",
    );
    this.reading(metrics, "deliveries", "parley_deliveries_total", "Messages and direct messages handed to sockets.");
    this.bytesIn = metrics.counter("parley_bytes_in_total", "Payload bytes of client frames.");
    this.reading(
      metrics,
      "bytesOut",
      "parley_bytes_out_total",
      "Payload bytes of messages and direct messages handed to sockets.",
    );
    this.presenceChanges = metrics.counter("parley_presence_changes_total", "Joins and leaves shown to members.");
    this.rateCuts = metrics.counter("parley_rate_cuts_total", "Connections closed for their rate (4011).");
    this.slowCuts = metrics.counter("parley_slow_cuts_total", "Connections closed because the client did not read.");
    this.silentDrops = metrics.counter("parley_silent_drops_total", "Connections dropped after silence.");
    this.connects = metrics.counter("parley_connects_total", "Connections made.");
    this.refused = metrics.counters("parley_connects_refused_total", "Connects refused, by code.");
    this.closes = metrics.counters("parley_closes_total", "Connections ended, by close code.");
    metrics.histogramReading(
      "parley_publish_seconds",
      "Time from a publish frame's arrival to the end of its fan-out; with history, to its ack, including the store.",
      PUBLISH_BOUNDS_US.map((us) => us / US_PER_SECOND),
      () => {
        const { latency } = this.traffic.total();
        const atMost = (seconds: number): number => latency.atMost(Math.round(seconds * US_PER_SECOND));
        return { atMost, count: latency.count, sum: latency.sumMs / 1000 };
      },
    );
  }

  /** The sum over all applications, made when metrics are scraped: the hot path counts once. */
  private reading(metrics: Metrics, of: "deliveries" | "bytesOut", name: string, help: string): void {
    metrics.reading(name, help, "counter", () => this.traffic.total()[of]);
  }
}

/** Measures how late a timer fires: a busy event loop delays everything by that much. */
export function watchEventLoop(
  metrics: Metrics,
  faults: Pick<Faults, "guarded">,
  vitals: Pick<Vitals, "sample">,
  everyMs = 500,
): () => void {
  const lag = metrics.histogram(
    "parley_event_loop_lag_seconds",
    "How late a timer fires.",
    [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  );
  let due = performance.now() + everyMs;
  const measure = (): void => {
    const now = performance.now();
    const lagMs = Math.max(0, now - due);
    lag.observe(lagMs / 1000);
    vitals.sample(lagMs);
    due = now + everyMs;
  };
  const timer = setInterval(faults.guarded("timer", measure), everyMs);
  return () => clearInterval(timer);
}

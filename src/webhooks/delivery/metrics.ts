/** The metrics of webhooks. */
import type { Counter, Metrics } from "../../telemetry/metrics.ts";

export class WebhookMetrics {
  readonly succeeded: Counter;
  readonly failed: Counter;
  /** Requests that ended with the process that sent them; they are sent again. */
  readonly lost: Counter;
  readonly dropped: Counter;
  readonly disabled: (why: "gone" | "failing") => Counter;
  readonly tookMs;
  /** Set by the process that has the lease. */
  underWay: () => number = () => 0;
  backlog = 0;
  isLeading = false;

  constructor(metrics: Metrics) {
    const attempts = metrics.counters("parley_webhook_attempts_total", "Webhook requests by result.");
    this.succeeded = attempts({ result: "succeeded" });
    this.failed = attempts({ result: "failed" });
    this.lost = attempts({ result: "lost" });
    this.dropped = metrics.counter("parley_webhook_dropped_total", "Events dropped because too many were waiting.");
    const disabled = metrics.counters(
      "parley_webhook_disabled_total",
      "Webhooks that were disabled: gone (410), or failing for days.",
    );
    this.disabled = (why) => disabled({ why });
    this.disabled("gone");
    this.disabled("failing");
    this.tookMs = metrics.histogram(
      "parley_webhook_request_ms",
      "How long webhook requests took, in milliseconds.",
      [10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 15_000],
    );
    metrics.gauge("parley_webhook_requests", "Webhook requests in progress.", () => this.underWay());
    metrics.gauge(
      "parley_webhook_backlog",
      "Events waiting to be sent; 0 if another node sends them.",
      () => this.backlog,
    );
    metrics.gauge("parley_webhook_leader", "1: this node sends the webhooks of all nodes.", () =>
      Number(this.isLeading),
    );
  }
}

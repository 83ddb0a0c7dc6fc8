/** What came with one key: connections, connects and refusals, and messages over time. */
import { consolePage, whyNotPage } from "../../address/links.ts";
import type { Key } from "../../api/types.ts";
import { nameOfApp } from "../../live/apps.ts";
import { type AskedSeries, useSeries } from "../../live/series.ts";
import { totalOf } from "../../live/totals.ts";
import { ChartCard } from "../../ui/chart.tsx";
import type { Line } from "../../ui/plot-options.ts";
import { chosenRange } from "../../ui/range.tsx";

const METRICS = ["connections", "connects", "refusals", "messages", "errors"] as const;
type Metric = (typeof METRICS)[number];

interface ChartOf {
  readonly title: string;
  readonly unit: string;
  readonly leastTop?: number;
  readonly lines: readonly (Omit<Line, "values"> & { readonly metric: Metric })[];
}

const CHARTS: readonly ChartOf[] = [
  {
    title: "Connections",
    unit: "peak",
    leastTop: 5,
    lines: [{ metric: "connections", title: "Connections", color: "--accent", isFilled: true }],
  },
  {
    title: "Messages",
    unit: "/s",
    lines: [{ metric: "messages", title: "Messages in", color: "--accent", isFilled: true }],
  },
  {
    title: "Connects and refusals",
    unit: "/s",
    lines: [
      { metric: "connects", title: "Connects", color: "--accent" },
      { metric: "refusals", title: "Refusals", color: "--bad", isDashed: true },
    ],
  },
  {
    title: "Errors",
    unit: "error frames/s",
    lines: [{ metric: "errors", title: "Errors", color: "--bad", isFilled: true }],
  },
];

const metricsOf = (key: string) =>
  Object.fromEntries(METRICS.map((metric) => [metric, { metric, key }])) as Readonly<Record<Metric, AskedSeries>>;

/** Takes its place at once: what is below does not move when the values come. */
export function KeyCharts({ of: { keyId, app, type } }: { readonly of: Key }) {
  const { data, range } = useSeries(metricsOf(keyId), chosenRange());
  const name = nameOfApp(app);
  return (
    <>
      <div class="halves">
        {CHARTS.map(({ lines, ...chart }) => {
          const totals = lines.map(({ metric }) => data && totalOf(data[metric], range));
          return (
            <ChartCard
              key={chart.title}
              {...chart}
              times={totals[0]?.times ?? []}
              lines={lines.map((line, at) => ({ ...line, values: totals[at]?.values ?? [] }))}
              heightPx={150}
            />
          );
        })}
      </div>
      <p class="muted small">
        Messages include those sent over REST.{" "}
        <a href={consolePage(name, { key: keyId, kind: "refuse,error" })}>Watch its refusals live</a>
        {type === "publishable" && (
          <>
            , or <a href={whyNotPage(name, { key: keyId })}>find out why</a> a client is refused
          </>
        )}
        .
      </p>
    </>
  );
}

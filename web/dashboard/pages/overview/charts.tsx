/** The numbers and charts of the overview. */
import type { ComponentChildren } from "preact";
import type { Metric, Range } from "../../api/types.ts";
import type { AllSeries } from "../../live/series.ts";
import { type Total, totalOf } from "../../live/totals.ts";
import { rate, short, whole } from "../../text/format.ts";
import { Chart, type ChartProps, type Line } from "../../ui/chart.tsx";
import { Card } from "../../ui/page.tsx";

interface Part {
  readonly data: AllSeries;
  readonly range: Range;
}

const milliseconds = (value: number): string => `${rate(value)} ms`;

/** Without messages there is no latency: a number older than this many steps would pass for the present one. */
const RECENT_STEPS = 12;

/** The newest value; undefined if there is no recent one. */
const newest = ({ values }: Total): number | undefined =>
  values.slice(-RECENT_STEPS).findLast((one) => one !== null) ?? undefined;

interface NumberOf {
  readonly title: string;
  readonly metric: Metric;
  /** The number and its unit. */
  readonly show: (value: number) => readonly [value: string, unit: string];
}

const NUMBERS: readonly NumberOf[] = [
  { title: "Connections", metric: "connections", show: (value) => [whole(value), ""] },
  { title: "Messages in", metric: "messages", show: (value) => [short(value), "/s"] },
  { title: "Deliveries", metric: "deliveries", show: (value) => [short(value), "/s"] },
  {
    title: "Frame to publish, p99",
    metric: "p99Ms",
    show: (value) => [rate(value), "ms"],
  },
];

export const Numbers = ({ data, range }: Part) => (
  <div class="numbers">
    {NUMBERS.map(({ title, metric, show }) => {
      const total = totalOf(data[metric], range);
      const value = newest(total);
      const [text, unit] = value === undefined ? ["–", ""] : show(value);
      return (
        <section key={metric} class="card stat">
          <h2 class="muted small">{title}</h2>
          <div>
            <span class="value">{text}</span>
            {/^\w/.test(unit) && " "}
            {unit && <span class="unit">{unit}</span>}
          </div>
          <Chart
            label={title}
            times={total.times}
            lines={[{ title, color: "--accent", values: total.values }]}
            format={(one) => show(one).join(" ")}
            heightPx={32}
            isSpark
          />
        </section>
      );
    })}
  </div>
);

interface LineOf extends Omit<Line, "values"> {
  readonly metric: Metric;
}

interface ChartOf {
  readonly title: string;
  readonly unit: string;
  readonly lines: readonly LineOf[];
  readonly axis?: Pick<ChartProps, "format" | "leastTop" | "isBytes">;
}

const CONNECTIONS: ChartOf = {
  title: "Connections",
  unit: "most at one time",
  lines: [{ metric: "connections", title: "Connections", color: "--accent", isFilled: true }],
  axis: { leastTop: 5 },
};

const FURTHER: readonly ChartOf[] = [
  {
    title: "Messages",
    unit: "per second",
    lines: [
      { metric: "messages", title: "Messages in", color: "--accent" },
      { metric: "deliveries", title: "Deliveries out", color: "--good", isDashed: true },
    ],
  },
  {
    title: "Connects and refusals",
    unit: "per second",
    lines: [
      { metric: "connects", title: "Connects", color: "--accent" },
      { metric: "refusals", title: "Refusals", color: "--bad", isDashed: true },
    ],
  },
  {
    title: "Bytes out",
    unit: "per second",
    lines: [{ metric: "bytesOut", title: "Bytes out", color: "--accent", isFilled: true }],
    axis: { isBytes: true, leastTop: 1024 },
  },
  {
    title: "Frame to publish",
    unit: "the slowest node",
    lines: [
      { metric: "p50Ms", title: "p50", color: "--accent" },
      { metric: "p99Ms", title: "p99", color: "--warn", isDashed: true },
    ],
    axis: { format: milliseconds, leastTop: 0.1 },
  },
  {
    title: "Errors",
    unit: "error frames per second",
    lines: [{ metric: "errors", title: "Errors", color: "--bad", isFilled: true }],
  },
];

function SeriesChart({ chart, data, range, heightPx }: Part & { readonly chart: ChartOf; readonly heightPx: number }) {
  const totals = chart.lines.map(({ metric }) => totalOf(data[metric], range));
  return (
    <Card
      title={chart.title}
      aside={
        <span class="legend small">
          {chart.lines.length > 1 &&
            chart.lines.map(({ title, color, isDashed }) => (
              <span key={title}>
                <i class={isDashed ? "dashed" : ""} style={{ color: `var(${color})` }} aria-hidden="true" />
                {title}
              </span>
            ))}
          <span>{chart.unit}</span>
        </span>
      }
    >
      <Chart
        label={`${chart.title}, ${chart.unit}`}
        times={totals[0]?.times ?? []}
        lines={chart.lines.map((line, at) => ({ ...line, values: totals[at]?.values ?? [] }))}
        heightPx={heightPx}
        {...chart.axis}
      />
    </Card>
  );
}

interface ChartsProps extends Part {
  /** Beside the first chart, and beside the last one. */
  readonly beside: ComponentChildren;
  readonly last: ComponentChildren;
}

export const Charts = ({ data, range, beside, last }: ChartsProps) => (
  <>
    <div class="columns">
      <SeriesChart chart={CONNECTIONS} data={data} range={range} heightPx={264} />
      {beside}
    </div>
    <div class="halves">
      {FURTHER.map((chart) => (
        <SeriesChart key={chart.title} chart={chart} data={data} range={range} heightPx={180} />
      ))}
      {last}
    </div>
  </>
);

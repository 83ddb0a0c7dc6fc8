/** The numbers and charts of the overview. */
import type { ComponentChildren } from "preact";
import { refusalsPage } from "../../address/links.ts";
import type { Range, Series } from "../../api/types.ts";
import { currentApp } from "../../live/apps.ts";
import type { AskedSeries } from "../../live/series.ts";
import { type Total, totalOf } from "../../live/totals.ts";
import { rate, short, whole } from "../../text/format.ts";
import { TERMS } from "../../text/terms.ts";
import { Chart, ChartCard } from "../../ui/chart.tsx";
import type { ChartProps, Line } from "../../ui/plot-options.ts";
import { RANGE_TITLES } from "../../ui/range.tsx";
import { Term } from "../../ui/term.tsx";
import { countOf } from "./refusals.tsx";

const METRICS = [
  "connections",
  "connects",
  "refusals",
  "messages",
  "deliveries",
  "bytesOut",
  "p50Ms",
  "p99Ms",
  "errors",
] as const;
type Metric = (typeof METRICS)[number];

export const metricsOf = (app: string | undefined) =>
  Object.fromEntries(METRICS.map((metric) => [metric, { metric, app }])) as Readonly<Record<Metric, AskedSeries>>;

interface Part {
  readonly data: Readonly<Record<Metric, Series>>;
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
  /** What the number is; absent: the newest value. */
  readonly of?: (series: Series) => number;
  /** What the title means, for those who do not know. */
  readonly meaning?: string;
  /** More than none is worth a look: it leads to the list of refused connects. */
  readonly isBad?: boolean;
}

const NUMBERS: readonly NumberOf[] = [
  { title: "Connections", metric: "connections", show: (value) => [whole(value), ""] },
  { title: "Messages in", metric: "messages", show: (value) => [short(value), "/s"] },
  { title: "Refused connects", metric: "refusals", show: (value) => [whole(value), ""], of: countOf, isBad: true },
  {
    title: "Frame to publish, p99",
    metric: "p99Ms",
    show: (value) => [rate(value), "ms"],
    meaning: TERMS.frameToPublish,
  },
];

export const Numbers = ({ data, range }: Part) => (
  <div class="numbers">
    {NUMBERS.map(({ title, metric, show, of, isBad, meaning }) => {
      const total = totalOf(data[metric], range);
      const value = of ? of(data[metric]) : newest(total);
      const [text, unit] = value === undefined ? ["–", ""] : show(value);
      return (
        <section key={metric} class="card stat">
          <h2 class="muted small">{meaning ? <Term name={title} meaning={meaning} /> : title}</h2>
          <div>
            {isBad && value ? (
              <a class="value bad" href={refusalsPage(currentApp.value?.name, { kind: "refuse" })}>
                {text}
              </a>
            ) : (
              <span class="value">{text}</span>
            )}
            {/^\w/.test(unit) && " "}
            <span class="unit">{of ? ` in ${RANGE_TITLES[range]}` : unit}</span>
          </div>
          <Chart
            label={title}
            times={total.times}
            lines={[{ title, color: isBad ? "--bad" : "--accent", values: total.values }]}
            format={(one) => (of ? `${rate(one)}/s` : show(one).join(" "))}
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
  readonly meaning?: string;
  readonly lines: readonly LineOf[];
  readonly axis?: Pick<ChartProps, "format" | "leastTop" | "isBytes">;
}

const CONNECTIONS: ChartOf = {
  title: "Connections",
  unit: "peak",
  lines: [{ metric: "connections", title: "Connections", color: "--accent", isFilled: true }],
  axis: { leastTop: 5 },
};

const FURTHER: readonly ChartOf[] = [
  {
    title: "Messages",
    unit: "/s",
    meaning: TERMS.deliveries,
    lines: [
      { metric: "messages", title: "Messages in", color: "--accent" },
      { metric: "deliveries", title: "Deliveries out", color: "--good", isDashed: true },
    ],
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
    title: "Bytes out",
    unit: "/s",
    lines: [{ metric: "bytesOut", title: "Bytes out", color: "--accent", isFilled: true }],
    axis: { isBytes: true, leastTop: 1024 },
  },
  {
    title: "Frame to publish",
    unit: "the slowest node",
    meaning: TERMS.frameToPublish,
    lines: [
      { metric: "p50Ms", title: "p50", color: "--accent" },
      { metric: "p99Ms", title: "p99", color: "--warn", isDashed: true },
    ],
    axis: { format: milliseconds, leastTop: 0.1 },
  },
  {
    title: "Errors",
    unit: "error frames/s",
    meaning: TERMS.errorFrames,
    lines: [{ metric: "errors", title: "Errors", color: "--bad", isFilled: true }],
  },
];

function SeriesChart({ chart, data, range, heightPx }: Part & { readonly chart: ChartOf; readonly heightPx: number }) {
  const totals = chart.lines.map(({ metric }) => totalOf(data[metric], range));
  return (
    <ChartCard
      title={chart.title}
      unit={chart.unit}
      meaning={chart.meaning}
      times={totals[0]?.times ?? []}
      lines={chart.lines.map((line, at) => ({ ...line, values: totals[at]?.values ?? [] }))}
      heightPx={heightPx}
      {...chart.axis}
    />
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

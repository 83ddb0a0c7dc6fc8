/** Charts over time, drawn by uPlot in the theme's colours. Gaps in the data are gaps in the line. */
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { usePlots } from "../live/plots.ts";
import { bytes, clock, short } from "../text/format.ts";

export interface Line {
  readonly title: string;
  /** A CSS custom property: `--accent`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  /** The area below is tinted. */
  readonly isFilled?: boolean;
  /** Distinguishes it from another line without colours. */
  readonly isDashed?: boolean;
}

export interface ChartProps {
  /** For screen readers, who get it with the last values. */
  readonly label: string;
  /** Unix seconds of each value. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly heightPx?: number;
  readonly format?: (value: number) => string;
  /** The vertical axis reaches at least this value. */
  readonly leastTop?: number;
  /** The values are bytes: steps of the axis are powers of two. */
  readonly isBytes?: boolean;
  /** Only the line, without axes: for the small ones beside a number. */
  readonly isSpark?: boolean;
}

const variable = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Chart(props: ChartProps) {
  const { label, times, lines, heightPx = 180, format = props.isBytes ? bytes : short, isSpark = false } = props;
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const { plot: Plot, isFailing } = usePlots();
  const data = [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData;
  const shape = lines.map(({ title, color }) => title + color).join();
  useEffect(() => {
    const target = element.current;
    if (!target || !Plot) return;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new Plot(
        optionsOf({ ...props, format, isSpark, heightPx, widthPx: target.clientWidth }),
        data,
        target,
      );
    };
    draw();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: target.clientWidth, height: heightPx }));
    sizes.observe(target);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener("change", draw);
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape, heightPx, isSpark, Plot]);
  useEffect(() => plot.current?.setData(data), [times, ...lines.map(({ values }) => values)]);
  const last = lines
    .map(({ title, values }) => `${title} ${format(values.findLast((one) => one !== null) ?? 0)}`)
    .join(", ");
  return (
    <div ref={element} class="chart" role="img" aria-label={`${label}: ${last}`} style={{ height: `${heightPx}px` }}>
      {isFailing && !isSpark && <p class="muted small">The chart cannot be drawn: the service does not respond.</p>}
    </div>
  );
}

type Look = ChartProps & Required<Pick<ChartProps, "format" | "isSpark" | "heightPx">> & { readonly widthPx: number };

/** Steps of an axis in bytes: 1 B to 1 TB. */
const BYTE_STEPS = Array.from({ length: 41 }, (_, power) => 2 ** power);

function optionsOf({
  lines,
  format,
  isSpark,
  heightPx,
  widthPx,
  isBytes,
  leastTop = isSpark ? 0 : 1,
}: Look): uPlot.Options {
  const [text, grid] = [variable("--muted"), variable("--line")];
  const font = `12px ${variable("--sans")}`;
  const axis = { stroke: text, font, ticks: { show: false } };
  return {
    width: widthPx,
    height: heightPx,
    legend: { show: false },
    cursor: isSpark ? { show: false } : { y: false, points: { size: 6 }, drag: { setScale: false } },
    padding: isSpark ? [2, 0, 2, 0] : [8, 20, 0, 0],
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(high * 1.1, leastTop) || 1] } },
    axes: isSpark
      ? [{ show: false }, { show: false }]
      : [
          {
            ...axis,
            size: 22,
            grid: { show: false },
            values: (_plot, splits) => splits.map((at) => clock(at * 1000).slice(0, 5)),
          },
          {
            ...axis,
            size: (_plot, texts) => widthOf(texts),
            grid: { stroke: grid, width: 1 },
            values: (_plot, splits) => splits.map(format),
            ...(isBytes && { incrs: BYTE_STEPS }),
          },
        ],
    series: [
      {},
      ...lines.map(({ title, color, isFilled, isDashed }) => ({
        label: title,
        stroke: variable(color),
        width: isSpark ? 1.5 : 2,
        points: { show: false, size: 4, fill: variable(color), filter: isolatedOf },
        ...(isDashed && { dash: [5, 4] }),
        ...(isFilled && { fill: variable(`${color}-soft`) }),
      })),
    ],
    plugins: isSpark ? [] : [tooltip(format)],
  };
}

/** Values without a neighbour, which no line shows: they are drawn as points. */
function isolatedOf(plot: uPlot, at: number): number[] {
  const values = plot.data[at] ?? [];
  const has = (i: number): boolean => values[i] !== null && values[i] !== undefined;
  return Array.from(values.keys()).filter((i) => has(i) && !has(i - 1) && !has(i + 1));
}

/** Room for the longest text beside the vertical axis. */
const widthOf = (texts: readonly string[] | null): number =>
  16 + 7 * Math.max(3, ...(texts ?? []).map((text) => text.length));

/** Shows the values under the pointer. */
function tooltip(format: (value: number) => string): uPlot.Plugin {
  const box = document.createElement("div");
  box.className = "chart-tip";
  box.hidden = true;
  return {
    hooks: {
      init: (plot) => void plot.over.append(box),
      setCursor: (plot) => {
        const { idx, left = 0 } = plot.cursor;
        box.hidden = idx === null || idx === undefined || left < 0;
        if (box.hidden || idx === null || idx === undefined) return;
        const lines = plot.series.slice(1).map((series, at) => {
          const value = plot.data[at + 1]?.[idx];
          return `${series.label}: ${value === null || value === undefined ? "no data" : format(value)}`;
        });
        box.textContent = [clock((plot.data[0][idx] ?? 0) * 1000), ...lines].join("\n");
        box.style.left = `${Math.min(left + 12, Math.max(0, plot.over.clientWidth - box.offsetWidth))}px`;
      },
    },
  };
}

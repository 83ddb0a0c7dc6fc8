/** Charts over time, drawn by uPlot in the theme's colours. Gaps in the data are gaps in the line. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { clock, short } from "../lib/format.ts";

export interface Line {
  readonly title: string;
  /** A CSS custom property: `--accent`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  /** The area below is tinted. */
  readonly isFilled?: boolean;
}

interface ChartProps {
  /** For screen readers, who get it with the last values. */
  readonly label: string;
  /** Unix seconds of each value. */
  readonly times: readonly number[];
  readonly lines: readonly Line[];
  readonly heightPx?: number;
  readonly format?: (value: number) => string;
  /** Only the line, without axes: for the small ones beside a number. */
  readonly isSpark?: boolean;
}

const variable = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

export function Chart({ label, times, lines, heightPx = 180, format = short, isSpark = false }: ChartProps) {
  const element = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const data = [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData;
  const shape = lines.map(({ title, color }) => title + color).join();
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    const draw = (): void => {
      plot.current?.destroy();
      plot.current = new uPlot(
        optionsOf({ lines, format, isSpark, heightPx, widthPx: target.clientWidth }),
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
  }, [shape, heightPx, isSpark]);
  useEffect(() => plot.current?.setData(data), [times, ...lines.map(({ values }) => values)]);
  const last = lines
    .map(({ title, values }) => `${title} ${format(values.findLast((one) => one !== null) ?? 0)}`)
    .join(", ");
  return (
    <div ref={element} class="chart" role="img" aria-label={`${label}: ${last}`} style={{ height: `${heightPx}px` }} />
  );
}

interface Look extends Required<Pick<ChartProps, "lines" | "format" | "isSpark" | "heightPx">> {
  readonly widthPx: number;
}

function optionsOf({ lines, format, isSpark, heightPx, widthPx }: Look): uPlot.Options {
  const [text, grid] = [variable("--muted"), variable("--line")];
  const font = `12px ${variable("--sans")}`;
  const axis = { stroke: text, font, ticks: { show: false } };
  return {
    width: widthPx,
    height: heightPx,
    legend: { show: false },
    cursor: isSpark ? { show: false } : { y: false, points: { size: 6 }, drag: { setScale: false } },
    padding: isSpark ? [2, 0, 2, 0] : [8, 8, 0, 0],
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.1 : 1] } },
    axes: isSpark
      ? [{ show: false }, { show: false }]
      : [
          {
            ...axis,
            grid: { show: false },
            values: (_plot, splits) => splits.map((at) => clock(at * 1000).slice(0, 5)),
          },
          { ...axis, size: 52, grid: { stroke: grid, width: 1 }, values: (_plot, splits) => splits.map(format) },
        ],
    series: [
      {},
      ...lines.map(({ title, color, isFilled }) => ({
        label: title,
        stroke: variable(color),
        width: isSpark ? 1.5 : 2,
        points: { show: false },
        ...(isFilled && { fill: variable(`${color}-soft`) }),
      })),
    ],
    plugins: isSpark ? [] : [tooltip(format)],
  };
}

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

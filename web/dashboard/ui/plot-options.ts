/** How uPlot draws a chart: in the theme's colours, as they are now. */
import type uPlot from "uplot";
import { clock } from "../text/format.ts";

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
  /** For screen readers, who get it with the values. */
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

type Look = ChartProps & Required<Pick<ChartProps, "format" | "isSpark" | "heightPx">> & { readonly widthPx: number };

const variable = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Steps of an axis in bytes: 1 B to 1 TiB. */
const BYTE_STEPS = Array.from({ length: 41 }, (_, power) => 2 ** power);

const none = (): null => null;
/** The chart follows the pointer itself (plot-mark.ts): by touch too, and in steps. */
const CURSOR: uPlot.Cursor = {
  y: false,
  points: { size: 6 },
  drag: { setScale: false },
  bind: {
    mousedown: none,
    mouseup: none,
    click: none,
    dblclick: none,
    mousemove: none,
    mouseleave: none,
    mouseenter: none,
  },
};

export function plotOptions({
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
    cursor: isSpark ? { show: false } : CURSOR,
    // Without times there is no axis below, which the lowest text needs half of.
    padding: isSpark ? [2, 0, 2, 0] : [8, 20, (plot) => (plot.data?.[0]?.length ? 0 : 8), 0],
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

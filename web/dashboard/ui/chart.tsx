/** Charts over time, drawn by uPlot in the theme's colours. Gaps in the data are gaps in the line. */
import { useEffect, useId, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { SCHEME_CHANGED } from "../../theme/scheme.ts";
import { crosshair, movedBy, pointAt, stepAt } from "../live/crosshair.ts";
import { usePlots } from "../live/plots.ts";
import { bytes, clock, short } from "../text/format.ts";
import { Card } from "./page.tsx";
import { Mark } from "./plot-mark.ts";
import { type ChartProps, type Line, plotOptions } from "./plot-options.ts";
import { Term } from "./term.tsx";

const formatOf = ({ format, isBytes }: Pick<ChartProps, "format" | "isBytes">): ((value: number) => string) =>
  format ?? (isBytes ? bytes : short);

/** The newest value, or the one of a step; "–" where nothing is known. */
function shownValue({ values }: Line, step: number | undefined, format: (value: number) => string): string {
  const value = step === undefined ? values.findLast((one) => one !== null) : values[step];
  return value === null || value === undefined ? "–" : format(value);
}

export function Chart(props: ChartProps) {
  const { label, times, lines, heightPx = 180, isSpark = false } = props;
  const format = formatOf(props);
  const id = useId();
  const element = useRef<HTMLDivElement>(null);
  const drawn = useRef<{ readonly plot: uPlot; readonly mark: Mark | undefined } | undefined>(undefined);
  const { plot: Plot, isFailing } = usePlots();
  const data = [times, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData;
  const shape = lines.map(({ title, color }) => title + color).join();
  const at = isSpark ? undefined : crosshair.value;
  const step = at && stepAt(times, at.at);
  const pointAtStep = (to: number | undefined): void => pointAt(id, to === undefined ? undefined : times[to]);
  /** What a pointer finds: the plot outlives the values that it was drawn with. */
  const point = useRef(pointAtStep);
  point.current = pointAtStep;
  const place = (): void => drawn.current?.mark?.place(step, at?.chart === id ? linesOf(lines, step, format) : []);
  useEffect(() => {
    const target = element.current;
    if (!target || !Plot) return;
    const draw = (): void => {
      drawn.current?.plot.destroy();
      const look = { ...props, format, isSpark, heightPx, widthPx: target.clientWidth };
      const plot = new Plot(plotOptions(look), data, target);
      drawn.current = { plot, mark: isSpark ? undefined : new Mark(plot, (to) => point.current(to)) };
      place();
    };
    draw();
    const sizes = new ResizeObserver(() => {
      drawn.current?.plot.setSize({ width: target.clientWidth, height: heightPx });
    });
    sizes.observe(target);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", draw);
    addEventListener(SCHEME_CHANGED, draw);
    return () => {
      sizes.disconnect();
      scheme.removeEventListener("change", draw);
      removeEventListener(SCHEME_CHANGED, draw);
      drawn.current?.plot.destroy();
      drawn.current = undefined;
      point.current(undefined);
    };
  }, [shape, heightPx, isSpark, Plot]);
  useEffect(() => drawn.current?.plot.setData(data), [times, ...lines.map(({ values }) => values)]);
  // After the data: a step is at another place then.
  useEffect(place);
  const keyed = (event: KeyboardEvent): void => {
    const to = movedBy(event.key, step ?? times.length, times.length);
    if (to !== undefined) pointAtStep(to);
    else if (event.key === "Escape") pointAtStep(undefined);
    else return;
    event.preventDefault();
  };
  const text = linesOf(lines, step, format).join(", ");
  const newest = Math.max(0, times.length - 1);
  const look = { ref: element, class: "chart", style: { height: `${heightPx}px` } };
  if (isSpark) return <div {...look} role="img" aria-label={`${label}: ${text}`} />;
  return (
    <div
      {...look}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={newest}
      aria-valuenow={step ?? newest}
      aria-valuetext={step === undefined ? text : `${clock((times[step] ?? 0) * 1000)}: ${text}`}
      onKeyDown={keyed}
      onBlur={() => pointAtStep(undefined)}
    >
      {isFailing && <p class="muted small">The chart cannot be drawn: the service is not responding.</p>}
    </div>
  );
}

const linesOf = (lines: readonly Line[], step: number | undefined, format: (value: number) => string): string[] =>
  lines.map((line) => `${line.title} ${shownValue(line, step, format)}`);

interface LegendProps extends Pick<ChartProps, "times" | "lines" | "format" | "isBytes"> {
  /** `/s` is written to each value, a longer one before the value of a line alone, or behind those of several. */
  readonly unit: string;
}

/** The lines of a chart with their newest values, or those that the crosshair is at. */
function Legend({ times, lines, unit, ...formats }: LegendProps) {
  const at = crosshair.value;
  const step = at && stepAt(times, at.at);
  const isShort = unit.startsWith("/");
  return (
    <span class="legend small">
      {lines.map((line) => (
        <span key={line.title}>
          {/* A line alone needs no mark, which would look like a value that is missing. */}
          {lines.length > 1 && (
            <>
              <i class={line.isDashed ? "dashed" : ""} style={{ color: `var(${line.color})` }} aria-hidden="true" />
              <span class="legend-name">{line.title}</span>{" "}
            </>
          )}
          {lines.length === 1 && !isShort && unit && `${unit} `}
          <b>
            {at && step === undefined ? "–" : shownValue(line, step, formatOf(formats))}
            {isShort && unit}
          </b>
        </span>
      ))}
      {!isShort && unit && lines.length > 1 && <span>{unit}</span>}
    </span>
  );
}

interface ChartCardProps extends ChartProps {
  readonly title: string;
  readonly unit: string;
  /** What its title means, for those who do not know. */
  readonly meaning?: string | undefined;
}

/** A chart with its title and legend. */
export const ChartCard = ({ title, unit, meaning, ...chart }: Omit<ChartCardProps, "label">) => (
  <Card title={meaning ? <Term name={title} meaning={meaning} /> : title} aside={<Legend {...chart} unit={unit} />}>
    <Chart label={unit ? `${title}, ${unit}` : title} {...chart} />
  </Card>
);

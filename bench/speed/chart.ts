/** The results as a chart: fan-out by contender, and how the cost grows with the number of subscribers and connections. */
import { BARE_BUN, BARE_C, PARLEY } from "./loads.ts";
import type { Results } from "./results.ts";

const WIDTH = 860;
const BAR_HEIGHT = 22;
const BAR_GAP = 8;
const LEFT = 170;
const PLOT_HEIGHT = 220;
const COLOURS: Readonly<Record<string, string>> = { [PARLEY]: "#0b6e4f", [BARE_C]: "#8d99ae", [BARE_BUN]: "#e09f3e" };
const OTHER = "#c8ccd4";

const escaped = (text: string): string => text.replace(/[&<>]/g, (one) => `&#${one.charCodeAt(0)};`);
const text = (x: number, y: number, content: string, extra = ""): string =>
  `<text x="${x}" y="${y}" ${extra}>${escaped(content)}</text>`;

export function chart(results: Results): string {
  const bars = barsOf(results);
  const deliveries = growthOf("CPU per delivery, ns, by subscribers", bars.height + 60, 0, (name, at) =>
    results.median(at === 1000 ? "a" : `a${at}`, name, "cpuNsPerDelivery"),
  );
  const memory = growthOf("RSS per connection, bytes, by connections", bars.height + 60, WIDTH / 2, (name, at) =>
    results.median("g", name, `bytes${at}`),
  );
  const height = bars.height + PLOT_HEIGHT + 130;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="system-ui, sans-serif" font-size="13">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    bars.svg,
    deliveries,
    memory,
    "</svg>\n",
  ].join("\n");
}

function barsOf(results: Results): { svg: string; height: number } {
  const found = results.contenders.flatMap((name) => {
    const value = results.medians("a", name);
    return value === undefined ? [] : [{ name, value }];
  });
  const most = Math.max(1, ...found.map(({ value }) => value));
  const rows = found
    .toSorted((a, b) => b.value - a.value)
    .map(({ name, value }, i) => {
      const y = 50 + i * (BAR_HEIGHT + BAR_GAP);
      const width = (value / most) * (WIDTH - LEFT - 110);
      return [
        text(LEFT - 10, y + 16, name, `text-anchor="end"${name === PARLEY ? ' font-weight="bold"' : ""}`),
        `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" fill="${COLOURS[name] ?? OTHER}"/>`,
        text(LEFT + width + 8, y + 16, Math.round(value).toLocaleString("en")),
      ].join("\n");
    });
  const title = text(16, 28, "Deliveries a server CPU-second: one channel, 1,000 subscribers, 128 B", 'font-size="16"');
  return { svg: [title, ...rows].join("\n"), height: 50 + found.length * (BAR_HEIGHT + BAR_GAP) };
}

const SIZES = [100, 1000, 10_000] as const;

/** One line per contender; both scales start at zero, the lower one is logarithmic. */
function growthOf(
  title: string,
  top: number,
  left: number,
  at: (contender: string, size: number) => number | undefined,
): string {
  const lines = [PARLEY, BARE_C, BARE_BUN].map((name) => ({ name, values: SIZES.map((size) => at(name, size)) }));
  const most = Math.max(1, ...lines.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const x = (i: number): number => left + 70 + (i * (WIDTH / 2 - 120)) / (SIZES.length - 1);
  const y = (value: number): number => top + 20 + PLOT_HEIGHT * (1 - value / most);
  const parts = lines.flatMap(({ name, values }) => {
    const points = values.flatMap((value, i) =>
      value === undefined ? [] : [`${x(i).toFixed(1)},${y(value).toFixed(1)}`],
    );
    const last = values.at(-1);
    if (points.length < 2 || last === undefined) return [];
    const colour = COLOURS[name] ?? OTHER;
    const labels = values.map((value, i) =>
      value === undefined
        ? ""
        : text(
            x(i),
            y(value) - 6,
            Math.round(value).toLocaleString("en"),
            `fill="${colour}" font-size="11" text-anchor="middle"`,
          ),
    );
    return [`<polyline points="${points.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`, ...labels];
  });
  const ticks = SIZES.map((size, i) =>
    text(x(i), top + PLOT_HEIGHT + 40, size.toLocaleString("en"), 'text-anchor="middle"'),
  );
  const legend = lines.map(({ name }, i) =>
    text(left + 16 + i * 110, top + PLOT_HEIGHT + 62, `● ${name}`, `fill="${COLOURS[name] ?? OTHER}" font-size="12"`),
  );
  return [text(left + 16, top, title, 'font-size="14"'), ...parts, ...ticks, ...legend].join("\n");
}

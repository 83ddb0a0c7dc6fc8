/** The tables that a run writes are those of docs/performance.md: the chart can be drawn from them. */
import { expect, test } from "bun:test";
import { BARE_BUN, BARE_JSON, PARLEY } from "./loads.ts";
import { markdown } from "./markdown.ts";
import { summaryChart, summaryOf } from "./summary-chart.ts";
import { judge, type Measured } from "./targets.ts";

const FOUND: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  a: { [PARLEY]: 200_000, [BARE_BUN]: 210_000, NATS: 80_000, Centrifugo: 100_000 },
  b32: { [PARLEY]: 3_000_000, [BARE_BUN]: 3_100_000, NATS: 900_000 },
  c: { [PARLEY]: 160_000, [BARE_BUN]: 180_000 },
  d1: { [PARLEY]: 50_000, [BARE_JSON]: 57_000 },
  f: { [PARLEY]: 7000 },
};
const medians: Measured = (load, contender) => FOUND[load]?.[contender];

const page = markdown({
  contenders: [PARLEY, BARE_BUN, BARE_JSON, "Centrifugo", "NATS"],
  rows: [{ id: "a", title: "one channel", unit: "deliveries per CPU-second" }],
  medians,
  verdicts: judge([medians], false),
});

test("the first table has the measured servers, and an empty place for what was not measured", () => {
  const { columns, rows } = summaryOf(`\n${page}`);
  expect(columns).toEqual([PARLEY, BARE_BUN, "Centrifugo", "NATS"]);
  expect(rows.map(({ cells }) => cells.map(({ value }) => value))).toEqual([
    [200_000, 210_000, 100_000, 80_000],
    [3_000_000, 3_100_000, undefined, 900_000],
    [160_000, 180_000, undefined, undefined],
    [50_000, 57_000, undefined, undefined],
    [7000, undefined, undefined, undefined],
  ]);
  expect(summaryChart(summaryOf(`\n${page}`))).toContain("100,000 (Parley 2.00 ×)");
});

test("targets are judged by the ratio of the run", () => {
  expect(page).toContain("| (a) against Centrifugo | at least 1.8 | 2.00 | 2.00 to 2.00 | holds |");
  expect(page).toContain("| (c) against bare Bun | at least 0.9 | 0.89 | 0.89 to 0.89 | MISSED |");
  expect(page).toContain("| (c) against Centrifugo | at least 1.8 | not measured | | |");
});

/** Numbers that several pages repeat are the same on all of them, and those of the code. */
import { expect, test } from "bun:test";
import { summaryChart, summaryOf } from "../../bench/speed/summary-chart.ts";
import { KIB, REQUEST_HEAD_MAX_BYTES } from "../../src/protocol/limits.ts";
import { readPage } from "./support/page.ts";

test("the size of request heads is the same in the code, on the pages and in the proxies' configurations", () => {
  const kib = String(REQUEST_HEAD_MAX_BYTES / KIB);
  for (const page of ["docs/operations.md", "docs/troubleshooting.md", "deploy/README.md"])
    expect([page, /request heads of (\d+) KiB/.exec(readPage(page))?.[1]]).toEqual([page, kib]);
  expect(/a request's head \| (\d+) KiB/.exec(readPage("docs/limits.md"))?.[1]).toBe(kib);
  expect(readPage("deploy/nginx/parley-http.conf")).toContain(`large_client_header_buffers 4 ${kib}k;`);
  expect(readPage("deploy/caddy/Caddyfile")).toContain(`max_header_size ${kib}KiB`);
});

test("the costs for sizing are the measurements of docs/performance.md, rounded", () => {
  const measurements = readPage("docs/performance.md");
  /** Parley's own result of a load. */
  const measured = (load: string): number => {
    const row = measurements.split("\n").find((line) => line.startsWith(`| (${load}) `));
    return Number(row?.split(" | ")[1]?.replaceAll(",", ""));
  };
  const sizing =
    readPage("deploy/README.md")
      .split("\n## ")
      .find((section) => section.startsWith("Sizing")) ?? "";
  const stated = (form: RegExp): number => Number(form.exec(sizing)?.[1]?.replaceAll(",", ""));
  const near = (actual: number, expected: number): void => expect(Math.abs(actual / expected - 1)).toBeLessThan(0.03);
  near(stated(/([\d,]+) deliveries per CPU-second/), measured("a"));
  near(stated(/([\d,]+) connects per CPU-second/), measured("f"));
  near(stated(/32 in flight .* or ([\d,]+) per CPU-second/), measured("d32"));
  near(stated(/about ([\d.]+) KB of RSS/) * 1000, measured("g"));
});

test("the chart of docs/performance.md shows the first table of that page (npm run bench -- chart)", () => {
  const page = readPage("docs/performance.md");
  const summary = summaryOf(page);
  expect(summary.rows).toHaveLength(5);
  expect(readPage("docs/images/performance.svg")).toBe(summaryChart(summary));
});

test("the first table of docs/performance.md has the numbers of the loads below it", () => {
  const page = readPage("docs/performance.md");
  const rowOf = (load: string): string => page.split("\n").find((line) => line.startsWith(`| (${load}) `)) ?? "";
  for (const [at, load] of ["a", "b32", "c", "d1", "f"].entries()) {
    const cells = rowOf(load).split(" | ");
    const values = summaryOf(page).rows[at]?.cells ?? [];
    expect(values.length).toBeGreaterThan(0);
    for (const { value } of values)
      if (value !== undefined) expect(cells.join(" | ")).toContain(` ${value.toLocaleString("en")} |`);
  }
});

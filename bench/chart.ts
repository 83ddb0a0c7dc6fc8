/** Draws docs/images/performance.svg from the first table of docs/performance.md. To be run when that table has changed. */
import { join } from "node:path";
import { summaryChart, summaryOf } from "./speed/summary-chart.ts";

const DOCS = join(import.meta.dir, "../docs");

export async function chart(): Promise<boolean> {
  const page = await Bun.file(join(DOCS, "performance.md")).text();
  await Bun.write(join(DOCS, "images/performance.svg"), summaryChart(summaryOf(page)));
  console.log("drawn: docs/images/performance.svg");
  return true;
}

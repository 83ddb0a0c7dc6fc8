/** A node's metrics, and how much they change. */
import { call } from "../../../support/http.ts";
import type { Server } from "../../../support/parley.ts";

export class Metrics {
  private readonly values = new Map<string, number>();

  constructor(readonly text: string) {
    for (const line of text.split("\n")) {
      if (line === "" || line.startsWith("#")) continue;
      const space = line.lastIndexOf(" ");
      this.values.set(line.slice(0, space), Number(line.slice(space + 1)));
    }
  }

  /** 0 for a series that does not exist yet. */
  get(series: string): number {
    return this.values.get(series) ?? 0;
  }

  /** All series of a name, with their labels. */
  of(name: string): string[] {
    return [...this.values.keys()].filter((series) => series === name || series.startsWith(`${name}{`));
  }
}

type Scraped = Pick<Server, "url" | "adminToken">;

export const readMetrics = async ({ url, adminToken }: Scraped): Promise<Metrics> => {
  const { status, text } = await call(`${url}/metrics`, { bearer: adminToken });
  if (status !== 200) throw new Error(`GET /metrics: ${status}`);
  return new Metrics(text);
};

/** How much `work` adds to each series. Metrics that change late are read until `settled` holds. */
export async function metricChanges(
  server: Scraped,
  work: () => Promise<unknown>,
  settled: (by: (series: string) => number) => boolean = () => true,
): Promise<(series: string) => number> {
  const before = await readMetrics(server);
  await work();
  const deadline = performance.now() + 5000;
  for (;;) {
    const after = await readMetrics(server);
    const by = (series: string): number => after.get(series) - before.get(series);
    if (settled(by) || performance.now() > deadline) return by;
    await Bun.sleep(5);
  }
}

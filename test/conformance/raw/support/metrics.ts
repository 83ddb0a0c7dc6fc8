/** A node's metrics, and how much they change. */
import { call } from "../../../support/http.ts";
import type { Server } from "../../../support/parley.ts";
import { until } from "../../../support/wait.ts";

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
  let after = before;
  const by = (series: string): number => after.get(series) - before.get(series);
  const isSettled = async (): Promise<boolean> => {
    after = await readMetrics(server);
    return settled(by);
  };
  // The test reports what is wrong with metrics that have not settled.
  await until("the metrics settle", isSettled).catch(() => undefined);
  return by;
}

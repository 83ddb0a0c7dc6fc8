/** The figures of a node as it tells them, and how far they have moved. */
import { call } from "../../../support/http.ts";
import type { Server } from "../../../support/parley.ts";

export class Figures {
  private readonly values = new Map<string, number>();

  constructor(readonly text: string) {
    for (const line of text.split("\n")) {
      if (line === "" || line.startsWith("#")) continue;
      const space = line.lastIndexOf(" ");
      this.values.set(line.slice(0, space), Number(line.slice(space + 1)));
    }
  }

  /** 0 where a series has not begun. */
  get(series: string): number {
    return this.values.get(series) ?? 0;
  }

  /** All series of a name, with their labels. */
  of(name: string): string[] {
    return [...this.values.keys()].filter((series) => series === name || series.startsWith(`${name}{`));
  }
}

type Told = Pick<Server, "url" | "adminToken">;

export const readFigures = async ({ url, adminToken }: Told): Promise<Figures> => {
  const { status, text } = await call(`${url}/metrics`, { bearer: adminToken });
  if (status !== 200) throw new Error(`GET /metrics: ${status}`);
  return new Figures(text);
};

/** What `work` adds to each series. Those that settle late are waited for until `settled` says so. */
export async function moves(
  server: Told,
  work: () => Promise<unknown>,
  settled: (by: (series: string) => number) => boolean = () => true,
): Promise<(series: string) => number> {
  const before = await readFigures(server);
  await work();
  const deadline = performance.now() + 5000;
  for (;;) {
    const after = await readFigures(server);
    const by = (series: string): number => after.get(series) - before.get(series);
    if (settled(by) || performance.now() > deadline) return by;
    await Bun.sleep(5);
  }
}

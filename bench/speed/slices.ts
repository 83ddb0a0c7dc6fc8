/**
 * A load at which contenders take turns of a tenth of a second. The speed of a shared machine changes within seconds: side by
 * side like this, all contenders get the same conditions.
 */
import type { Running } from "../contenders/contender.ts";
import { type Deliveries, open, type Session, together } from "../lib/loader.ts";
import type { Figures, SlicedLoad } from "./loads.ts";

export interface Slices {
  readonly ms: number;
  /** Each contender first runs for this long, so that frequently used code is compiled. */
  readonly unmeasured: number;
  readonly measured: number;
}

/** By name. A contender that fails is reported once, and left out of this load. */
export async function sideBySide(
  load: SlicedLoad,
  servers: ReadonlyMap<string, Running>,
  { ms, unmeasured, measured }: Slices,
  failed: (name: string, error: unknown) => void,
): Promise<Map<string, Figures>> {
  const turns: Turns[] = [];
  const each = async (work: (one: Turns) => Promise<unknown>): Promise<void> => {
    for (const one of turns) {
      if (one.hasFailed) continue;
      try {
        await work(one);
      } catch (error) {
        one.hasFailed = true;
        failed(one.name, error);
      }
    }
  };
  for (const [name, server] of servers) {
    const plan = load.plan(server.dialect);
    if (plan) turns.push(new Turns(name, () => open(plan, server)));
  }
  try {
    await each((one) => one.begin());
    for (let round = 0; round < unmeasured; round++) await each((one) => one.take(ms));
    for (let round = 0; round < measured; round++) {
      // Forwards and backwards, so that no contender always follows the same one.
      turns.reverse();
      await each(async (one) => one.windows.push(await one.take(ms)));
    }
  } finally {
    await each((one) => one.end());
  }
  const whole = turns.filter(({ hasFailed }) => !hasFailed);
  return new Map(whole.map(({ name, windows }) => [name, load.figures(together(windows))]));
}

/** One contender's state. */
class Turns {
  readonly windows: Deliveries[] = [];
  hasFailed = false;
  private session: Session | undefined;

  constructor(
    readonly name: string,
    private readonly open: () => Promise<Session>,
  ) {}

  async begin(): Promise<void> {
    this.session = await this.open();
  }

  async take(ms: number): Promise<Deliveries> {
    if (!this.session) throw new Error("a turn before the start");
    return await this.session.slice(ms);
  }

  /** Duplicates are detected here at the latest. */
  async end(): Promise<void> {
    await this.session?.[Symbol.asyncDispose]();
  }
}

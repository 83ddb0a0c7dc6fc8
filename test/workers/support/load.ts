/** A load on a service of workers, judged by the checker of `parley verify`: publishes, direct messages and presence, with and without history. */
import { expect } from "bun:test";
import type { Judging } from "../../../src/verify/checker.ts";
import { Fleet, type FleetOptions, type Report } from "../../../src/verify/fleet.ts";
import type { Totals } from "../../../src/verify/tally.ts";
import { show } from "../../cluster/support/show.ts";
import { IS_FULL } from "../../support/slack.ts";
import { RestLoad } from "./rest-load.ts";
import type { Service } from "./service.ts";

const SETTLE_MS = 30_000;
const SIZE = IS_FULL ? { clients: 48, channels: 8, rate: 300 } : { clients: 24, channels: 4, rate: 100 };
/** Subscribers of what is published over REST. */
const WATCHERS = 6;

export class Load {
  private constructor(
    readonly rest: RestLoad,
    private readonly plain: Fleet,
    private readonly stored: Fleet,
  ) {}

  static async on(service: Service, more: Partial<FleetOptions> = {}): Promise<Load> {
    const { url, key } = service.world;
    const options = {
      urls: [url.replace(/^http/, "ws")],
      secretKey: key.credential,
      ...SIZE,
      ...more,
    };
    const plain = await Fleet.open(options);
    const stored = await Fleet.open({ ...options, prefix: "kept-load", history: true, cuts: 1 });
    const load = new Load(new RestLoad(() => service.world), plain, stored);
    await load.rest.watch(WATCHERS);
    for (const fleet of [plain, stored]) fleet.talk();
    return load;
  }

  /** Resolves when publishes are acknowledged again, and has subscribers on all workers. */
  async goesOn(): Promise<void> {
    await this.rest.goesOn();
    await this.rest.watch(WATCHERS);
    await this.rest.goesOn();
  }

  /** `fitsReplay`: what clients miss is never more than one replay has, also if a busy machine keeps them away for long. */
  async judge(
    name: string,
    judging: Judging = {},
    fitsReplay = true,
  ): Promise<{ readonly plain: Totals; readonly stored: Totals }> {
    for (const fleet of [this.plain, this.stored]) fleet.hush();
    await this.rest.hush();
    const settled = (): Promise<Report[]> =>
      Promise.all([this.plain, this.stored].map((fleet) => fleet.settle(SETTLE_MS, judging)));
    const first = await settled();
    // Clients whose messages could not be replayed are sent away a few seconds later, and then come back. What is lost stays lost.
    const reports = first.every(({ problems }) => problems.length === 0) ? first : await settled();
    const watchers = await this.rest.judge();
    const { acknowledged, failed } = this.rest;
    const [plain, stored] = reports.map(({ figures }) => figures);
    show(name, { plain, stored, rest: { acknowledged: acknowledged.length, failed, watchers } });
    if (!plain || !stored) throw new Error("there is no report");
    expect(reports.map(({ problems }) => problems)).toEqual([[], []]);
    expect(watchers).toBeGreaterThan(0);
    // Each client that was subscribed before, and came so far that it is again, has got what it had missed.
    if (fitsReplay) expect(stored.unrecovered).toBe(0);
    return { plain, stored };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rest.hush();
    await Promise.all([this.plain.close(), this.stored.close()]);
  }
}

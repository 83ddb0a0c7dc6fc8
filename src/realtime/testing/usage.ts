/** For tests: the usage of a node, its clock and its store. */
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { anAppId } from "../../base/testing/ids.ts";
import { Usage } from "../counting/usage.ts";
import { turn } from "./kit.ts";
import { MemoryUsage, silentLog } from "./stubs.ts";

export const APP = anAppId("app");

export const seconds = (...date: [number, number, number]): number => Date.UTC(...date) / 1000;
export const JANUARY = seconds(2027, 0, 1);
export const FEBRUARY = seconds(2027, 1, 1);

export class UsageFixture {
  readonly clock: FakeClock;
  readonly disk: MemoryUsage;
  readonly usage: Usage;

  constructor({ startMs = Date.UTC(2027, 0, 15, 12), disk = new MemoryUsage() } = {}) {
    this.clock = new FakeClock(startMs);
    this.disk = disk;
    this.usage = new Usage(disk.store, this.clock, silentLog);
  }

  async started(): Promise<this> {
    await this.usage.load();
    return this;
  }

  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 1000) {
      this.clock.advance(Math.min(1000, left));
      await turn();
    }
  }

  messages(count: number): void {
    for (let i = 0; i < count; i++) this.usage.message(APP);
  }

  /** The messages and the peak of a period that are stored. */
  onDisk(period = JANUARY): [number, number] | undefined {
    const row = this.disk.rows.get(`app ${period}`);
    return row && [row.messages, row.peakConnections];
  }
}

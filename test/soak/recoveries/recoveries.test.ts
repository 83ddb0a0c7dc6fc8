/** A sample of what run.ts counts: recoveries on one node, and with PARLEY_TEST_FULL=1 many more, also on three that are killed. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { type RecoveriesReport, recoveries } from "./recoveries.ts";
import { oneNode, type Service, threeNodes } from "./service.ts";

const CRASH_EVERY_MS = 5000;

setDefaultTimeout(600_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

async function count(service: Service, wanted: number, crashes: number): Promise<RecoveriesReport> {
  try {
    const counting = recoveries({ ...service, recoveries: wanted, readers: 40, channels: 8, rate: 300 });
    for (let crash = 0; crash < crashes; crash++) {
      await Bun.sleep(CRASH_EVERY_MS);
      await service.crash();
    }
    return await counting;
  } finally {
    await service.stop();
  }
}

test("thousands of recoveries on one node: each is complete, or says that it is not", async () => {
  const report = await count(await oneNode(), IS_FULL ? 200_000 : 3000, IS_FULL ? 3 : 0);
  console.log(JSON.stringify(report));
  expect(report.problems).toEqual([]);
  for (const figure of [report.replayed, report.reconnected, report.published, report.unrecovered])
    expect(figure).toBeGreaterThan(0);
});

test.skipIf(!IS_FULL)("recoveries on three nodes, one of which is killed again and again", async () => {
  const report = await count(await threeNodes(), 200_000, 5);
  console.log(JSON.stringify(report));
  expect(report.problems).toEqual([]);
});

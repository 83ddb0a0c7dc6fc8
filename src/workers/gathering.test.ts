import { expect, test } from "bun:test";
import { Gathering } from "./gathering.ts";
import { WorkerProcess } from "./worker-process.ts";

const page = (value: number): string => `# HELP parley_x X.\n# TYPE parley_x gauge\nparley_x ${value}\n`;

test("what is read from a worker after its end is not counted", async () => {
  const gathering = new Gathering({ nodeId: "n", count: 2, workers: () => [] });
  const lives = new WorkerProcess(0, Bun.spawn(["sleep", "60"]), 0);
  const ends = new WorkerProcess(1, Bun.spawn(["true"]), 0);
  gathering.measured(lives, 1, page(1));
  gathering.measured(ends, 1, page(10));
  expect(await gathering.page()).toContain("\nparley_x 11\n");
  await ends.ended;
  gathering.hasEnded(ends, true);
  gathering.measured(ends, 2, page(100));
  gathering.ending(ends, page(1000));
  expect(await gathering.page()).toContain("\nparley_x 1\n");
  lives.kill();
  await lives.ended;
});

import { expect, test } from "bun:test";
import { until } from "../../test/support/wait.ts";
import { type Activity, activityOf, isAtWork } from "./activity.ts";

async function stateOf(pid: number, fits: (activity: Activity | undefined) => boolean): Promise<Activity | undefined> {
  await until("its activity fits", () => fits(activityOf(pid)));
  return activityOf(pid);
}

test("a process that computes is at work; one that sleeps, is stopped or gone is not", async () => {
  const child = Bun.spawn(["sh", "-c", "while :; do :; done"]);
  const first = await stateOf(child.pid, (one) => one?.state === "R");
  const later = await stateOf(child.pid, (one) => (one?.cpuTicks ?? 0) > (first?.cpuTicks ?? 0));
  expect(isAtWork(later, first)).toBe(true);
  child.kill("SIGSTOP");
  expect(isAtWork(await stateOf(child.pid, (one) => one?.state === "T"), first)).toBe(false);
  child.kill("SIGKILL");
  await child.exited;
  expect(isAtWork(activityOf(child.pid), first)).toBe(false);

  const sleeper = Bun.spawn(["sleep", "60"]);
  const asleep = await stateOf(sleeper.pid, (one) => one?.state === "S");
  expect([isAtWork(asleep, undefined), isAtWork(asleep, asleep)]).toEqual([true, false]);
  sleeper.kill();
});

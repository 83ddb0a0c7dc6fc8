import { expect, test } from "bun:test";
import { until } from "../../test/support/wait.ts";
import { isRunning } from "./running-process.ts";

test.each([
  ["this one", process.pid, true],
  ["that of the system", 1, true],
  ["no number", Number.NaN, false],
  ["none of this machine", 2 ** 22 + 1, false],
])("%s", (_, pid, expected) => {
  expect(isRunning(pid)).toBe(expected);
});

test.skipIf(process.platform !== "linux")("one that has ended, also if its parent never asks about it", async () => {
  // The shell becomes a program that does not wait for the process that it has started.
  await using parent = Bun.spawn(["sh", "-c", "sleep 0.01 & echo $!; exec sleep 60"], { stdout: "pipe" });
  const { value } = await parent.stdout.getReader().read();
  const pid = Number(new TextDecoder().decode(value));
  await until("it has ended", () => !isRunning(pid));
  expect(isRunning(parent.pid)).toBe(true);
});

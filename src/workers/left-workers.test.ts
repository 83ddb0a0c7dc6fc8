import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasEnded } from "./activity.ts";
import { endLeftWorkers } from "./left-workers.ts";

/** While it is waited for. */
const ENDS_AFTER_MS = 50;
/** Enough for the other one to end on a busy machine. */
const WAITED_MS = 3000;

test("workers of an earlier start are waited for, and killed if they stay; other processes are not", async () => {
  const data = mkdtempSync(join(tmpdir(), "left-"));
  const start = (...args: string[]): Bun.Subprocess =>
    Bun.spawn([process.execPath, "-e", "setInterval(() => undefined, 1000)", ...args], {
      stdio: ["ignore", "ignore", "ignore"],
    });
  const folder = "/tmp/parley-left";
  const stopped = start("worker", "0", folder);
  const ending = start("worker", "1", folder);
  const others = [start("worker", "0", "/tmp/parley-other"), start("worker", "x", folder), start(folder)];
  try {
    expect(await endLeftWorkers(data)).toEqual({ found: 0, killed: 0 });
    writeFileSync(join(data, "workers.json"), JSON.stringify({ pid: 1, folder }));
    stopped.kill("SIGSTOP");
    setTimeout(() => ending.kill("SIGTERM"), ENDS_AFTER_MS);
    expect(await endLeftWorkers(data, WAITED_MS)).toEqual({ found: 2, killed: 1 });
    expect([stopped, ending].map(({ pid }) => hasEnded(pid))).toEqual([true, true]);
    expect(others.map(({ pid }) => hasEnded(pid))).toEqual([false, false, false]);
  } finally {
    for (const child of [stopped, ending, ...others]) child.kill("SIGKILL");
    rmSync(data, { recursive: true });
  }
});

/** `--workers auto` looks at what the process may use, not at the machine. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";

setDefaultTimeout(60_000);

const AUTO = { env: { PARLEY_WORKERS: "auto", PARLEY_DEMO: "off" } };

interface Started {
  readonly workers: unknown;
  readonly why: string | undefined;
}

async function started(wrap: readonly string[]): Promise<Started> {
  const server = await startParley({ ...AUTO, wrap });
  try {
    const { workers } = await server.logged(({ msg }) => msg === "parley is ready");
    return { workers, why: server.log.find(({ msg }) => msg.startsWith("--workers auto: "))?.msg };
  } finally {
    await server.stop();
  }
}

/** One that this process may run on itself. */
const cpu = /^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "0";

test("on one core of a larger machine it is one process without a supervisor, and the log says why", async () => {
  const { workers, why } = await started(["taskset", "-c", cpu]);
  expect(workers).toBeUndefined();
  expect(why).toMatch(
    /^--workers auto: 1 process, because this service may use 1 core; each can open \d+ files, and each connection uses one$/,
  );
});

test.skipIf(!IS_FULL || availableParallelism() < 2)("on all cores it is a worker for each", async () => {
  const { workers, why } = await started([]);
  expect(workers).toBe(Math.min(64, availableParallelism()));
  expect(why).toContain(`${workers} workers, because this service may use ${workers} cores`);
});

/** Nodes and workers that do not understand each other, because they are of different versions: both sides say so. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../../src/version.ts";
import { Cluster } from "../nodes/support/cluster.ts";
import { call } from "../support/http.ts";
import { type Server, startParley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { childrenOf } from "../workers/support/workers.ts";
import { NEXT_VERSION, NEXT_WIRE, replacedWhen } from "./support/next-wire.ts";

setDefaultTimeout(60_000);

interface Ready {
  readonly ready: boolean;
  readonly degraded: readonly string[];
  readonly checks: Readonly<Record<string, string>>;
}

const ready = async ({ url }: Server): Promise<Ready> => (await call<Ready>(`${url}/readyz`)).body;
const said = ({ log }: Server): string[] =>
  log.flatMap(({ msg }) => (msg.includes("messages between nodes") ? [msg] : []));
/** What is sent in the meantime must not be logged: several heartbeats. */
const QUIET_MS = 3000;

test("nodes of two wires name each other in the log once, and in /readyz until one of them has left", async () => {
  const cluster = await Cluster.start({ nodes: 1, env: { PARLEY_NODE_ID: "now" } });
  try {
    const [now] = cluster.nodes;
    const [next] = await cluster.add(1, { ...NEXT_WIRE, PARLEY_NODE_ID: "next" });
    if (!now || !next) throw new Error("there are no two nodes");
    for (const [node, other, version] of [
      [now, "next", NEXT_VERSION],
      [next, "now", VERSION],
    ] as const) {
      await until(`${other} is noticed`, async () => (await ready(node)).degraded.includes("versions"));
      expect(await ready(node)).toMatchObject({
        ready: true,
        checks: { versions: expect.stringContaining(`node ${other} (Parley ${version}) cannot be understood`) },
      });
    }
    await Bun.sleep(QUIET_MS);
    expect(said(now)).toEqual([expect.stringContaining(`node next (Parley ${NEXT_VERSION}) uses version 3`)]);
    expect(said(next)).toEqual([expect.stringContaining(`node now (Parley ${VERSION}) uses version 2`)]);
    for (const { log } of [now, next]) expect(log.filter(({ msg }) => msg.includes("no node has sent"))).toEqual([]);
    await next.kill("SIGTERM");
    await until("it is forgotten", async () => (await ready(now)).degraded.length === 0);
  } finally {
    await cluster.stop();
  }
});

test("a worker of another version than its service refuses to start, and the log and /readyz say what to do", async () => {
  using folder = scratch();
  const replaced = join(folder.path, "replaced");
  const env = { ...replacedWhen(replaced), PARLEY_WORKERS: "2", PARLEY_DRAIN_SECONDS: "1" };
  await using service = await startParley({ env });
  expect((await ready(service)).checks.versions).toBe("ok");
  writeFileSync(replaced, "");
  process.kill(childrenOf(service.pid)[0] ?? 0, "SIGKILL");
  const text = `a new worker is Parley ${NEXT_VERSION}, but this service is still ${VERSION}: restart the service to finish the upgrade`;
  await service.logged(({ msg }) => msg === text);
  await until("it is shown", async () => (await ready(service).catch(() => undefined))?.checks.versions === text);
  expect(await ready(service)).toMatchObject({
    ready: true,
    degraded: expect.arrayContaining(["workers", "versions"]),
  });
});

/**
 * Rosters, states and lists of several nodes agree with each other and with the truth, whatever tabs and nodes do. In full: samples
 * are in live.test.ts.
 */
import { afterAll, beforeAll, describe, setDefaultTimeout, test } from "bun:test";
import { GRACE_RULES, type Joined, pairs, walk } from "../support/presence-scenario.ts";
import { Chance } from "../support/random.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(600_000);

/** The same in every run, so that a failure comes from a change. */
const SEED = Number(process.env.PARLEY_TEST_SEED ?? 41_000);
const NODES = 3;
const WALKS = [
  ["up to 2 s", { peers: 12, steps: 20, pauseMaxMs: 500, stops: 6, stopMaxMs: 2000 }],
  ["up to 30 s", { peers: 8, steps: 20, pauseMaxMs: 2000, stops: 3, stopMaxMs: 30_000 }],
] as const;

describe.if(IS_FULL)("in full", () => {
  let cluster: Cluster;
  let service: Joined;
  beforeAll(async () => {
    cluster = await Cluster.start({ nodes: NODES, env: { PARLEY_REST_REQUESTS_PER_SECOND: "0", PARLEY_DEMO: "off" } });
    const { admin } = cluster.pair[0];
    const app = await admin.createApp();
    await admin.must("PATCH", `/apps/${app._id}`, { channelRules: GRACE_RULES });
    const key = await admin.createKey(app._id);
    for (const node of cluster.nodes)
      await until("the node knows all others", async () => {
        const { data } = await node.admin.must<{ data: unknown[] }>("GET", "/nodes");
        return data.length === NODES;
      });
    const urls = cluster.nodes.map(({ url }) => url);
    const pids = (): number[] => cluster.nodes.map(({ pid }) => pid);
    service = { urls, processesPerUrl: 1, admin, appId: app._id, key, pids };
  });
  afterAll(() => cluster.stop());

  test("60 times two connections of a peer at the same moment on two nodes: all are shown the same", () =>
    pairs(service, 60));

  for (const [howLong, wanted] of WALKS)
    test(`random tabs and states, with nodes that stop for ${howLong}: everyone knows the truth (seed ${SEED})`, () =>
      walk(service, wanted, new Chance(SEED)));
});

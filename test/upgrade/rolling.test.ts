/**
 * A rolling upgrade from the release before, under load: three nodes of it are replaced by this version, one after another, while clients of the
 * public SDK and of `parley verify` talk over a load balancer. No one may notice more than the closes of three drains.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { Checker } from "../../src/verify/checker.ts";
import type { Fleet } from "../../src/verify/fleet.ts";
import { VERSION } from "../../src/version.ts";
import { Cluster } from "../cluster/support/cluster.ts";
import { BACK_WITHIN_MS, LOAD, SETTLE_MS, STORED } from "../cluster/support/load.ts";
import { NatsCluster } from "../cluster/support/nats.ts";
import { SdkPeer } from "../cluster/support/sdk.ts";
import { show } from "../cluster/support/show.ts";
import { judgeStored } from "../cluster/support/stored.ts";
import { PARLEY_MAIN } from "../support/command.ts";
import { flowing } from "../support/flowing.ts";
import { call } from "../support/http.ts";
import type { LogLine } from "../support/parley.ts";
import { BEFORE, unpackBefore, WITH_BEFORE } from "../support/release-before.ts";
import { RoundRobin } from "../support/round-robin.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { AT_ONCE, Backends } from "./support/backends.ts";

setDefaultTimeout(300_000);

/** Clients join this many at a time. */
const JOINING_AT_ONCE = 20;
const PACE_MS = 10;
const NODES = 3;
/** A client whose node drains reconnects once; it may land on a node that drains next. */
const RECONNECTS_MAX = 3;

/**
 * When the tables change, connections of old nodes to PostgreSQL are closed. A call whose statement is sent in this very moment is answered with 503:
 * each of those that are under way may be one.
 */
const REPEATED_MAX = AT_ONCE;

let postgres: PostgresServer;
let nats: NatsCluster;
let cluster: Cluster;
let folder: string | undefined;
beforeAll(async () => {
  if (!WITH_BEFORE) return;
  folder = tempFolder();
  const main = await unpackBefore(folder);
  [postgres, nats] = await Promise.all([PostgresServer.start(), NatsCluster.mesh(3)]);
  cluster = await Cluster.start({ postgres, nats, main });
});
afterAll(async () => {
  await cluster?.stop();
  await Promise.all([nats?.stop(), postgres?.stop()]);
  if (folder) removeFolder(folder);
});

const ports = (): number[] => cluster.nodes.map(({ url }) => Number(new URL(url).port));

/** The versions of the nodes, as each of them lists all; and lists that it could not make complete. */
async function versions(): Promise<readonly string[][]> {
  const lists = [
    `/apps/${cluster.key.app}/channels`,
    `/apps/${cluster.key.app}/peers`,
    "/series?metric=connections&range=15m",
  ];
  return Promise.all(
    cluster.nodes.map(async ({ admin }) => {
      const { body } = await admin.call<{ data: { version: string }[] }>("GET", "/nodes");
      const answers = await Promise.all(["/nodes", ...lists].map((path) => admin.call("GET", path)));
      const incomplete = answers.flatMap((answer) =>
        answer.body.isComplete === true ? [] : [answer.text.slice(0, 100)],
      );
      return [...body.data.map(({ version }) => version).sort(), ...incomplete];
    }),
  );
}

/** On a busy machine a node may answer another one too late for a list, which then says that it is incomplete. */
async function allList(wanted: readonly string[]): Promise<void> {
  let seen: readonly string[][] = [];
  await until("a list is not complete", async () => {
    seen = await versions();
    return Bun.deepEquals(seen, Array(NODES).fill(wanted));
  }).catch(() => expect(seen).toEqual(Array(NODES).fill(wanted)));
}

/** Replaces the nodes by this version, one after another. Returns what the old ones have logged. */
async function replaceAll(
  balancer: RoundRobin,
  backends: Backends,
  peers: readonly SdkPeer[],
  stored: Fleet,
): Promise<LogLine[]> {
  const logged: LogLine[] = [];
  for (const [at, node] of [...cluster.nodes.entries()]) {
    // As a balancer's health check does: a draining node gets no new connections.
    balancer.use(...ports().filter((_, other) => other !== at));
    await backends.answeredAll();
    expect(await node.kill("SIGTERM")).toBe(0);
    logged.push(...node.log);
    const clients = [...peers, ...stored.clients];
    await until("a client has not reconnected", () => clients.every(({ isListening }) => isListening));
    await cluster.begin(at, PARLEY_MAIN);
    await cluster.whole();
    balancer.use(...ports());
    // Messages flow between both versions before the next one is replaced.
    await flowing(stored);
    const mixed = [...Array(NODES - 1 - at).fill(BEFORE), ...Array(at + 1).fill(VERSION)];
    await allList(mixed);
  }
  return logged;
}

/** An old node says once that its connections were closed when the tables changed, if it was about to use one of them. */
const isOfChange = ({ err }: LogLine): boolean => /terminating connection/.test(String((err as Error)?.message));

/** Without what follows from nodes with folders of their own (PARLEY_STORAGE_SHARED), and from a machine that is very busy. */
const isComplaint = (line: LogLine): boolean =>
  ["warn", "error", "fatal"].includes(line.level) &&
  !/recordings|NATS is unreachable/.test(line.msg) &&
  !isOfChange(line);

test.skipIf(!WITH_BEFORE)("clients notice three drains and nothing else", async () => {
  await using balancer = await RoundRobin.over(...ports());
  const address = balancer.url.replace(/^http/, "ws");
  await using stored = await cluster.fleet({ ...STORED, urls: [address] });
  const checker = new Checker(() => performance.now());
  const peers = Array.from({ length: LOAD.clients }, (_, at) => {
    return new SdkPeer(address, cluster.key, `sdk-${at}`, `rolling/${at % LOAD.channels}`, checker);
  });
  const backends = await Backends.start(balancer.url, cluster.node(0).admin, cluster.key.credential);
  let turn = 0;
  let pace: Timer | undefined;
  try {
    for (let at = 0; at < peers.length; at += JOINING_AT_ONCE)
      await Promise.all(peers.slice(at, at + JOINING_AT_ONCE).map((peer) => peer.join()));
    pace = setInterval(() => {
      for (let said = 0; said < (LOAD.rate * PACE_MS) / 1000; said++) peers[turn++ % peers.length]?.publish();
    }, PACE_MS);
    stored.talk();
    await flowing({ checker }, stored);
    await allList(Array(NODES).fill(BEFORE));
    const logged = await replaceAll(balancer, backends, peers, stored);
    await flowing({ checker }, stored);
    clearInterval(pace);
    await backends.stop();
    await until("something is missing", () => checker.verdict().length === 0, SETTLE_MS).catch(() => undefined);
    const absences = peers.flatMap(({ absencesMs }) => absencesMs);
    const complaints = [...logged, ...cluster.nodes.flatMap(({ log }) => log)].filter(isComplaint);
    show("rolling upgrade", {
      acked: peers.reduce((sum, peer) => sum + peer.acked, 0),
      deliveries: checker.deliveries,
      reconnects: absences.length,
      mostReconnects: Math.max(...peers.map((peer) => peer.absencesMs.length)),
      longestAbsenceMs: Math.round(Math.max(...absences)),
      answered: backends.answered,
      repeated: backends.repeated,
      refused: backends.refused,
      complaints: complaints.map(({ node, msg }) => `${node}: ${msg}`),
    });
    expect(backends.refused).toEqual([]);
    expect(backends.repeated).toBeLessThanOrEqual(REPEATED_MAX);
    expect(complaints).toEqual([]);
    expect(checker.verdict()).toEqual([]);
    expect(new Set(peers.flatMap(({ closes }) => closes))).toEqual(new Set([1001]));
    expect(Math.max(...peers.map((peer) => peer.closes.length))).toBeLessThanOrEqual(RECONNECTS_MAX);
    expect(Math.max(...absences)).toBeLessThan(BACK_WITHIN_MS);
    const figures = await judgeStored("rolling upgrade", stored);
    // A node of 0.1.0 that drains refuses some direct messages to peers that are about to come back; it does so in each restart.
    expect(Object.keys(figures.errors).filter((code) => !["peer_not_found", "backend_error"].includes(code))).toEqual(
      [],
    );
    expect(figures.closes).toEqual({ "1001": figures.reconnects });
    const announced = cluster.nodes
      .flatMap(({ log }) => log)
      .filter(({ msg }) => msg.startsWith("upgrading the store"));
    expect(announced).toHaveLength(1);
    for (const { url } of cluster.nodes)
      expect((await call(`${url}/readyz`)).body).toMatchObject({ checks: { versions: "ok", nats: "ok", store: "ok" } });
  } finally {
    clearInterval(pace);
    await backends.stop();
    await Promise.all(peers.map((peer) => peer.close()));
  }
});

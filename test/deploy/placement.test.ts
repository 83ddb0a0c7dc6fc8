/** The examples that keep the peers of a name together, in front of small servers that say which request reached them. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { freePort } from "../../src/testing/ports.ts";
import { until } from "../support/wait.ts";
import { caddy, startCaddy } from "./support/caddy.ts";
import { nginx, startNginx } from "./support/nginx.ts";
import type { RunningProxy } from "./support/proxy.ts";

setDefaultTimeout(60_000);

const NAMES = Array.from({ length: 60 }, (_, at) => `lobby-${at}`);
/** A third of the names is 20; fewer than this on a node would be a coincidence of one in ten thousand. */
const NAMES_PER_NODE_MIN = 6;
/** Requests at random that all reach the same one of three nodes would be a coincidence of one in 10^18. */
const AT_RANDOM = 40;
const SECRET = "hush-hush-hush";

interface Reached {
  readonly node: number;
  /** As the node was asked: path and query. */
  readonly asked: string;
}

/** Says which request reached it; 503 to everything while it drains. */
class StandIn implements Disposable {
  isDraining = false;
  private readonly server;

  constructor(readonly port: number) {
    this.server = Bun.serve({
      port,
      hostname: "127.0.0.1",
      fetch: ({ url }) =>
        this.isDraining
          ? new Response(null, { status: 503 })
          : Response.json({ node: port, asked: url.slice(url.indexOf("/", "http://".length)) } satisfies Reached),
    });
  }

  [Symbol.dispose](): void {
    void this.server.stop(true);
  }
}

describe.each([
  ["nginx", nginx, "deploy/nginx/placement.conf", startNginx],
  ["Caddy", caddy, "deploy/caddy/placement.Caddyfile", startCaddy],
] as const)("%s with placement", (_, program, path, start) => {
  let nodes: StandIn[] = [];
  let proxy: RunningProxy | undefined;

  beforeAll(async () => {
    if (!program) return;
    const ports = await Promise.all([1, 2, 3].map(() => freePort()));
    nodes = ports.map((port) => new StandIn(port));
    proxy = await start(path, ports);
  });
  afterAll(async () => {
    await proxy?.stop();
    for (const node of nodes) node[Symbol.dispose]();
  });

  const ask = (query: string, headers: Record<string, string> = {}, at = proxy): Promise<Response> =>
    fetch(`${at?.url}${query}`, { headers, tls: { rejectUnauthorized: false } });
  const reached = async (query: string, headers?: Record<string, string>, at?: RunningProxy): Promise<Reached> =>
    (await (await ask(query, headers, at)).json()) as Reached;
  const byHost = (name: string): Promise<Reached> => reached("/v1", { Host: `${name}.realtime.example.com` });
  const placesOf = async (names: readonly string[], at?: RunningProxy): Promise<Map<string, number>> =>
    new Map(
      await Promise.all(
        names.map(async (name) => [name, (await reached(`/at/${name}/v1`, {}, at)).node] as [string, number]),
      ),
    );

  test.skipIf(!program)(
    "a name is at one node, in the path as in the host, and the node is asked for /v1",
    async () => {
      for (const name of NAMES.slice(0, 10)) {
        const { node, asked } = await reached(`/at/${name}/v1?key=pk_1&x=%2F`);
        expect(asked).toBe("/v1?key=pk_1&x=%2F");
        for (const other of [await reached(`/at/${name}/v1`), await byHost(name), await byHost(name)])
          expect(other).toEqual({ node, asked: "/v1" });
      }
    },
  );

  test.skipIf(!program)("names spread over all nodes", async () => {
    const places = [...(await placesOf(NAMES)).values()];
    for (const { port } of nodes)
      expect(places.filter((place) => place === port).length).toBeGreaterThanOrEqual(NAMES_PER_NODE_MIN);
  });

  test.skipIf(!program)("what has no name reaches any node, also if a client names a place by a header", async () => {
    for (const [query, host] of [
      ["/v1?key=pk_1", "realtime.example.com"],
      ["/v1/channels", "lobby-1.realtime.example.com"],
      ["/at/lobby-1/v1/channels", "realtime.example.com"],
    ] as const) {
      const headers = { Host: host, "Parley-Place": "lobby-1" };
      const all = await Promise.all(Array.from({ length: AT_RANDOM }, () => reached(query, headers)));
      expect(new Set(all.map(({ node }) => node)).size).toBeGreaterThan(1);
      expect(new Set(all.map(({ asked }) => asked))).toEqual(new Set([query]));
    }
  });

  test.skipIf(!program)("a node that is added takes names and moves no others", async () => {
    const [one, two, added] = nodes.map(({ port }) => port) as [number, number, number];
    const fewer = await start(path, [one, two]);
    try {
      const [before, after] = [await placesOf(NAMES, fewer), await placesOf(NAMES)];
      expect([...before.values()]).not.toContain(added);
      const moved = NAMES.filter((name) => before.get(name) !== after.get(name));
      expect(moved.length).toBeGreaterThanOrEqual(NAMES_PER_NODE_MIN);
      for (const name of moved) expect(after.get(name)).toBe(added);
    } finally {
      await fewer.stop();
    }
  });

  /** Names that were elsewhere stay; those of `gone` are at the others, each at one of them. */
  async function moveFrom(gone: StandIn, before: ReadonlyMap<string, number>): Promise<void> {
    const names = NAMES.filter((name) => before.get(name) === gone.port);
    await until("its names have moved", async () => {
      const all = await Promise.all(names.map((name) => ask(`/at/${name}/v1`).catch(() => undefined)));
      return all.every((one) => one?.status === 200);
    });
    const after = await placesOf(NAMES);
    for (const name of NAMES)
      if (names.includes(name)) expect(after.get(name)).not.toBe(gone.port);
      else expect(after.get(name)).toBe(before.get(name) as number);
    expect(await placesOf(names)).toEqual(new Map(names.map((name) => [name, after.get(name) as number])));
  }

  test.skipIf(!program)("the names of a node that drains move, and return when it is back", async () => {
    const before = await placesOf(NAMES);
    const [node] = nodes as [StandIn];
    node.isDraining = true;
    await moveFrom(node, before);
    node.isDraining = false;
    await until("they have returned", async () => Bun.deepEquals(await placesOf(NAMES), before));
  });

  test.skipIf(!program)("the names of a node that is down move, and no query is logged", async () => {
    const before = await placesOf(NAMES);
    const [, node] = nodes as [StandIn, StandIn];
    node[Symbol.dispose]();
    await moveFrom(node, before);
    await reached(`/at/lobby-1/v1?token=${SECRET}`);
    await until("the lines of the requests", () => /"\/(at\/lobby-1\/)?v1"/.test(proxy?.logged() ?? ""));
    expect(proxy?.logged()).not.toContain(SECRET);
    expect(proxy?.logged()).not.toContain("key=");
  });
});

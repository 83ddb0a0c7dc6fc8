/** Two nodes behind the examples that keep the peers of a name together: where the clients of a name are, and where they go when their node is killed. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SignallingClient } from "@metered-ca/realtime";
import { Parley } from "../../client/src/index.ts";
import { freePort } from "../../src/testing/ports.ts";
import { caddy, startCaddy } from "../deploy/support/caddy.ts";
import { nginx, startNginx } from "../deploy/support/nginx.ts";
import type { RunningProxy } from "../deploy/support/proxy.ts";
import { IS_FULL } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(120_000);

/** All of them on one of two nodes would be a coincidence of one in a thousand million. */
const NAMES = Array.from({ length: 30 }, (_, at) => `lobby-${at}`);

/** What clients in a browser would do with a name that leads to the proxy, and a certificate for it. */
const socketTo = (proxy: RunningProxy, address: string): WebSocket => {
  const url = new URL(address);
  const { host } = url;
  url.host = new URL(proxy.url).host;
  return new WebSocket(url.href, { headers: { Host: host }, tls: { rejectUnauthorized: false } });
};

interface Lobby {
  readonly name: string;
  /** The package parley-client, with the name in the path. */
  readonly client: Parley;
  /** The public SDK, which takes no path: the name is in the host. */
  readonly sdk: SignallingClient;
  /** The ids of both peers, which change with a reconnect. */
  readonly peerIds: () => (string | undefined)[];
  readonly heard: string[];
  readonly close: () => Promise<void>;
}

describe.skipIf(!IS_FULL).each([
  ["nginx", nginx, "deploy/nginx/placement.conf", startNginx],
  ["Caddy", caddy, "deploy/caddy/placement.Caddyfile", startCaddy],
] as const)("two nodes behind %s with placement", (_, program, path, start) => {
  let cluster: Cluster;
  let proxy: RunningProxy;
  let application: { readonly _id: string };
  let key: string;
  const lobbies: Lobby[] = [];

  beforeAll(async () => {
    if (!program) return;
    cluster = await Cluster.start({ nodes: 2, env: { PARLEY_DEMO: "off", PARLEY_TRUSTED_PROXIES: "127.0.0.1" } });
    const [{ admin }] = cluster.pair;
    application = await admin.createApp("shop");
    key = (await admin.createPublishable(application._id)).keyId;
    // The third is a node that is down all the time.
    proxy = await start(path, [...cluster.nodes.map(({ url }) => Number(new URL(url).port)), await freePort()]);
  });
  afterAll(async () => {
    for (const { close } of lobbies) await close();
    await proxy?.stop();
    await cluster?.stop();
  });

  async function open(name: string): Promise<Lobby> {
    const heard: string[] = [];
    class Socket {
      constructor(url: string) {
        // biome-ignore lint/correctness/noConstructorReturn: a socket to the proxy in place of the one that was asked for.
        return socketTo(proxy, url) as unknown as Socket;
      }
    }
    const client = new Parley({
      url: `https://realtime.example.com/at/${name}`,
      key,
      WebSocket: Socket as unknown as typeof WebSocket,
    });
    const sdk = new SignallingClient({
      url: `wss://${name}.realtime.example.com`,
      apiKey: key,
      webSocketFactory: (url) => socketTo(proxy, url),
    });
    let sdkId: string | undefined;
    sdk.on("connected", ({ peerId }) => {
      sdkId = peerId;
    });
    const channel = client.channel(`chat/${name}`);
    channel.on("message", ({ data }) => void heard.push(String(data)));
    await sdk.connect();
    await channel.subscribed;
    const close = async (): Promise<void> => {
      client.close();
      await sdk.close();
    };
    return { name, client, sdk, peerIds: () => [client.peerId, sdkId], heard, close };
  }

  /** The nodes that have connections of these peers. */
  async function nodesOf(...peerIds: (string | undefined)[]): Promise<string[]> {
    const { admin } = cluster.nodes.at(-1) as Cluster["nodes"][number];
    const found = await Promise.all(
      peerIds.map((peerId) =>
        admin
          .must<{ connections: { nodeId: string }[] }>("GET", `/apps/${application._id}/peers/${peerId}`)
          .catch(() => ({ connections: [] })),
      ),
    );
    return found.map(({ connections }) => connections.map(({ nodeId }) => nodeId).join());
  }

  async function exchanged({ name, sdk, heard }: Lobby, text: string): Promise<boolean> {
    await sdk.publish(`chat/${name}`, text).catch(() => undefined);
    return heard.includes(text);
  }

  test.skipIf(!program)(
    "peers of a name are on one node, whichever client they use, and names on both nodes",
    async () => {
      for (const name of NAMES) lobbies.push(await open(name));
      const used = new Set<string>();
      for (const lobby of lobbies) {
        const [one, other] = await nodesOf(...lobby.peerIds());
        expect(one).toMatch(/^[^,]+$/);
        expect(other).toBe(one as string);
        used.add(one as string);
        await until("a message arrives", () => exchanged(lobby, "hello"));
      }
      expect(used.size).toBe(2);
    },
  );

  test.skipIf(!program)(
    "when a node is killed its clients come back on the other one, and no query was logged",
    async () => {
      const [killed] = cluster.pair;
      await killed.kill("SIGKILL");
      for (const lobby of lobbies) {
        await until("the peers of a name are together", async () => {
          const [one, other] = await nodesOf(...lobby.peerIds());
          return one !== "" && one === other;
        });
        await until("a message arrives", () => exchanged(lobby, "after the kill"));
      }
      expect(proxy.logged()).toContain('/v1"');
      expect(proxy.logged()).not.toContain(key);
    },
  );
});

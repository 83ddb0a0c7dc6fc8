/** Where the recordings of a meeting go: one node with a folder, one with a bucket, or three nodes with a bucket; all of them can be killed. */
import { join } from "node:path";
import { freePort } from "../../../../src/testing/ports.ts";
import { Cluster } from "../../../nodes/support/cluster.ts";
import { Admin } from "../../../support/admin.ts";
import { Application } from "../../../support/application.ts";
import { launchParley, type Server } from "../../../support/parley.ts";
import { RoundRobin } from "../../../support/round-robin.ts";
import { startS3 } from "../../../support/s3.ts";
import { removeFolder, tempFolder } from "../../../support/temp.ts";

type Env = Readonly<Record<string, string>>;

export interface Setting {
  /** The application API, through whatever node is there. */
  readonly app: Application;
  /** Where requests of pages go. */
  readonly port: number;
  /** Kills a node with SIGKILL. */
  crash(): Promise<void>;
  /** Starts a node in its place. */
  recover(): Promise<void>;
  /** All files of recordings and uploads, listed or not. */
  files(): string[];
  stop(): Promise<void>;
}

export const SETTINGS = ["a folder", "a bucket", "three nodes"] as const;
export type SettingName = (typeof SETTINGS)[number];

/** Participants have addresses of their own (X-Forwarded-For), and requests are not limited otherwise. */
const ENV: Env = {
  PARLEY_TRUSTED_PROXIES: "127.0.0.1",
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
  PARLEY_DEMO: "off",
};

export async function startSetting(name: SettingName, env: Env = {}): Promise<Setting> {
  const all = { ...ENV, ...env };
  return name === "three nodes" ? startThree(all) : startOne(all, name === "a bucket");
}

/** Beside the file that says whose storage it is. */
const filesIn = (folder: string): string[] =>
  [...new Bun.Glob("**/*").scanSync({ cwd: folder, dot: true })].filter((path) => !path.endsWith(".json"));

const portOf = ({ url }: Server): number => Number(new URL(url).port);

async function shopOn({ url, admin }: Pick<Server, "url" | "admin">, at = url): Promise<Application> {
  const { _id, name, secretKey } = await admin.createApp("shop");
  return new Application(at, name, secretKey, _id);
}

async function startOne(given: Env, isBucket: boolean): Promise<Setting> {
  const bucket = isBucket ? await startS3() : undefined;
  const data = tempFolder();
  const port = await freePort();
  const env = {
    PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
    ...(bucket && { PARLEY_STORAGE_URL: bucket.storageUrl }),
    ...given,
  };
  const start = async (): Promise<Server> => {
    const server = launchParley({ env, data, port: String(port) });
    const ready = await server.logged(({ msg }) => msg === "parley is ready");
    server.url = String(ready.url);
    server.admin = new Admin(server.url, env.PARLEY_ADMIN_TOKEN);
    return server;
  };
  let node = await start();
  return {
    app: await shopOn(node),
    port,
    crash: async () => void (await node.kill("SIGKILL")),
    recover: async () => {
      node = await start();
    },
    files: () => filesIn(bucket ? bucket.folder : join(data, "recordings")),
    stop: async () => {
      await node.stop();
      await bucket?.stop();
      removeFolder(data);
    },
  };
}

async function startThree(env: Env): Promise<Setting> {
  const bucket = await startS3();
  const cluster = await Cluster.start({ nodes: 3, env: { PARLEY_STORAGE_URL: bucket.storageUrl, ...env } });
  const balancer = await RoundRobin.over(...cluster.nodes.map(portOf));
  const [first] = cluster.pair;
  return {
    app: await shopOn(first, balancer.url),
    port: balancer.port,
    crash: async () => {
      const [node] = cluster.nodes.splice(0, 1);
      await node?.kill("SIGKILL");
      await node?.stop();
      balancer.use(...cluster.nodes.map(portOf));
    },
    recover: async () => {
      await cluster.add(1);
      balancer.use(...cluster.nodes.map(portOf));
    },
    files: () => filesIn(bucket.folder),
    stop: async () => {
      await balancer.close();
      await cluster.stop();
      await bucket.stop();
    },
  };
}

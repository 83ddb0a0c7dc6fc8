/** Where the service runs that is killed: one node with a folder or a bucket, or three nodes on one PostgreSQL and one folder. */
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { SQL } from "bun";
import { openSqlite, sqliteFile } from "../../../../src/store/open.ts";
import { ROOMS_ENV } from "../../../conformance/raw/support/rooms.ts";
import { Cluster } from "../../../nodes/support/cluster.ts";
import { launchParley, type Server, startParley } from "../../../support/parley.ts";
import type { Chance } from "../../../support/random.ts";
import { type S3Service, startS3 } from "../../../support/s3.ts";
import { removeFolder, tempFolder } from "../../../support/temp.ts";

export type SettingName = "folder" | "bucket" | "three nodes";

type Between = (sql: SQL) => Promise<void>;

export interface Setting {
  /** Folder that holds everything the storage has, as files. */
  readonly storage: string;
  /** Where a bucket has its multipart uploads. */
  readonly unfinished?: string;
  /** The folder of the nodes. */
  readonly data: string;
  /** Whether the store can be read while no node changes it. */
  readonly isQuiet: boolean;
  /** A node that is ready, or that will be. */
  node(): Promise<Server>;
  /** The node that the next `kill` ends. */
  victim(): Promise<Server>;
  /**
   * Kills it with SIGKILL, lets `between` look at the store, and starts it again. With `againAfterMs`, that start is killed
   * after this time, and another one follows.
   */
  kill(between: Between, againAfterMs?: number): Promise<void>;
  /** Ends all nodes, lets `between` change the store, and starts them again. */
  restart(between: Between): Promise<void>;
  stop(): Promise<void>;
}

const ENV = {
  ...ROOMS_ENV,
  PARLEY_REST_REQUESTS_PER_SECOND: "0",
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_DEMO: "off",
};

const NODES = 3;
const STARTS_MAX = 5;

export async function newSetting(name: SettingName, chance: Chance): Promise<Setting> {
  if (name === "three nodes") return ThreeNodes.start(chance);
  return new OneNode(name === "bucket" ? await startS3() : undefined);
}

class OneNode implements Setting {
  readonly isQuiet = true;
  readonly data = tempFolder();
  readonly storage: string;
  readonly unfinished?: string;
  private readonly env: Readonly<Record<string, string>>;
  private server: Promise<Server>;

  constructor(private readonly bucket: S3Service | undefined) {
    this.storage = bucket ? join(bucket.folder, "some/prefix") : join(this.data, "recordings");
    if (bucket) this.unfinished = join(bucket.folder, ".sgwtmp/multipart");
    const storage = bucket && { PARLEY_STORAGE_URL: bucket.storageUrl };
    this.env = { ...ENV, PARLEY_ADMIN_TOKEN: randomUUID(), ...storage };
    this.server = this.start();
  }

  private start(): Promise<Server> {
    return startParley({ data: this.data, env: this.env });
  }

  node(): Promise<Server> {
    return this.server;
  }

  victim(): Promise<Server> {
    return this.server;
  }

  kill(between: Between, againAfterMs?: number): Promise<void> {
    return this.replace("SIGKILL", between, againAfterMs);
  }

  restart(between: Between): Promise<void> {
    return this.replace("SIGTERM", between);
  }

  private async replace(signal: NodeJS.Signals, between: Between, againAfterMs?: number): Promise<void> {
    const before = this.server;
    const next = async (): Promise<Server> => {
      await (await before).kill(signal);
      const sql = await openSqlite(sqliteFile(this.data));
      try {
        await between(sql);
      } finally {
        await sql.close();
      }
      if (againAfterMs !== undefined) {
        const unready = launchParley({ data: this.data, env: this.env });
        await Bun.sleep(againAfterMs);
        await unready.kill();
      }
      return this.start();
    };
    this.server = next();
    await this.server;
  }

  async stop(): Promise<void> {
    await (await this.server).kill();
    await this.bucket?.stop();
    removeFolder(this.data);
  }
}

class ThreeNodes implements Setting {
  readonly isQuiet = false;
  readonly storage: string;
  private next: Server | undefined;

  private constructor(
    private readonly cluster: Cluster,
    private readonly sql: SQL,
    readonly data: string,
    private readonly chance: Chance,
  ) {
    this.storage = join(data, "recordings");
  }

  static async start(chance: Chance): Promise<ThreeNodes> {
    const data = tempFolder();
    const cluster = await Cluster.start({ nodes: NODES, data, env: ENV });
    return new ThreeNodes(cluster, new SQL(cluster.env.PARLEY_DATABASE_URL ?? "", { max: 2 }), data, chance);
  }

  async node(): Promise<Server> {
    const ready = this.cluster.nodes.filter(({ url }) => url !== "");
    return this.chance.pick(ready);
  }

  async victim(): Promise<Server> {
    this.next ??= await this.node();
    return this.next;
  }

  async kill(between: Between, againAfterMs?: number): Promise<void> {
    const victim = await this.victim();
    this.next = undefined;
    this.cluster.nodes.splice(this.cluster.nodes.indexOf(victim), 1);
    await victim.kill();
    await between(this.sql);
    if (againAfterMs !== undefined) {
      const unready = launchParley({ data: this.data, env: this.cluster.env });
      await Bun.sleep(againAfterMs);
      await unready.kill();
    }
    await this.fill();
  }

  /** On a busy machine a start can fail because NATS answers too late: then it is repeated, as a supervisor would do. */
  private async fill(): Promise<void> {
    const { cluster } = this;
    for (let tries = 1; ; tries++) {
      const missing = NODES - cluster.nodes.filter(({ url }) => url !== "").length;
      try {
        await cluster.add(missing);
        return;
      } catch (error) {
        for (const node of cluster.nodes.filter(({ url }) => url === "")) {
          cluster.nodes.splice(cluster.nodes.indexOf(node), 1);
          await node.kill();
        }
        if (tries === STARTS_MAX) throw error;
      }
    }
  }

  async restart(between: Between): Promise<void> {
    for (const node of this.cluster.nodes.splice(0)) await node.kill("SIGTERM");
    await between(this.sql);
    await this.fill();
  }

  async stop(): Promise<void> {
    await this.sql.close();
    await this.cluster.stop();
    removeFolder(this.data);
  }
}

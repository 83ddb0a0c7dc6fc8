/**
 * PostgreSQL takes no changes for a while, under load: it is made read-only, or its disk is full. What needs a change is refused, nothing
 * that was acked is lost, and the nodes continue by themselves. Long: PARLEY_TEST_FULL=1.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { SQL } from "bun";
import { Fleet } from "../../src/verify/fleet.ts";
import { Edits } from "../cluster/support/edits.ts";
import { judgeStored } from "../cluster/support/stored.ts";
import { type Person, ROOMS_ENV, Room } from "../conformance/raw/support/rooms.ts";
import { fresh } from "../conformance/raw/support/world.ts";
import { mint, type SecretKey } from "../support/admin.ts";
import { Application } from "../support/application.ts";
import { flowing } from "../support/flowing.ts";
import { call, type Json } from "../support/http.ts";
import type { Server } from "../support/parley.ts";
import { until } from "../support/wait.ts";
import { Cluster } from "./support/cluster.ts";

setDefaultTimeout(180_000);

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";
const OUTAGE_MS = 8000;
const BACK_WITHIN_MS = 10_000;
/** Per node and outage: each reason has ten lines a minute. */
const LOG_LINES_MAX = 150;
const CHANNEL_RULES = [{ pattern: "stored/**", history: { messages: 10_000, seconds: 3600 } }];

let cluster: Cluster;
let one: Server;
let other: Server;
let app: Application;
let key: SecretKey;
beforeAll(async () => {
  if (!IS_FULL) return;
  cluster = await Cluster.start({ ownPostgres: true, env: { ...ROOMS_ENV, PARLEY_REST_REQUESTS_PER_SECOND: "0" } });
  [one, other] = cluster.pair;
  const { _id, name, secretKey } = await one.admin.createApp();
  app = new Application(one.url, name, secretKey, _id);
  await one.admin.must("PATCH", `/apps/${_id}`, { channelRules: CHANNEL_RULES });
  key = await one.admin.createKey(_id);
});
afterAll(() => cluster?.stop());

/** A fault of the database that ends. */
interface Fault {
  readonly name: string;
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
  /** What /readyz says about it. */
  readonly says: RegExp;
}

const onDatabase = async (work: (sql: SQL) => Promise<void>): Promise<void> => {
  await using sql = new SQL({ url: cluster.env.PARLEY_DATABASE_URL, max: 1 });
  await work(sql);
};

const tables = async (sql: SQL): Promise<string[]> => {
  const rows: { tablename: string }[] = await sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`;
  return rows.map(({ tablename }) => tablename);
};

const FAULTS: readonly Fault[] = [
  {
    name: "made read-only",
    begin: () => cluster.postgres.set("default_transaction_read_only", "on"),
    end: () => cluster.postgres.set("default_transaction_read_only", "off"),
    says: /refuses changes/,
  },
  {
    name: "a full disk",
    begin: () =>
      onDatabase(async (sql) => {
        await sql.unsafe(`CREATE OR REPLACE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$`);
        for (const table of await tables(sql))
          await sql.unsafe(`CREATE TRIGGER no_space BEFORE INSERT OR UPDATE ON ${table} EXECUTE FUNCTION no_space()`);
      }),
    end: () =>
      onDatabase(async (sql) => {
        for (const table of await tables(sql)) await sql.unsafe(`DROP TRIGGER IF EXISTS no_space ON ${table}`);
      }),
    says: /cannot be written to/,
  },
];

const checksOf = async (node: Server): Promise<{ status: number; text: string }> => {
  const { status, text } = await call(`${node.url}/readyz`);
  return { status, text };
};

const faultsOf = async (node: Server): Promise<number> => {
  const { text } = await call(`${node.url}/metrics`, { bearer: node.setToken });
  return [...text.matchAll(/^parley_faults_total\{.*\} (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
};

const writes = async ({ wire }: Person, room: Room): Promise<string> => {
  const answer = await wire.request({ type: "publish", channel: room.channel("chat"), data: { text: "hello" } });
  return answer.type === "error" ? answer.code : answer.type;
};

describe.skipIf(!IS_FULL)("PostgreSQL takes no changes", () => {
  test.each(FAULTS.map((fault) => [fault.name, fault] as const))("%s", async (name, fault) => {
    const urls = cluster.nodes.map(({ url }) => url.replace(/^http/, "ws"));
    const common = { urls, secretKey: key.credential, clients: 40, channels: 8, rate: 200 };
    await using plain = await Fleet.open(common);
    await using stored = await Fleet.open({ ...common, prefix: "stored", history: true });
    const roomName = fresh("room");
    const { _id } = await app.must<{ _id: string }>("POST", "/room", { roomName });
    const room = new Room(app, roomName, _id);
    const ann = await room.inside({ name: "Ann" });
    const edits = new Edits(cluster.nodes, (await one.admin.createKey(key.app)).keyId);
    const editing = edits.run();
    for (const fleet of [plain, stored]) fleet.talk();
    await flowing(plain, stored);
    const linesBefore = cluster.nodes.map(({ log }) => log.length);

    await fault.begin();
    for (const node of [one, other])
      await until("readiness says so", async () => {
        const { status, text } = await checksOf(node);
        return status === 503 && fault.says.test(text);
      });
    const outage = Bun.sleep(OUTAGE_MS);
    const refused = await Promise.all([
      app.call("POST", "/room", { roomName: fresh("never") }),
      room.tryJoin({ name: "Ben" }),
      app.call("PUT", `/room/${roomName}`, { enableChat: false }),
    ]);
    expect(refused.map(({ status, body }) => [status, (body.error as Json).code])).toEqual(
      refused.map(() => [503, "internal_error"]),
    );
    for (const node of [one, other]) {
      for (const [method, path, body] of [
        ["POST", "/apps", { name: fresh("never") }],
        ["POST", `/signalling/keys/${key.keyId}/rotate`, {}],
        ["DELETE", `/signalling/keys/${key.keyId}`],
      ] as const)
        expect((await node.admin.call(method, path, body)).status).toBe(503);
      const block = await call(`${node.url}/v1/peers/eve?blockSec=60`, { method: "DELETE", bearer: key.credential });
      expect(block.status).toBe(503);
      expect((await mint(node.url, key.credential)).status).toBe(200);
      expect((await node.admin.call("GET", "/apps")).status).toBe(200);
    }
    expect(await writes(ann, room)).toBe("backend_error");
    await outage;
    await fault.end();

    const tookMs = await edits.accepted(BACK_WITHIN_MS);
    for (const node of [one, other])
      await until("it is ready again", async () => (await checksOf(node)).status === 200, BACK_WITHIN_MS);
    edits.stop();
    await editing;
    await flowing(plain, stored);
    plain.hush();
    expect([...edits.statuses.keys()].sort()).toEqual([200, 503]);
    await edits.hold();
    const { errors, retries } = await judgeStored(`${name}, edits after ${Math.round(tookMs)} ms`, stored);
    expect(errors.backend_error).toBeGreaterThan(0);
    expect(retries).toBeGreaterThan(0);
    const { problems, figures } = await plain.settle(20_000);
    expect(problems).toEqual([]);
    expect(figures).toMatchObject({ closes: {}, errors: {} });
    await until("the room can be written to", async () => (await writes(ann, room)) === "ack");
    await room.join({ name: "Ben" });
    for (const [at, node] of cluster.nodes.entries()) {
      expect(await faultsOf(node)).toBe(0);
      expect(node.log.length - (linesBefore[at] ?? 0)).toBeLessThan(LOG_LINES_MAX);
    }
    ann.wire.drop();
  });
});

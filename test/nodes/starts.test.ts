/** Starts on PostgreSQL: a first start of several nodes at once, the master key, the folder of recordings; and commands. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { startNats } from "../../src/engine/testing/nats-server.ts";
import { freePort } from "../../src/testing/ports.ts";
import { tokenQuery } from "../conformance/raw/support/world.ts";
import { Admin, mint } from "../support/admin.ts";
import { newApplication } from "../support/application.ts";
import { call } from "../support/http.ts";
import { selfSigned } from "../support/jwt.ts";
import { launchParley, readFirstRun, runParley, type Server } from "../support/parley.ts";
import { Backend } from "../support/recordings.ts";
import { IS_FULL } from "../support/slack.ts";
import { removeFolder, scratch, tempFolder } from "../support/temp.ts";
import { until } from "../support/wait.ts";
import { Cluster, connect, refusal } from "./support/cluster.ts";

setDefaultTimeout(60_000);

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start({ nodes: 0 });
});
afterAll(() => cluster.stop());

async function refusedStart(env: Readonly<Record<string, string>>): Promise<string> {
  const data = tempFolder();
  const { code, output } = await runParley(["up", "--port", "0", "--data", data], env);
  removeFolder(data);
  expect(code).not.toBe(0);
  return output;
}

test("a start that is refused or interrupted leaves no demo for the next one, which does not want it", async () => {
  const database = await cluster.postgres.newDatabase();
  const env = { ...cluster.env, PARLEY_DATABASE_URL: database, PARLEY_STORAGE_SHARED: "off" };
  const apps = async (): Promise<number> => {
    await using sql = new SQL({ url: database, max: 1 });
    const [found] = await sql`SELECT COUNT(*) AS count FROM information_schema.tables WHERE table_name = 'apps'`;
    return Number(found.count) && Number((await sql`SELECT COUNT(*) AS count FROM apps`)[0].count);
  };
  expect(await refusedStart(env)).toContain("set PARLEY_STORAGE_SHARED=on");
  expect(await apps()).toBe(0);
  // NATS is asked for after the demo was made.
  const shared = { ...env, PARLEY_STORAGE_SHARED: "on" };
  const refused = await refusedStart({ ...shared, PARLEY_NATS_URL: "nats://127.0.0.1:1" });
  expect(refused).toMatch(/PARLEY_NATS_URL: no server is reachable there .*: start it, or correct the address/);
  expect(refused).toContain("This node waited for it for 10 seconds");
  const [node] = await cluster.add(1, { ...shared, PARLEY_DEMO: "off" });
  const { data } = await (node as Server).admin.must<{ data: object[] }>("GET", "/apps");
  expect(data).toEqual([]);
});

test("a node that starts before NATS waits for it, and says so", async () => {
  const port = await freePort();
  const env = { ...cluster.env, PARLEY_DATABASE_URL: await cluster.postgres.newDatabase() };
  const node = launchParley({ env: { ...env, PARLEY_NATS_URL: `nats://127.0.0.1:${port}` } });
  cluster.nodes.push(node);
  await node.logged(({ msg }) => /^PARLEY_NATS_URL: no server is reachable there/.test(msg));
  const nats = await startNats([], port);
  try {
    await node.logged(({ msg }) => msg === "parley is ready");
    await node.stop();
  } finally {
    await nats.stop();
  }
});

test("of several nodes that start on an empty database at once one creates the demo and the admin token, and all use them", async () => {
  const nodes = await cluster.add(3, { PARLEY_ADMIN_TOKEN: "" });
  const makers = nodes.filter(({ data }) => existsSync(join(data, "first-run.txt")));
  expect(makers).toHaveLength(1);
  const { adminToken, secretKey, publishableKey } = readFirstRun((makers[0] as Server).data);
  for (const node of nodes) {
    const { data } = await new Admin(node.url, adminToken).must<{ data: { name: string }[] }>("GET", "/apps");
    expect(data.map(({ name }) => name)).toEqual(["demo"]);
    expect((await mint(node.url, secretKey)).status).toBe(200);
    (await connect(node, `key=${publishableKey}`)).drop();
    // Their folders are declared as shared but are not: those of the later nodes look like a volume that is not mounted.
    const isFolder = (msg: string): boolean =>
      /recordings is empty and has no mark|^recordings cannot be stored/.test(msg);
    const lines = node.log.filter(({ level }) => level === "error" || level === "warn");
    expect(lines.filter(({ msg }) => !isFolder(msg))).toEqual([]);
  }
  // A new admin token is accepted by all running nodes within a second.
  const reset = await runParley(["admin", "reset-token", "--json", "--yes"], cluster.env);
  expect(reset.code).toBe(0);
  const { adminToken: fresh } = JSON.parse(/\{.*\}/s.exec(reset.output)?.[0] ?? "") as { adminToken: string };
  for (const node of nodes) {
    await until(
      "it accepts the new token",
      async () => (await new Admin(node.url, fresh).call("GET", "/apps")).status === 200,
    );
    // 429 if the new token was tried too many times before it was known: then the old token counts as a wrong one.
    expect([401, 429]).toContain((await new Admin(node.url, adminToken).call("GET", "/apps")).status);
  }
});

test("a master key is required", async () => {
  const output = await refusedStart({ ...cluster.env, PARLEY_MASTER_KEY: "" });
  expect(output).toContain("PARLEY_MASTER_KEY is required with PARLEY_DATABASE_URL");
});

test("a node with another master key reports it at its start, and responds 503 to calls that need it", async () => {
  const [right] = await cluster.add(1);
  const [wrong] = await cluster.add(1, { PARLEY_MASTER_KEY: randomBytes(32).toString("base64") });
  if (!right || !wrong) throw new Error("they are not there");
  const app = await right.admin.createApp();
  const key = await right.admin.createKey(app._id);
  expect(wrong.log.find(({ msg }) => msg.startsWith("the master key cannot decrypt"))).toBeDefined();
  const minted = await mint(wrong.url, key.credential);
  expect([minted.status, minted.body.error]).toEqual([503, "internal_error"]);
  expect((await mint(wrong.url, `${key.keyId}:wrong`)).status).toBe(401);
  const refused = await refusal(wrong, tokenQuery(selfSigned(key.keyId, key.secret)));
  expect([refused.status, refused.body.error]).toEqual([503, "internal_error"]);
  expect((await mint(right.url, key.credential)).status).toBe(200);
});

test("a folder of recordings that is not declared shared is refused with several nodes", async () => {
  const output = await refusedStart({ ...cluster.env, PARLEY_STORAGE_SHARED: "off" });
  expect(output).toContain("PARLEY_STORAGE_SHARED=on");
  expect(output).toContain("PARLEY_STORAGE_URL");
});

test("with PostgreSQL, a backup has recordings and names pg_dump, and a restore leaves the database alone", async () => {
  using folder = scratch();
  const data = folder.path;
  const env = { ...cluster.env, PARLEY_DATABASE_URL: await cluster.postgres.newDatabase() };
  const backup = await runParley(["backup", join(data, "file"), "--data", data], env);
  expect([backup.code, backup.output]).toEqual([0, expect.stringContaining("pg_dump")]);
  const restore = await runParley(["restore", join(data, "file"), "--data", data], env);
  expect([restore.code, restore.output]).toEqual([0, expect.stringMatching(/recordings.*pg_restore/s)]);
  expect(existsSync(join(data, "parley.sqlite"))).toBe(false);
  await using node = launchParley({ env });
  await node.logged(({ msg }) => msg === "parley is ready");
  const running = await runParley(["restore", join(data, "file"), "--data", data], env);
  expect([running.code, running.output]).toEqual([1, expect.stringContaining("stop every node first")]);
});

test.if(IS_FULL)("commands find a node that runs, if nodes that share their data folder stop", async () => {
  using folder = scratch();
  const env = { ...cluster.env, PARLEY_DATABASE_URL: await cluster.postgres.newDatabase() };
  const launched = async (): Promise<Server> => {
    const node = launchParley({ data: folder.path, env });
    await node.logged(({ msg }) => msg === "parley is ready");
    return node;
  };
  const list = (): ReturnType<typeof runParley> =>
    runParley(["apps", "list", "--data", folder.path], { PARLEY_OPERATOR_TOKEN: cluster.env.PARLEY_ADMIN_TOKEN ?? "" });
  const [first, second, third] = [await launched(), await launched(), await launched()];
  for (const node of [third, first]) {
    await node.kill("SIGTERM");
    expect((await list()).code).toBe(0);
  }
  await second.kill("SIGTERM");
  expect(await list()).toMatchObject({
    code: 1,
    output: expect.stringContaining(`no server is running on ${folder.path}`),
  });
});

test("a reset on a database without a first start is refused", async () => {
  const url = await cluster.postgres.newDatabase();
  const { code, output } = await runParley(["admin", "reset-token"], { ...cluster.env, PARLEY_DATABASE_URL: url });
  expect([code, output]).toEqual([1, expect.stringContaining("no server has been started on this database yet")]);
});

test("a fresh database beside a folder with recordings: all of them stay, and the start reports it", async () => {
  using folder = scratch();
  const data = folder.path;
  const start = async (): Promise<Server> => {
    const node = launchParley({
      data,
      env: { ...cluster.env, PARLEY_DATABASE_URL: await cluster.postgres.newDatabase() },
    });
    node.url = String((await node.logged(({ msg }) => msg === "parley is ready")).url);
    node.admin = new Admin(node.url, node.setToken);
    return node;
  };
  const files = (): string[] =>
    readdirSync(join(data, "recordings/files"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const swept = (node: Server): Promise<number> =>
    until("it has swept", async () =>
      (await call(`${node.url}/metrics`)).text.includes('parley_recording_sweeps_total{outcome="done"} 1'),
    );
  await using first = await start();
  const backend = new Backend(await newApplication(first));
  for (let i = 0; i < 3; i++) await backend.record();
  await swept(first);
  await first.kill("SIGTERM");
  const before = files();
  expect(before).toHaveLength(3);
  for (const path of before) utimesSync(path, 1, 1);
  await using other = await start();
  const warning = await other.logged(({ level }) => level === "warn");
  expect(warning.msg).toContain("belongs to another store");
  await swept(other);
  await other.kill("SIGTERM");
  expect(files()).toEqual(before);
});

/** `parley move` as operators run it: a service with clients, from its data folder to PostgreSQL and back. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Channel, Parley as Client } from "../../client/src/index.ts";
import { OfflineQueue } from "../../client/src/queue.ts";
import { seed } from "../../src/durable/move/testing/seed.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { freePort } from "../../src/testing/ports.ts";
import { mint } from "../support/admin.ts";
import { NO_RUNTIME_FOLDER, parleyCommand } from "../support/command.ts";
import { call, type Json } from "../support/http.ts";
import { refusedStart, runParley, type Server, startParley } from "../support/parley.ts";
import { IS_FULL } from "../support/slack.ts";
import { scratch } from "../support/temp.ts";
import { Terminal } from "../support/terminal.ts";
import { until } from "../support/wait.ts";

setDefaultTimeout(300_000);

const RULES = [{ pattern: "kept/*", history: { messages: 10_000, seconds: 3600 } }];
const ENV = {
  PARLEY_ADMIN_TOKEN: `admin_${crypto.randomUUID()}`,
  PARLEY_DEMO: "off",
  PARLEY_CONNECTS_PER_MINUTE_PER_IP: "0",
  PARLEY_DRAIN_SECONDS: "1",
};
const READERS = 5;

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.start();
});
afterAll(() => postgres.stop());

/** The URL without its password, which is in the environment instead. */
function parted(url: string): { readonly open: string; readonly password: string } {
  const parsed = new URL(url);
  const password = decodeURIComponent(parsed.password);
  parsed.password = "";
  return { open: parsed.href, password };
}

const masterKeyOf = (data: string): string => readFileSync(join(data, "master.key"), "utf8").trim();

test("a service is moved, starts only where it is then, and comes back with what it was sent there", async () => {
  using folder = scratch();
  const data = folder.path;
  const url = await postgres.newDatabase();
  const { open, password } = parted(url);
  const server = await startParley({ data, env: ENV });
  const app = await server.admin.createApp();
  await server.admin.must("PATCH", `/apps/${app._id}`, { channelRules: RULES });
  const { credential } = await server.admin.createKey(app._id);
  const publish = (at: Server, id: string): Promise<Json> =>
    call(`${at.url}/v1/channels/kept%2F1/publish`, { body: { data: id, id }, bearer: credential }).then(
      ({ status, body }) => ({ ...body, status }),
    );
  const first = await publish(server, "first");
  const whileRunning = await runParley(["move", "--to", url, "--data", data]);
  expect(whileRunning).toEqual({
    code: 1,
    output: expect.stringContaining(`is using ${data}: it serves ${server.url}`) as string,
  });
  await server.kill("SIGTERM");

  const there = await runParley(["move", "--to", open, "--data", data, "--json"], { PGPASSWORD: password });
  expect([there.code, there.output]).toEqual([0, expect.stringContaining('"verified":true') as string]);
  expect(there.output).toContain(`the text in ${join(data, "master.key")}`);
  for (const secret of [masterKeyOf(data), password, encodeURIComponent(password)])
    expect(there.output).not.toContain(secret);
  const result = JSON.parse(there.output.split("\n").find((line) => line.startsWith("{")) ?? "") as Json;
  expect(result).toMatchObject({
    tables: { apps: { rows: 1 }, history_messages: { rows: 1, written: 1, removed: 0 } },
    changedTexts: 0,
  });
  const refused = await refusedStart(data);
  expect([refused.code, refused.output]).toEqual([1, expect.stringContaining('run "parley move --reopen') as string]);

  const settings = { PARLEY_DATABASE_URL: url, PARLEY_MASTER_KEY: masterKeyOf(data) };
  const moved = await startParley({ data, env: { ...ENV, ...settings } });
  // A repeat is recognised, and new messages follow.
  expect(await publish(moved, "first")).toMatchObject({ status: 200, pos: first.pos });
  await publish(moved, "second");
  const inUse = await runParley(["move", "--from", "postgres", "--data", data], settings);
  expect(inUse).toEqual({
    code: 1,
    output: expect.stringMatching(
      /Parley is running on PostgreSQL at .*, with connections from 127\.0\.0\.1/,
    ) as string,
  });
  await moved.kill("SIGTERM");

  const back = await runParley(["move", "--from", "postgres", "--data", data], settings);
  expect([back.code, back.output]).toEqual([0, expect.stringMatching(/history_messages +2 +1 +0\n/) as string]);
  await using home = await startParley({ data, env: ENV });
  expect(await publish(home, "first")).toMatchObject({ pos: first.pos });
  const page = await call<{ messages: { data: string }[] }>(`${home.url}/v1/channels/kept%2F1/history`, {
    bearer: credential,
  });
  expect(page.body.messages.map((message) => message.data).sort()).toEqual(["first", "second"]);
});

test.if(IS_FULL)("clients recover over a move there and back: nothing is missing, nothing is repeated", async () => {
  using folder = scratch();
  const data = folder.path;
  const url = await postgres.newDatabase();
  const port = String(await freePort());
  const start = (env: Readonly<Record<string, string>> = {}): Promise<Server> =>
    startParley({ data, port, env: { ...ENV, ...env } });
  let server = await start();
  const key = { PARLEY_MASTER_KEY: masterKeyOf(data) };
  const app = await server.admin.createApp();
  await server.admin.must("PATCH", `/apps/${app._id}`, { channelRules: RULES });
  const { credential } = await server.admin.createKey(app._id);
  const tokens: string[] = [];
  for (let at = 0; at <= READERS; at++)
    tokens.push((await mint(server.url, credential, { peerId: `peer${at}`, expiresInSec: 3600 })).body.token);
  const clients = tokens.map((token) => new Client({ url: server.url, token: () => token, queue: new OfflineQueue() }));
  const channels = clients.map((client) => client.channel<number>("kept/1"));
  const [publisher, ...readers] = channels as [Channel<number>, ...Channel<number>[]];
  const read: number[][] = readers.map(() => []);
  const gaps: string[] = [];
  for (const [at, reader] of readers.entries()) {
    reader.on("message", (message) => read[at]?.push(message.data));
    reader.on("gap", ({ reason }) => gaps.push(reason));
    await reader.subscribed;
  }
  let isOver = false;
  let accepted = 0;
  const publishing = (async () => {
    for (let number = 1; !isOver; number++) {
      await publisher.publish(number);
      accepted = number;
    }
  })();
  const more = (): Promise<number> => {
    const want = accepted + 100;
    return until("messages are accepted", () => accepted >= want, 120_000);
  };
  const moved = async (way: "--to" | "--from"): Promise<void> => {
    await more();
    await server.kill("SIGTERM");
    const { code, output } = await runParley(["move", way, url, "--data", data], key);
    expect([code, output]).toEqual([0, output]);
  };

  await moved("--to");
  server = await start({ ...key, PARLEY_DATABASE_URL: url });
  await moved("--from");
  server = await start();
  await more();
  isOver = true;
  await publishing;
  await until("all readers have everything", () => read.every((list) => list.length >= accepted), 60_000);
  const all = Array.from({ length: accepted }, (_, at) => at + 1);
  for (const list of read) expect(list).toEqual(all);
  expect(gaps).toEqual([]);
  console.log(`${accepted} messages to ${READERS} clients, over two moves`);
  for (const client of clients) client.close();
  await server.stop();
});

test.if(IS_FULL)("Ctrl-C ends it with 130, and says that it can be continued", async () => {
  using folder = scratch();
  await seed(folder.path, 500, 100_000);
  const url = await postgres.newDatabase();
  const args = ["move", "--to", url, "--data", folder.path];
  await using terminal = new Terminal(parleyCommand(...args), { XDG_RUNTIME_DIR: NO_RUNTIME_FOLDER });
  await terminal.shows(/copying history_messages: \d+ of about \d+ rows/);
  terminal.type("\x03");
  expect(await terminal.exited).toBe(130);
  expect(terminal.text).toMatch(
    /Interrupted while copying, after \d+ rows: what was copied stays, and running the same command .* continues/,
  );
  expect((await runParley(args)).code).toBe(0);
});

/** The first section of docs/clustering.md, pasted into shells, with a PostgreSQL and a NATS of this test instead of Debian's services. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type NatsServer, startNats } from "../../src/engine/testing/nats-server.ts";
import { PostgresServer } from "../../src/store/testing/postgres.ts";
import { freePort } from "../../src/testing/ports.ts";
import type { Child } from "../docs/support/child.ts";
import { run } from "../docs/support/child.ts";
import { blocks, PROJECT } from "../docs/support/page.ts";
import { hold, paste, stay } from "../docs/support/shell.ts";
import { parleyCommand } from "../support/command.ts";
import { Parley } from "../support/parley.ts";
import { scratch } from "../support/temp.ts";

setDefaultTimeout(90_000);

const PAGE = "docs/clustering.md";
const all = blocks(PAGE);
const shell = all.filter(({ language, heading }) => language === "sh" && heading.startsWith("Try two nodes"));

const folder = scratch();
let postgres: PostgresServer;
let nats: NatsServer;
let replaced: readonly (readonly [string, string])[];
beforeAll(async () => {
  [postgres, nats] = await Promise.all([PostgresServer.start(), startNats()]);
  const [one, other] = [await freePort(), await freePort()];
  replaced = [
    ["sudo apt-get install -y postgresql nats-server\n", ""],
    ["sudo -u postgres ", ""],
    ["@127.0.0.1/realtime", `@127.0.0.1:${postgres.port}/realtime`],
    ["127.0.0.1:4222", `127.0.0.1:${nats.port}`],
    ["data-cluster", folder.path],
    ["8081", String(one)],
    ["8082", String(other)],
  ];
});
afterAll(async () => {
  await Promise.all([nats.stop(), postgres.stop()]);
  folder[Symbol.dispose]();
});

const used = new Set<string>();

/** The block of that number, as a user would paste it, but for what this test has elsewhere. */
function script(at: number): string {
  let text = shell[at]?.text ?? "";
  for (const [from, to] of replaced) {
    if (text.includes(from)) used.add(from);
    text = text.replaceAll(from, to);
  }
  return text;
}

/** For psql and createdb. */
const env = (): Record<string, string> => {
  const { username, password, port } = new URL(postgres.url("postgres"));
  return {
    PARLEY_LOG_FORMAT: "json",
    PGHOST: "127.0.0.1",
    PGPORT: port,
    PGUSER: decodeURIComponent(username),
    PGPASSWORD: decodeURIComponent(password),
    PGDATABASE: "postgres",
  };
};
const nothing = (): void => undefined;

test("two nodes on one machine: every command does what the page says", async () => {
  expect(shell).toHaveLength(6);
  hold(await paste(script(0), env()), [
    { command: /^psql -c /, holds: nothing },
    { command: /^createdb /, holds: nothing },
  ]);
  hold(await paste(script(1), env()), [
    { command: /^mkdir /, holds: nothing },
    { command: /^install -m 600 /, holds: nothing },
    ...Array.from({ length: 5 }, () => ({ command: /^echo "export PARLEY_/, holds: nothing })),
  ]);
  // It holds secrets, and the reader's shell keeps its own mask.
  expect(statSync(join(folder.path, "cluster.env")).mode & 0o777).toBe(0o600);
  expect(script(1)).not.toContain("umask");
  const nodes: Child[] = [2, 3].map((at) => stay(script(at), env()));
  try {
    // All addresses, so that other machines reach it.
    for (const node of nodes) await node.writes(/"host":"0\.0\.0\.0".*"msg":"parley is ready"/);
    await using listener = stay(script(4), env());
    await listener.writes(/"degraded":\[\].*"nats":"ok"/);
    await listener.writes(/name +fleet/);
    await listener.writes(/listening to chat\/1/);
    hold(await paste(script(5), env()), [
      { command: /^\. /, holds: nothing },
      { command: /^bin\/parley publish /, holds: nothing },
    ]);
    await listener.writes(/chat\/1 .*hello from the other node/);
  } finally {
    for (const node of nodes) await node.stop("SIGTERM");
  }
  expect(replaced.map(([from]) => from).filter((from) => !used.has(from))).toEqual([]);
});

test("the configuration of NATS is one", async () => {
  const [conf] = all.filter(({ language }) => language === "conf");
  const file = join(folder.path, "nats.conf");
  writeFileSync(file, (conf?.text ?? "").replace("10.0.0.20", "127.0.0.1"));
  const program = Bun.which("nats-server") ?? "/usr/sbin/nats-server";
  const { code, err } = await run([program, "-t", "-c", file]);
  expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining("error") as string });
  rmSync(file);
});

test("a node whose database begins with the demo listens on 127.0.0.1, and warns of it", async () => {
  const data = join(folder.path, "demo");
  const settings = {
    PARLEY_DATABASE_URL: await postgres.newDatabase(),
    PARLEY_NATS_URL: nats.url,
    PARLEY_MASTER_KEY: Buffer.alloc(32, 1).toString("base64"),
    PARLEY_STORAGE_SHARED: "on",
    PARLEY_LOG_FORMAT: "json",
  };
  await using node = new Parley(parleyCommand("up", "--port", "0", "--data", data), settings, data, false);
  const warned = await node.logged(({ msg }) => msg.includes("listens on 127.0.0.1 only"));
  expect([warned.level, warned.msg]).toEqual(["warn", expect.stringContaining("PARLEY_HOST=0.0.0.0") as string]);
  expect(await node.logged(({ msg }) => msg === "parley is ready")).toMatchObject({ host: "127.0.0.1" });
});

test("commands in the page's blocks can be pasted in the project's folder", () => {
  for (const { language, text } of all) if (language === "sh") expect(text).not.toMatch(/^\s*parley /m);
  expect(Bun.file(join(PROJECT, "bin/parley")).size).toBeGreaterThan(0);
});

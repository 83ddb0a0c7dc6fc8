/** Backup, restore and other commands on what a server keeps, as processes. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parleyCommand } from "../../../../test/support/command.ts";
import { IS_FULL } from "../../../../test/support/slack.ts";
import { Terminal } from "../../../../test/support/terminal.ts";
import { readArchive } from "../../../durable/archive/read.ts";
import { schemaVersion } from "../../../store/migrate.ts";
import { parley, startServer, temporaryFolder } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const folder = temporaryFolder();
const seed = join(folder, "seed");
let adminToken = "";
/** The results of commands while the server was running. */
let whileRunning: Awaited<ReturnType<typeof parley>>[] = [];

beforeAll(async () => {
  const server = await startServer(seed);
  adminToken = server.adminToken;
  const foreign = join(folder, "while-running.sqlite");
  almostStore(foreign);
  const commands = [
    ["admin", "reset-token", "--yes"],
    ["restore", foreign, "--yes"],
    ["up", "--port", "0"],
  ];
  try {
    whileRunning = await Promise.all(commands.map((args) => parley([...args, "--data", seed])));
    // The server still works.
    expect((await parley(["apps", "show", "demo"], { env: server.env })).exitCode).toBe(0);
  } finally {
    await server.stop();
  }
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A file that looks like a store, for a restore that must fail before it reads more. */
function almostStore(target: string): void {
  using db = new Database(target, { create: true });
  db.run(`PRAGMA application_id = ${0x50524c59}`);
  db.run("CREATE TABLE migrations (version BIGINT PRIMARY KEY, applied BIGINT NOT NULL)");
}

let folders = 0;
/** A new data folder, with the store and the master key of the seed. */
function newData(): string {
  const data = join(folder, `data-${++folders}`);
  mkdirSync(data);
  for (const file of ["parley.sqlite", "master.key", "first-run.txt"]) copyFileSync(join(seed, file), join(data, file));
  return data;
}

async function newBackup(data = newData()): Promise<string> {
  const file = join(folder, `backup-${++folders}.backup`);
  expect((await parley(["backup", file, "--data", data])).exitCode).toBe(0);
  return file;
}

test.if(IS_FULL)("a long backup shows how far it is on a terminal; Ctrl-C ends it with 130", async () => {
  const data = newData();
  const file = join(folder, "long.backup");
  {
    using db = new Database(join(data, "parley.sqlite"), { readwrite: true });
    db.run("CREATE TABLE padding (bytes BLOB)");
    db.run(
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) INSERT INTO padding SELECT randomblob(1000000) FROM n",
    );
  }
  await using terminal = new Terminal(parleyCommand("backup", file, "--data", data));
  await terminal.shows(/copying: [1-9][\d.]* \w+ of about 9\d\d\.\d MiB/);
  terminal.type("\x03");
  expect(await terminal.exited).toBe(130);
  expect(terminal.text).toMatch(/Interrupted after .*: the partial copy was removed/);
  expect(readdirSync(folder).filter((name) => name.startsWith("long"))).toEqual([]);
});

test("while the server is running, no command changes its store", () => {
  for (const { exitCode, stdout, stderr } of whileRunning) {
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`another Parley process is using ${seed}: it serves http://127.0.0.1:`);
  }
  expect(readdirSync(seed).sort()).toEqual([
    "first-run.txt",
    "history.sqlite",
    "master.key",
    "parley.sqlite",
    "recordings",
    "servers",
  ]);
});

/** The files of a backup, in a folder of their own. */
async function filesOf(backup: string, key?: string): Promise<string> {
  const into = join(folder, `files-${++folders}`);
  const archive = await readArchive(Bun.file(backup).stream(), { key: key ? Buffer.from(key, "base64") : undefined });
  for await (const { name, bytes } of archive.entries) {
    mkdirSync(dirname(join(into, name)), { recursive: true });
    writeFileSync(join(into, name), Buffer.concat(await Array.fromAsync(bytes)));
  }
  return into;
}

test("a backup is one file that only its owner can read, and a note says that the master key is not in it", async () => {
  const data = newData();
  const file = join(folder, "one.backup");
  const made = await parley(["backup", file, "--data", data]);
  expect([made.exitCode, made.stderr]).toEqual([
    0,
    `It does not contain the master key: store ${join(data, "master.key")} separately. Without it, the secrets in this backup are lost.\n`,
  ]);
  expect(made.stdout).toMatch(
    new RegExp(`^file +${file}\nbytes +${statSync(file).size}\nat +20[^\n]+Z\nrecordings +copied\nencrypted +no\n$`),
  );
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder).filter((name) => name.includes("one.backup."))).toEqual([]);
  expect(readdirSync(data).sort()).toEqual(["first-run.txt", "master.key", "parley.sqlite"]);
  expect(readdirSync(await filesOf(file)).sort()).toEqual(["parley.sqlite"]);
});

test("with --with-master-key and PARLEY_BACKUP_KEY, a backup is encrypted and restores on an empty machine", async () => {
  const data = newData();
  const env = { PARLEY_BACKUP_KEY: Buffer.alloc(32, 7).toString("base64") };
  const file = join(folder, "sealed.backup");
  const made = await parley(["backup", file, "--data", data, "--with-master-key", "--json"], { env });
  expect(JSON.parse(made.stdout)).toMatchObject({ file, encrypted: true, masterKeyIncluded: true });
  const masterKey = readFileSync(join(data, "master.key"), "utf8");
  for (const secret of [masterKey.trim(), "SQLite format 3"]) expect(readFileSync(file).includes(secret)).toBe(false);
  const empty = join(folder, "empty-machine");
  const withoutKey = await parley(["restore", file, "--data", empty]);
  expect([withoutKey.exitCode, withoutKey.stderr]).toEqual([1, expect.stringContaining("PARLEY_BACKUP_KEY")]);
  const otherKey = { PARLEY_BACKUP_KEY: Buffer.alloc(32, 8).toString("base64") };
  const wrong = await parley(["restore", file, "--data", empty], { env: otherKey });
  expect([wrong.exitCode, wrong.stderr]).toEqual([1, expect.stringContaining("encrypted with another key")]);
  expect(existsSync(join(empty, "parley.sqlite"))).toBe(false);
  expect((await parley(["restore", file, "--data", empty], { env })).exitCode).toBe(0);
  expect(readFileSync(join(empty, "master.key"), "utf8")).toBe(masterKey);
  expect(statSync(join(empty, "master.key")).mode & 0o777).toBe(0o600);
});

test("a backup replaces a file only with --force", async () => {
  const data = newData();
  const file = join(folder, "kept");
  writeFileSync(file, "mine");
  const refused = await parley(["backup", file, "--data", data]);
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("already")]);
  expect(readFileSync(file, "utf8")).toBe("mine");
  expect((await parley(["backup", file, "--data", data, "--force"])).exitCode).toBe(0);
  expect(readdirSync(await filesOf(file))).toContain("parley.sqlite");
});

test("in a folder, a backup gets a name by its time, and a restore takes the newest", async () => {
  const data = newData();
  const to = join(folder, "many/");
  for (let i = 0; i < 2; i++) expect((await parley(["backup", to, "--data", data])).exitCode).toBe(0);
  const names = readdirSync(to).sort();
  expect(names).toEqual([expect.stringMatching(/^parley-\d{8}T\d{6}Z.*\.backup$/), expect.any(String)]);
  const restored = await parley(["restore", to, "--data", data, "--yes"]);
  expect(restored.exitCode).toBe(0);
});

test("without a store, backup and reset-token fail and create none", async () => {
  const data = join(folder, "nowhere");
  for (const args of [
    ["backup", join(folder, "nothing")],
    ["admin", "reset-token"],
  ]) {
    const { exitCode, stderr } = await parley([...args, "--data", data]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`${data} has no store`)]);
  }
  expect(existsSync(data)).toBe(false);
});

test("a restored store serves with its old keys, and replaces an existing one only with --yes or --force", async () => {
  const backup = await newBackup();
  const data = newData();
  const refused = await parley(["restore", backup, "--data", data]);
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    `parley: nothing was changed, because there is no terminal to ask for confirmation: add --yes to replace the store in ${data}; its files are kept in before-restore until the next restore\n`,
  ]);
  const forced = await parley(["restore", backup, "--data", data, "--yes", "--json"]);
  expect(forced.exitCode).toBe(0);
  expect(JSON.parse(forced.stdout)).toMatchObject({ data, schema: schemaVersion(), masterKey: "fits", recordings: 0 });
  expect(forced.stderr).toContain(`The replaced files are in ${join(data, "before-restore")}`);
  expect(readdirSync(data).sort()).toEqual([
    "before-restore",
    "first-run.txt",
    "master.key",
    "parley.sqlite",
    "recordings",
  ]);
  expect(readdirSync(join(data, "before-restore"))).toContain("parley.sqlite");
  expect(statSync(join(data, "parley.sqlite")).mode & 0o777).toBe(0o600);
  const server = await startServer(data);
  try {
    const listed = await parley(["apps", "list"], { env: { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: adminToken } });
    expect(listed.stdout).toMatch(/^demo /m);
    expect((await parley(["token", "mint", "--peer", "a"], { env: server.env })).exitCode).toBe(0);
  } finally {
    await server.stop();
  }
});

test("a backup after a crash has the last changes, and a restore over a crashed store does not", async () => {
  const data = newData();
  const old = await newBackup();
  const server = await startServer(data);
  try {
    expect((await parley(["apps", "create", "late"], { env: server.env })).exitCode).toBe(0);
  } finally {
    await server.stop("SIGKILL");
  }
  expect(statSync(join(data, "parley.sqlite-wal")).size).toBeGreaterThan(0);
  const crashed = join(folder, "crashed");
  cpSync(data, crashed, { recursive: true });
  expect(namesIn(join(await filesOf(await newBackup(data)), "parley.sqlite"))).toEqual(["demo", "late"]);

  // The log of the crashed store must not be applied to the restored file.
  expect((await parley(["restore", old, "--data", crashed, "--force"])).exitCode).toBe(0);
  expect(existsSync(join(crashed, "parley.sqlite-wal"))).toBe(false);
  expect(namesIn(join(crashed, "parley.sqlite"))).toEqual(["demo"]);
});

function namesIn(store: string): string[] {
  using db = new Database(store, { readonly: true });
  return db
    .query<{ name: string }, []>("SELECT name FROM apps ORDER BY name")
    .all()
    .map((row) => row.name);
}

test("a restore names a master key that is missing or does not fit before it changes anything", async () => {
  const backup = await newBackup();
  const data = join(folder, "fresh", "data");
  const missing = await parley(["restore", backup, "--data", data]);
  expect([missing.exitCode, missing.stderr]).toEqual([1, expect.stringContaining("there is no master key")]);
  const env = { PARLEY_MASTER_KEY: Buffer.alloc(32).toString("base64") };
  const other = await parley(["restore", backup, "--data", data], { env });
  expect([other.exitCode, other.stderr]).toEqual([1, expect.stringContaining("the master key is a different one")]);
  expect(existsSync(join(data, "parley.sqlite"))).toBe(false);
  const without = await parley(["restore", backup, "--data", data, "--without-master-key", "--json"]);
  expect(JSON.parse(without.stdout)).toMatchObject({ data, masterKey: "missing" });
  expect(without.stderr).toContain("Warning: the secrets cannot be read");
});

test("a single file that 0.1.0 has written is restored; messages stay as they are", async () => {
  const file = join(await filesOf(await newBackup()), "parley.sqlite");
  const data = newData();
  writeFileSync(join(data, "history.sqlite"), "");
  expect((await parley(["restore", file, "--data", data, "--yes"])).exitCode).toBe(0);
  expect(readdirSync(data).sort()).toEqual([
    "before-restore",
    "first-run.txt",
    "history.sqlite",
    "master.key",
    "parley.sqlite",
  ]);
});

test("a damaged store can be replaced by a backup", async () => {
  const backup = await newBackup();
  const data = newData();
  writeFileSync(join(data, "parley.sqlite"), "not a database any more, and long enough to be read as a header");
  writeFileSync(join(data, "parley.sqlite-wal"), "nor this");
  expect((await parley(["restore", backup, "--data", data, "--force"])).exitCode).toBe(0);
  expect(existsSync(join(data, "parley.sqlite-wal"))).toBe(false);
  const appsIn = (path: string): unknown[] => {
    using db = new Database(path, { readonly: true });
    return db.query("SELECT * FROM apps").all();
  };
  expect(appsIn(join(data, "parley.sqlite"))).toEqual(appsIn(join(await filesOf(backup), "parley.sqlite")));
});

test("a restored store has no sessions of the dashboard, and its audit names the restore", async () => {
  const data = newData();
  const path = join(data, "parley.sqlite");
  alter(path, "INSERT INTO dashboard_sessions VALUES ('d', NULL, 'c', 1, 9999999999999)");
  const backup = join(folder, "with-session.backup");
  expect((await parley(["backup", backup, "--data", data])).exitCode).toBe(0);
  expect((await parley(["restore", backup, "--data", data, "--force"])).exitCode).toBe(0);
  using db = new Database(path, { readonly: true });
  expect(db.query("SELECT * FROM dashboard_sessions").all()).toEqual([]);
  expect(db.query("SELECT who, what, target FROM audit ORDER BY id DESC LIMIT 1").get()).toEqual({
    who: "command line",
    what: "store restored",
    target: "with-session.backup",
  });
});

test("a file that is not a complete backup of Parley is refused before anything is changed", async () => {
  const whole = await newBackup();
  const good = join(await filesOf(whole), "parley.sqlite");
  const data = newData();
  const before = readFileSync(join(data, "parley.sqlite"));
  const bad = (name: string, change: (path: string) => void): string => {
    const path = join(folder, name);
    copyFileSync(good, path);
    change(path);
    return path;
  };
  const cases: [string, string][] = [
    [join(folder, "absent"), "there is no file"],
    [folder, "there is no backup in"],
    [bad("text", (path) => writeFileSync(path, "hello, this is text")), "not a Parley backup"],
    [bad("short", (path) => writeFileSync(path, readFileSync(whole).subarray(0, -100))), "is incomplete"],
    [bad("flipped", (path) => writeFileSync(path, flipped(readFileSync(whole)))), "is damaged"],
    [bad("other-app", (path) => alter(path, "PRAGMA application_id = 7")), "is not a Parley backup"],
    [bad("newer", (path) => alter(path, "INSERT INTO migrations VALUES (9999, 0)")), "was made by a newer Parley"],
    [bad("no-migrations", (path) => alter(path, "DROP TABLE migrations")), "is damaged: no such table: migrations"],
    [bad("cut", (path) => writeFileSync(path, readFileSync(good).subarray(0, 8192))), "is damaged"],
    [bad("hole", (path) => writeFileSync(path, readFileSync(good).fill(0x5a, 8192))), "is damaged"],
    [bad("live", (path) => writeFileSync(`${path}-wal`, "changes")), "is a store, not a backup"],
  ];
  const ended = [];
  for (const [file] of cases) ended.push(await parley(["restore", file, "--data", data, "--force"]));
  for (const [at, { exitCode, stdout, stderr }] of ended.entries())
    expect([exitCode, stdout, stderr]).toEqual([1, "", expect.stringContaining(cases[at]?.[1] ?? "")]);
  expect(readFileSync(join(data, "parley.sqlite")).equals(before)).toBe(true);
  expect(readdirSync(data).sort()).toEqual(["first-run.txt", "master.key", "parley.sqlite"]);
});

function flipped(bytes: Buffer): Buffer {
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  return bytes;
}

function alter(path: string, statement: string): void {
  using db = new Database(path, { readwrite: true });
  db.run(statement);
}

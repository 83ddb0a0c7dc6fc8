/** Commands on the store of a stopped server, as processes. */
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
import { join } from "node:path";
import { parleyCommand } from "../../../../test/support/command.ts";
import { IS_FULL } from "../../../../test/support/slack.ts";
import { Terminal } from "../../../../test/support/terminal.ts";
import { backupStore } from "../../../store/backup.ts";
import { CopyInterrupted } from "../../../store/copy-store.ts";
import { schemaVersion } from "../../../store/migrate.ts";
import { parley, startServer, temporaryFolder } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const folder = temporaryFolder();
const seed = join(folder, "seed");
let adminToken = "";
let appSecret = "";
/** The results of commands while the server was running. */
let whileRunning: Awaited<ReturnType<typeof parley>>[] = [];

beforeAll(async () => {
  const server = await startServer(seed);
  adminToken = server.adminToken;
  appSecret = server.env.PARLEY_APP_SECRET ?? "";
  const foreign = join(folder, "while-running.sqlite");
  almostStore(foreign);
  const commands = [
    ["backup", join(folder, "never")],
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
  const file = join(folder, `backup-${++folders}.sqlite`);
  expect((await parley(["backup", file, "--data", data])).exitCode).toBe(0);
  return file;
}

test("a backup that is interrupted leaves nothing behind, and says how far it was", async () => {
  const data = newData();
  const file = join(folder, "interrupted.sqlite");
  const interrupt = new AbortController();
  const made = backupStore(data, file, false, { signal: interrupt.signal });
  interrupt.abort();
  expect(await made.catch((error: unknown) => error)).toBeInstanceOf(CopyInterrupted);
  expect(readdirSync(folder).filter((name) => name.startsWith("interrupted"))).toEqual([]);
});

test.if(IS_FULL)("a long backup shows how far it is on a terminal; Ctrl-C ends it with 130", async () => {
  const data = newData();
  const file = join(folder, "long.sqlite");
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
  expect(terminal.text).toMatch(/Interrupted after .*: what was copied is removed/);
  expect(readdirSync(folder).filter((name) => name.startsWith("long"))).toEqual([]);
});

test("while the server is running, no command changes its store", () => {
  for (const { exitCode, stdout, stderr } of whileRunning) {
    expect([exitCode, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(`another Parley process is using ${seed}: it serves http://127.0.0.1:`);
  }
  expect(existsSync(join(folder, "never"))).toBe(false);
  expect(readdirSync(seed).sort()).toEqual([
    "first-run.txt",
    "history.sqlite",
    "master.key",
    "parley.sqlite",
    "recordings",
    "servers",
  ]);
});

test("a backup is one file that only its owner can read, and a note says that the master key is not in it", async () => {
  const data = newData();
  const file = join(folder, "one.sqlite");
  const made = await parley(["backup", file, "--data", data]);
  expect([made.exitCode, made.stdout]).toEqual([0, `file   ${file}\nbytes  ${statSync(file).size}\n`]);
  expect(made.stderr).toContain(`The master key is NOT in it: keep ${join(data, "master.key")} in another place`);
  expect(made.stderr).toContain("copy history.sqlite");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder).filter((name) => name.includes("partial") || name.startsWith("one.sqlite-"))).toEqual([]);
  expect(readFileSync(file).includes(readFileSync(join(data, "master.key"), "utf8").trim())).toBe(false);
});

test("a backup replaces a file only with --force", async () => {
  const data = newData();
  const file = join(folder, "kept");
  writeFileSync(file, "mine");
  const refused = await parley(["backup", file, "--data", data]);
  expect([refused.exitCode, refused.stderr]).toEqual([2, expect.stringContaining("exists already")]);
  expect(readFileSync(file, "utf8")).toBe("mine");
  const forced = await parley(["backup", file, "--data", data, "--force", "--json"]);
  expect(JSON.parse(forced.stdout)).toEqual({ file, bytes: statSync(file).size, masterKeyIncluded: false });
  const itself = await parley(["backup", join(data, "parley.sqlite"), "--data", data, "--force"]);
  expect([itself.exitCode, itself.stderr]).toEqual([2, expect.stringContaining("is the store itself")]);
});

test("without a store, backup and reset-token fail and create none", async () => {
  const data = join(folder, "nowhere");
  for (const args of [
    ["backup", join(folder, "nothing")],
    ["admin", "reset-token"],
  ]) {
    const { exitCode, stderr } = await parley([...args, "--data", data]);
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`there is no store in ${data}`)]);
  }
  expect(existsSync(data)).toBe(false);
});

test("a restored store serves with its old keys, and replaces an existing one only with --yes or --force", async () => {
  const backup = await newBackup();
  const data = newData();
  const refused = await parley(["restore", backup, "--data", data]);
  expect([refused.exitCode, refused.stderr]).toEqual([
    2,
    `parley: nothing was changed, because there is no terminal to ask on: add --yes to replace the store in ${data}, which is lost then\n`,
  ]);
  const forced = await parley(["restore", backup, "--data", data, "--yes"]);
  expect(forced).toEqual({
    exitCode: 0,
    stdout: `store       ${join(data, "parley.sqlite")}\nschema      ${schemaVersion()}\nmaster key  fits\n`,
    stderr: "",
  });
  expect(readdirSync(data).sort()).toEqual(["first-run.txt", "master.key", "parley.sqlite"]);
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
  expect(namesIn(await newBackup(data))).toEqual(["demo", "late"]);

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

test("a restore warns if the master key is missing or does not fit", async () => {
  const backup = await newBackup();
  const data = join(folder, "fresh", "data");
  const missing = await parley(["restore", backup, "--data", data, "--json"]);
  expect(JSON.parse(missing.stdout)).toMatchObject({ store: join(data, "parley.sqlite"), masterKey: "missing" });
  expect(missing.stderr).toContain(
    `Warning: there is no master key: put the master key of the time of the backup at ${data}`,
  );
  const env = { PARLEY_MASTER_KEY: Buffer.alloc(32).toString("base64") };
  const other = await parley(["restore", backup, "--data", data, "--force"], { env });
  expect([other.exitCode, other.stderr]).toEqual([0, expect.stringContaining("does not open the secrets")]);
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
  expect(appsIn(join(data, "parley.sqlite"))).toEqual(appsIn(backup));
});

test("a restored store has no sessions of the dashboard, and its audit names the restore", async () => {
  const data = newData();
  const path = join(data, "parley.sqlite");
  alter(path, "INSERT INTO dashboard_sessions VALUES ('d', NULL, 'c', 1, 9999999999999)");
  const backup = join(data, "with-session.sqlite");
  expect((await parley(["backup", backup, "--data", data])).exitCode).toBe(0);
  expect((await parley(["restore", backup, "--data", data, "--force"])).exitCode).toBe(0);
  using db = new Database(path, { readonly: true });
  expect(db.query("SELECT * FROM dashboard_sessions").all()).toEqual([]);
  expect(db.query("SELECT who, what, target FROM audit ORDER BY id DESC LIMIT 1").get()).toEqual({
    who: "command line",
    what: "store restored",
    target: "with-session.sqlite",
  });
});

test("a file that is not a complete backup of Parley is refused before anything is changed", async () => {
  const good = await newBackup();
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
    [folder, "is not a file"],
    [bad("text", (path) => writeFileSync(path, "hello")), "is not a backup of Parley"],
    [bad("other-app", (path) => alter(path, "PRAGMA application_id = 7")), "is not a backup of Parley"],
    [bad("newer", (path) => alter(path, "INSERT INTO migrations VALUES (9999, 0)")), "was made by a newer Parley"],
    [bad("no-migrations", (path) => alter(path, "DROP TABLE migrations")), "is damaged: no such table: migrations"],
    [bad("cut", (path) => writeFileSync(path, readFileSync(good).subarray(0, 8192))), "is damaged"],
    [bad("hole", (path) => writeFileSync(path, readFileSync(good).fill(0x5a, 8192))), "is damaged"],
    [bad("live", (path) => writeFileSync(`${path}-wal`, "changes")), "is a store and not a backup"],
  ];
  const ended = await Promise.all(cases.map(([file]) => parley(["restore", file, "--data", data, "--force"])));
  for (const [at, { exitCode, stdout, stderr }] of ended.entries())
    expect([exitCode, stdout, stderr]).toEqual([1, "", expect.stringContaining(cases[at]?.[1] ?? "")]);
  expect(readFileSync(join(data, "parley.sqlite")).equals(before)).toBe(true);
  expect(readdirSync(data).sort()).toEqual(["first-run.txt", "master.key", "parley.sqlite"]);
});

function alter(path: string, statement: string): void {
  using db = new Database(path, { readwrite: true });
  db.run(statement);
}

test("a new admin token works, and the old one no longer does", async () => {
  const data = newData();
  const refused = await parley(["admin", "reset-token", "--data", data]);
  expect([refused.exitCode, refused.stdout, refused.stderr]).toEqual([2, "", expect.stringContaining("add --yes")]);
  const reset = await parley(["admin", "reset-token", "--data", data, "--yes"]);
  expect(reset.stderr).toBe("The admin token is shown only this once: save it now.\n");
  const env = { PARLEY_ADMIN_TOKEN: "set-by-the-operator" };
  const second = await parley(["admin", "reset-token", "--data", data, "--json", "--yes"], { env });
  expect(second.stderr).toContain("PARLEY_ADMIN_TOKEN is set: a server started with it uses that token");
  const { adminToken: newest } = JSON.parse(second.stdout) as { adminToken: string };
  const server = await startServer(data);
  try {
    const env = { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: newest };
    const { stdout } = await parley(["audit", "--what", "admin token reset", "--json"], { env });
    const entries = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    const entry = { who: "command line", what: "admin token reset", on: "admin", app: null, address: null };
    expect(entries).toEqual([expect.objectContaining(entry), expect.objectContaining(entry)]);
    const codes = [newest, reset.stdout.trim(), adminToken].map(async (token) => {
      const { exitCode } = await parley(["apps", "list"], {
        env: { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: token },
      });
      return exitCode;
    });
    expect(await Promise.all(codes)).toEqual([0, 1, 1]);
  } finally {
    await server.stop();
  }
});

test("a server is not set to the secret key of one of its applications as its admin token", async () => {
  const args = ["up", "--port", "0", "--data", newData()];
  const { exitCode, stderr } = await parley(args, { env: { PARLEY_ADMIN_TOKEN: appSecret } });
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringContaining("parley: PARLEY_ADMIN_TOKEN is the secret key of the application demo"),
  ]);
  expect(stderr).not.toContain(appSecret);
});

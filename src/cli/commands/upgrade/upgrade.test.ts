/** `parley upgrade`: what it finds in data folders, without changing them. PostgreSQL is in src/store/engines/postgres.test.ts. */
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HISTORY_SCHEMA, historyFile, SCHEMA } from "../../../history/sqlite/file.ts";
import { noteVersion } from "../../../store/identity.ts";
import { schemaVersion } from "../../../store/migrate.ts";
import { INCOMPLETE_NOTE, MOVED_NOTE } from "../../../store/moves.ts";
import { openSqlite, openStore, sqliteFile } from "../../../store/open.ts";
import { fillAsVersion } from "../../../store/testing/older.ts";
import { newFolders } from "../../../store/testing/places.ts";
import { VERSION } from "../../../version.ts";
import { Input } from "../../line/input.ts";
import { EARLIER_RELEASES } from "./releases.ts";
import { settingChanges } from "./settings-changes.ts";
import { upgrade } from "./upgrade.ts";

const PROJECT = join(import.meta.dir, "../../../..");
const newFolder = newFolders();

const check = (data: string, env: Record<string, string> = {}) =>
  upgrade(
    new Input(
      [],
      new Map([
        ["check", ""],
        ["data", data],
      ]),
      env,
    ),
  );

/** A data folder as 0.1.0 has left it. */
async function oldFolder(): Promise<string> {
  const folder = newFolder();
  const sql = await openSqlite(sqliteFile(folder));
  await fillAsVersion(sql, 16);
  await sql.close();
  using history = new Database(historyFile(folder), { create: true });
  history.run(SCHEMA);
  history.run("PRAGMA user_version = 1");
  return folder;
}

describe("--check", () => {
  test("a folder of 0.1.0: what a start would do, and nothing of it is done", async () => {
    const folder = await oldFolder();
    const before = readdirSync(folder).sort();
    const { value, text, refused } = await check(folder);
    expect(refused).toBe(false);
    expect(value).toMatchObject({
      version: VERSION,
      found: "0.1.0",
      store: {
        schema: 16,
        schemaAfter: schemaVersion(),
        migrations: expect.arrayContaining(["0017_stay_renames", "0022_usage_writers"]),
        copy: { file: join(folder, "before-upgrade", "parley-schema-16.sqlite"), fits: true },
      },
      history: { schema: 1, schemaAfter: HISTORY_SCHEMA, copy: { fits: true } },
      server: { state: "stopped" },
      problems: [],
    });
    expect(text).toContain(`schema 16 → ${schemaVersion()} (0017_stay_renames`);
    expect(text).toContain("a start of this version upgrades it; earlier versions do not start on it afterwards");
    expect(readdirSync(folder).sort()).toEqual(before);
  });

  test("a folder of this version, and an empty one: nothing changes", async () => {
    const [own, empty] = [newFolder(), join(newFolder(), "not-there")];
    const store = await openStore(own);
    await noteVersion(store, VERSION);
    await store.close();
    expect((await check(own)).value).toMatchObject({
      found: VERSION,
      store: { copy: null, migrations: [] },
      seconds: 0,
    });
    expect((await check(own)).text).toContain("a start of this version changes no schema");
    expect((await check(empty)).text).toContain("a start makes a new store");
    expect(existsSync(empty)).toBe(false);
  });

  test("a folder of a newer version: a start would fail, and so does the check", async () => {
    const folder = newFolder();
    const sql = await openSqlite(sqliteFile(folder));
    await sql`INSERT INTO migrations (version, applied) VALUES (9999, 0)`;
    await sql.close();
    const { refused, text } = await check(folder);
    expect(refused).toBe(true);
    expect(text).toContain("a start would fail: the store was written by a newer Parley: its schema is 9999");
  });

  test.each([
    ["was moved away", MOVED_NOTE, { to: "PostgreSQL at db", atMs: 0 }, "this store was moved to PostgreSQL at db"],
    [
      "is an incomplete copy",
      INCOMPLETE_NOTE,
      { source: "id", from: "PostgreSQL at db", command: "parley move …" },
      "this store is an incomplete copy of PostgreSQL at db",
    ],
  ])("a store that %s: a start would fail, and so does the check", async (_, name, note, why) => {
    const folder = newFolder();
    const store = await openStore(folder);
    await store.change((change) => change.putMeta(name, JSON.stringify(note)));
    await store.close();
    const { refused, text } = await check(folder);
    expect([refused, text]).toEqual([true, expect.stringContaining(`a start would fail: ${why}`)]);
  });

  test.skipIf(!existsSync("/proc/locks"))(
    "a server that has written no note is seen by its lock, and not disturbed",
    async () => {
      const folder = await oldFolder();
      const script = `import { openSqlite } from "${join(import.meta.dir, "../../../store/open.ts")}";
      const sql = await openSqlite(${JSON.stringify(sqliteFile(folder))});
      console.log("open");
      for await (const _ of console) { await sql\`INSERT INTO migrations (version, applied) VALUES (17, 1)\`; break; }
      await sql.close();`;
      const server = Bun.spawn([process.execPath, "-e", script], { stdin: "pipe", stdout: "pipe" });
      await server.stdout.getReader().read();
      const { value, text } = await check(folder);
      expect(value).toMatchObject({ store: { schema: 16 }, server: { state: "running", version: null } });
      expect(text).toContain(`running: process ${server.pid}; stop it before you start this version`);
      server.stdin.write("\n");
      await server.stdin.end();
      expect(await server.exited).toBe(0);
      expect((await check(folder)).value).toMatchObject({ store: { schema: 17 }, server: { state: "stopped" } });
    },
  );

  test("a log that is left says that a server was killed, or cannot be seen", async () => {
    const folder = await oldFolder();
    writeFileSync(`${sqliteFile(folder)}-wal`, "x".repeat(100));
    expect((await check(folder)).text).toContain(
      "not clear: the last server was killed, or one is running in another container",
    );
  });
});

test("without --check it upgrades nothing, and names the way of each form of installation", async () => {
  const { value, text, refused } = await upgrade(new Input([], new Map(), {}));
  expect([refused, value]).toMatchObject([true, { upgraded: false }]);
  const page = readFileSync(join(PROJECT, "docs/install.md"), "utf8");
  const forms = [...page.matchAll(/^\| (?:\[([^\]]+)\]\([^)]*\)|(a clone)) \|/gm)].map(
    ([, link, plain]) => link ?? plain,
  );
  expect(forms.length).toBeGreaterThan(5);
  for (const form of forms) expect(text).toContain(form as string);
});

test("settings that are new, and those that are set and gone", () => {
  const env = { PARLEY_OLD: "1", PARLEY_PORT: "1", PARLEY_UNSET: "" };
  expect(settingChanges({ settings: ["PORT", "OLD", "UNSET"] }, env, ["PARLEY_PORT", "PARLEY_NEW"])).toEqual({
    added: ["PARLEY_NEW"],
    gone: ["PARLEY_OLD"],
  });
});

describe("the table of earlier releases", () => {
  const changelog = readFileSync(join(PROJECT, "CHANGELOG.md"), "utf8");
  const released = [...changelog.matchAll(/^## (\S+) \(\d{4}-/gm)].map(([, version]) => version);
  const git = (...args: string[]): string => Bun.spawnSync(["git", "-C", PROJECT, ...args]).stdout.toString();
  const [, commit = ""] = /^## 0\.1\.0 .*\n[^#]*?\bcommit ([0-9a-f]{40})\b/m.exec(changelog) ?? [];

  test("has those of CHANGELOG.md", () => {
    expect(EARLIER_RELEASES.map(({ version }) => version as string | undefined)).toEqual(
      released.filter((version) => version !== VERSION),
    );
  });

  test.skipIf(git("cat-file", "-t", commit).trim() !== "commit")("has the schemas and settings of 0.1.0", () => {
    const first = EARLIER_RELEASES.find(({ version }) => version === "0.1.0");
    const files = (folder: string): string[] => git("ls-tree", "--name-only", commit, folder).trim().split("\n");
    expect(first?.schema).toBe(
      Number(
        files("src/store/migrations/")
          .at(-1)
          ?.replace(/^.*\/(\d+)_.*$/, "$1"),
      ),
    );
    expect(first?.postgresHistorySchema).toBe(files("src/history/migrations/").length);
    const history = git("show", `${commit}:src/history/sqlite-file.ts`);
    expect(first?.historySchema).toBe(Number(/SCHEMA_VERSION = (\d+)/.exec(history)?.[1]));
    const settings = git("show", `${commit}:src/config/settings.ts`).matchAll(/env: "PARLEY_(\w+)"/g);
    expect(first?.settings).toEqual([...settings].map(([, name = ""]) => name).sort());
  });
});

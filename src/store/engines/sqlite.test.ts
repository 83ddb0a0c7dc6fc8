/** The embedded store: the suite of every store, and what only SQLite has. */
import { describe, expect, test } from "bun:test";
import { existsSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { openSqlite, openStore, sqliteFile } from "../open.ts";
import { fillAsVersion } from "../testing/older.ts";
import { newFolders, sqlitePlaces } from "../testing/places.ts";
import { storeSuite } from "../testing/store.suite.ts";
import { expectUpgraded, VERSION_WITHOUT_MEETINGS } from "../testing/suite-upgrade.ts";
import { leaseOf } from "../testing/webhooks.ts";

describe("SQLite", () => storeSuite(sqlitePlaces()));

const newFolder = newFolders();

describe("opening", () => {
  test("uses WAL with full sync, and files that only their owner can read", async () => {
    const where = newFolder();
    const sql = await openSqlite(sqliteFile(where));
    const pragma = async (name: string): Promise<unknown> =>
      Object.values((await sql.unsafe(`PRAGMA ${name}`))[0] ?? {})[0];
    expect(await pragma("synchronous")).toBe(2);
    expect(await pragma("journal_mode")).toBe("wal");
    expect(await pragma("foreign_keys")).toBe(1);
    expect(statSync(sqliteFile(where)).mode & 0o777).toBe(0o600);
    await sql.close();
  });

  test("the lease of webhooks that an earlier process has not given back is free, once", async () => {
    const where = newFolder();
    const before = await openStore(where);
    const lease = await leaseOf(before, "before");
    await before.close();
    const store = await openStore(where);
    const next = await leaseOf(store, "next");
    expect(next.number).toBe(lease.number + 1);
    expect(await store.webhooks.takeLease("another")).toBeUndefined();
    expect(await store.webhooks.renewLease(lease)).toBe(false);
    await store.close();
  });

  test("a second process is refused", async () => {
    const where = newFolder();
    const store = await openStore(where);
    const child = Bun.spawn(
      [
        process.execPath,
        "-e",
        `import { openStore } from "${join(import.meta.dir, "../open.ts")}"; await openStore(${JSON.stringify(where)})`,
      ],
      { stderr: "pipe" },
    );
    expect(await new Response(child.stderr).text()).toContain("another Parley process");
    await store.close();
  });

  test("a data folder of a version without meetings is migrated, and keeps what it has", async () => {
    const where = newFolder();
    const sql = await openSqlite(sqliteFile(where));
    await fillAsVersion(sql, VERSION_WITHOUT_MEETINGS);
    await sql.close();
    const store = await openStore(where);
    await expectUpgraded(store);
    await store.close();
  });

  test("secrets of keys and applications that an earlier version has revoked and deleted are removed", async () => {
    const where = newFolder();
    const sql = await openSqlite(sqliteFile(where));
    await fillAsVersion(sql, 22);
    await sql`
      INSERT INTO apps (id, name, secret_sealed, secret_digest, plan_name, created, deleted)
      VALUES ('gone', 'gone', 'sealed', 'digest', 'default', 1, 2)`;
    for (const [id, revoked] of [
      ["live", null],
      ["revoked", 2],
    ] as const) {
      await sql`
        INSERT INTO keys (id, app, type, channel_patterns, actions, created, revoked)
        VALUES (${id}, 'old', 'secret', '[]', '[]', 1, ${revoked})`;
      await sql`INSERT INTO key_secrets (key_id, seq, sealed, digest, created) VALUES (${id}, 1, 's', 'd', 1)`;
    }
    await sql.close();
    const store = await openStore(where);
    expect([await store.secrets("revoked"), (await store.secrets("live")).length]).toEqual([[], 1]);
    expect(await store.deletedApp("gone")).toMatchObject({ secretSealed: "", secretDigest: "", previousSecrets: [] });
    expect((await store.app("old"))?.secretSealed).toBe("sealed");
    expect(await store.clearing.uncleared(5)).toMatchObject([{ id: "gone" }]);
    await store.close();
  });

  test("a store of a newer version is refused with a clear message", async () => {
    const where = newFolder();
    await (await openStore(where)).close();
    const sql = await openSqlite(sqliteFile(where));
    await sql`INSERT INTO migrations (version, applied) VALUES (9999, 0)`;
    await sql.close();
    await expect(openStore(where)).rejects.toThrow("written by a newer Parley (its schema is 9999");
  });

  test("a file that is no SQLite database is refused and not changed", async () => {
    const where = newFolder();
    writeFileSync(sqliteFile(where), "this is a text, and not a short one at all ".repeat(50));
    await expect(openStore(where)).rejects.toThrow("is not a readable database");
    expect(existsSync(sqliteFile(where))).toBe(true);
  });

  test("the error names a folder that cannot be written", async () => {
    await expect(openStore("/proc/nothing")).rejects.toThrow("/proc/nothing");
  });

  test("the error says what is in the place of the data folder", async () => {
    const [file, link] = [join(newFolder(), "data"), join(newFolder(), "data")];
    writeFileSync(file, "");
    symlinkSync("/nowhere/data", link);
    await expect(openStore(file)).rejects.toThrow(`${file} cannot be written: a file with this name`);
    await expect(openStore(join(file, "below"))).rejects.toThrow("or the name of a parent folder, already exists");
    await expect(openStore(link)).rejects.toThrow(
      `${link} cannot be written: it is a link to a folder that does not exist`,
    );
  });
});

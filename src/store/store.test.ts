import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite, openStore, sqliteFile } from "./open.ts";
import type { AppRow, KeyRow, Store } from "./store.ts";

const folders: string[] = [];
const folder = (): string => {
  folders.push(mkdtempSync(join(tmpdir(), "parley-store-")));
  return folders.at(-1) as string;
};
afterEach(() => {
  for (const one of folders.splice(0)) rmSync(one, { recursive: true });
});

const app = (id: string, more: Partial<AppRow> = {}): AppRow => ({
  id,
  name: `name-${id}`,
  secretSealed: "sealed",
  secretDigest: "digest",
  planName: "default",
  maxConcurrentConnections: null,
  maxMessagesPerPeriod: 9_007_199_254_740_991,
  retentionDays: null,
  created: 1_800_000_000_123,
  deleted: null,
  ...more,
});
const key = (id: string, more: Partial<KeyRow> = {}): KeyRow => ({
  id,
  app: "a",
  type: "secret",
  label: null,
  channelPatterns: ["chat/*", "ü'\"\\\\"],
  actions: ["publish"],
  allowedOrigins: null,
  created: 1,
  rotated: null,
  revoked: null,
  ...more,
});

async function filled(where = folder()): Promise<{ store: Store; where: string }> {
  const store = await openStore(where);
  await store.change(async (change) => {
    await change.putApp(app("a"));
    await change.putKey(key("k"));
    for (const seq of [1, 2])
      await change.putSecret({ keyId: "k", seq, sealed: "s", digest: "d", created: 1, ends: seq === 1 ? 5 : null });
  });
  return { store, where };
}

describe("rows", () => {
  test("come back as they were put, also after the store was opened again", async () => {
    const { store, where } = await filled();
    await store.close();
    const again = await openStore(where);
    expect(await again.app("a")).toEqual(app("a"));
    expect(await again.app("name-a")).toEqual(app("a"));
    expect(await again.key("k")).toEqual(key("k"));
    expect((await again.secrets("k")).map((secret) => [secret.seq, secret.ends])).toEqual([
      [2, null],
      [1, 5],
    ]);
    const snapshot = await again.snapshot();
    expect([snapshot.revision, snapshot.apps.length, snapshot.keys.length, snapshot.secrets.length]).toEqual([
      1, 1, 1, 2,
    ]);
    await again.close();
  });

  test("an id is meant before a name", async () => {
    const { store } = await filled();
    await store.change(async (change) => change.putApp(app("b", { name: "a" })));
    expect((await store.app("a"))?.id).toBe("a");
    await store.close();
  });

  test("deleted applications and revoked keys are not in the snapshot; a name is free again", async () => {
    const { store } = await filled();
    await store.change(async (change) => {
      await change.putKey(key("k", { revoked: 9 }));
      await change.putApp(app("a", { deleted: 9 }));
      await change.putApp(app("c", { name: "name-a" }));
    });
    const snapshot = await store.snapshot();
    expect([snapshot.apps.map((row) => row.id), snapshot.keys, snapshot.secrets]).toEqual([["c"], [], []]);
    expect(await store.keys("a")).toEqual([key("k", { revoked: 9 })]);
    await store.close();
  });
});

describe("changes", () => {
  test("one that throws leaves nothing behind, not even a revision", async () => {
    const { store } = await filled();
    const failing = store.change(async (change) => {
      await change.putApp(app("x"));
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect(await store.app("x")).toBeUndefined();
    expect((await store.snapshot()).revision).toBe(1);
    await store.close();
  });

  test("run one after the other, each raising the revision, and are shown before the next begins", async () => {
    const { store } = await filled();
    const seen: string[] = [];
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        store.change(
          async (change) => {
            seen.push(`begin ${i}`);
            await change.putMeta("last", String(i));
          },
          (_result, revision) => seen.push(`shown ${revision - 2}`),
        ),
      ),
    );
    expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => [`begin ${i}`, `shown ${i}`]).flat());
    expect(await store.meta("last")).toBe("19");
    await store.close();
  });
});

describe("opening", () => {
  test("syncs fully, in WAL, with files only their owner can read", async () => {
    const where = folder();
    const sql = await openSqlite(sqliteFile(where));
    const pragma = async (name: string): Promise<unknown> =>
      Object.values((await sql.unsafe(`PRAGMA ${name}`))[0] ?? {})[0];
    expect(await pragma("synchronous")).toBe(2);
    expect(await pragma("journal_mode")).toBe("wal");
    expect(await pragma("foreign_keys")).toBe(1);
    expect(statSync(sqliteFile(where)).mode & 0o777).toBe(0o600);
    await sql.close();
  });

  test("a second process is refused", async () => {
    const { store, where } = await filled();
    const child = Bun.spawn(
      [
        process.execPath,
        "-e",
        `import { openStore } from "${join(import.meta.dir, "open.ts")}"; await openStore(${JSON.stringify(where)})`,
      ],
      { stderr: "pipe" },
    );
    expect(await new Response(child.stderr).text()).toContain("another Parley process");
    await store.close();
  });

  test("a store from a newer version is refused with a clear sentence", async () => {
    const { store, where } = await filled();
    await store.close();
    const sql = await openSqlite(sqliteFile(where));
    await sql`INSERT INTO migrations (version, applied) VALUES (9999, 0)`;
    await sql.close();
    await expect(openStore(where)).rejects.toThrow("written by a newer Parley (its schema is 9999");
  });

  test("what is no SQLite file is refused and left alone", async () => {
    const where = folder();
    writeFileSync(sqliteFile(where), "this is a text, and not a short one at all ".repeat(50));
    await expect(openStore(where)).rejects.toThrow("not a SQLite file");
    expect(existsSync(sqliteFile(where))).toBe(true);
  });

  test("a folder that cannot be written is named", async () => {
    await expect(openStore("/proc/nothing")).rejects.toThrow("/proc/nothing");
  });
});

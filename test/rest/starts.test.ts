/** Starts that are refused with a readable error, and what a start leaves on disk. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mint } from "../support/admin.ts";
import { expectSentence } from "../support/checks.ts";
import { serverForTests } from "../support/for-tests.ts";
import { refusedStart, runParley, startParley } from "../support/parley.ts";
import { removeFolder, scratch, tempFolder } from "../support/temp.ts";

setDefaultTimeout(60_000);

const server = await serverForTests();

describe("starts that are refused, with a readable error", () => {
  test("a second start on the same data folder; the first keeps running", async () => {
    expectSentence(await refusedStart(server.data), "another Parley process", server.data);
    expect((await mint(server.url, server.keys.secretKey)).status).toBe(200);
  });

  test("a port in use", async () => {
    using folder = scratch();
    const { port } = new URL(server.url);
    const taken = await runParley(["up", "--host", "127.0.0.1", "--port", port, "--data", folder.path]);
    expectSentence(taken, `port ${port} of 127.0.0.1 is in use`, "--port");
  });

  describe("because of the data folder", () => {
    let data: string;
    beforeAll(async () => {
      data = tempFolder();
      await (await startParley({ data })).stop();
    });
    afterAll(() => removeFolder(data));

    const store = (): string => join(data, "parley.sqlite");
    const masterKey = (): string => join(data, "master.key");

    test("a store of a newer version, which stays unchanged", async () => {
      {
        using db = new Database(store());
        db.run("INSERT INTO migrations (version, applied) VALUES (999, 0)");
      }
      expectSentence(await refusedStart(data), "newer", "999");
      {
        using db = new Database(store());
        expect(db.query("SELECT COUNT(*) AS n FROM apps").get()).toEqual({ n: 1 });
        db.run("DELETE FROM migrations WHERE version = 999");
      }
      await (await startParley({ data })).stop();
    });

    test("a missing master key with a filled store: no new key is created", async () => {
      const kept = readFileSync(masterKey());
      rmSync(masterKey());
      expectSentence(await refusedStart(data), "master key is missing", masterKey());
      expect(existsSync(masterKey())).toBe(false);
      writeFileSync(masterKey(), kept, { mode: 0o600 });
      await using restored = await startParley({ data });
      expect((await mint(restored.url, restored.keys.secretKey)).status).toBe(200);
    });

    test("an invalid master key", async () => {
      const kept = readFileSync(masterKey());
      writeFileSync(masterKey(), kept.subarray(0, 20));
      expectSentence(await refusedStart(data), masterKey());
      writeFileSync(masterKey(), kept);
    });

    test("a damaged store, wherever the damage is found first", async () => {
      const kept = readFileSync(store());
      const appsAt = pageOf(store(), "apps");
      const damaged = async (from: number, bytes: number): Promise<void> => {
        const spoilt = Buffer.from(kept);
        spoilt.fill(0xff, from, from + bytes);
        writeFileSync(store(), spoilt);
        const refusal = await refusedStart(data);
        expectSentence(refusal, `${store()} is not a readable database`, "restore a backup");
        expect(refusal.code).toBe(1);
      };
      try {
        // The second damage is found by a statement of the start, not by opening: the applications, in their own page.
        await damaged(100, kept.length - 100);
        await damaged(appsAt, 4096);
      } finally {
        writeFileSync(store(), kept);
      }
      await (await startParley({ data })).stop();
    });

    test("a file that is not a store", async () => {
      using folder = scratch();
      const other = folder.path;
      writeFileSync(join(other, "parley.sqlite"), "something else ".repeat(100));
      expectSentence(await refusedStart(other), join(other, "parley.sqlite"), "not a readable database");
      expect(readFileSync(join(other, "parley.sqlite"), "utf8")).toStartWith("something else ");
    });
  });
});

/** The offset of a table's first page in its file. */
function pageOf(file: string, table: string): number {
  using db = new Database(file, { readonly: true });
  const { page_size } = db.query("PRAGMA page_size").get() as { page_size: number };
  const { rootpage } = db.query("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table) as { rootpage: number };
  return (rootpage - 1) * page_size;
}

describe("files on disk", () => {
  test("only their owner may read them", async () => {
    using folder = scratch();
    await using own = await startParley({ data: join(folder.path, "made", "by", "us") });
    const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);
    expect(modeOf(own.data)).toBe("700");
    for (const name of ["parley.sqlite", "parley.sqlite-wal", "master.key", "first-run.txt"])
      expect({ name, mode: modeOf(join(own.data, name)) }).toEqual({ name, mode: "600" });
  });

  test("the store is in WAL mode and has the application id", async () => {
    using folder = scratch();
    await using own = await startParley({ data: folder.path });
    await own.admin.createApp("kept");
    await own.stop();
    using db = new Database(join(own.data, "parley.sqlite"), { readonly: true });
    expect(db.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(db.query("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
    expect(db.query("PRAGMA application_id").get()).toEqual({ application_id: 0x50524c59 });
    expect(db.query("SELECT name FROM apps WHERE name = 'kept'").get()).toEqual({ name: "kept" });
  });

  const strace = Bun.which("strace");
  if (!strace) console.warn("strace is not installed: that a change is synced before its answer is NOT tested here");
  test.skipIf(!strace)("a change is on disk before its response is sent", async () => {
    using folder = scratch();
    const trace = join(folder.path, "trace");
    const calls = "trace=pwrite64,fdatasync,fsync,write,writev,sendto,sendmsg";
    // -D: the server stays our direct child, so that it gets our signals; -y: file names instead of descriptors.
    const wrap = ["strace", "-D", "-f", "-y", "-s", "4096", "-e", calls, "-o", trace];
    await using own = await startParley({ data: join(folder.path, "data"), wrap });
    const key = await own.admin.createKey("demo");
    const changes: [string, () => Promise<object>][] = [
      ["app created", () => own.admin.createApp()],
      ["key created", () => own.admin.createKey("demo")],
      ["key rotated", () => own.admin.rotate(key.keyId)],
      ["key edited", () => own.admin.patchKey(key.keyId, { label: crypto.randomUUID() })],
      ["key revoked", () => own.admin.revoke(key.keyId)],
    ];
    const ids: { name: string; before: string; answer: string }[] = [];
    let requestId = "";
    own.admin.observe = (_method, _path, { headers }) => {
      requestId = headers.get("x-request-id") ?? "";
    };
    for (const [name, change] of changes) {
      await own.admin.keys();
      const before = requestId;
      await change();
      ids.push({ name, before, answer: requestId });
    }
    await own.stop();

    const lines = readFileSync(trace, "utf8").split("\n");
    const sentAt = (id: string): number =>
      lines.findIndex((line) => /\b(sendto|sendmsg|write|writev)\(/.test(line) && line.includes(id));
    for (const { name, before, answer } of ids) {
      expect(sentAt(before)).toBeGreaterThanOrEqual(0);
      const between = lines.slice(sentAt(before), sentAt(answer));
      const lastWrite = between.findLastIndex((line) => line.includes("pwrite64(") && line.includes(".sqlite-wal>"));
      const lastSync = between.findLastIndex((line) =>
        /(fdatasync|fsync)(\(.*\.sqlite-wal>\)| resumed).*= 0$/.test(line),
      );
      expect({ name, written: lastWrite >= 0 }).toEqual({ name, written: true });
      expect({ name, synced: lastSync > lastWrite }).toEqual({ name, synced: true });
    }
  });
});

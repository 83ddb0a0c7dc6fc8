import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeFolder, tempFolder } from "../../../test/support/temp.ts";
import { until } from "../../../test/support/wait.ts";
import { inChunks, NOW_MS, noise } from "../testing/archives.ts";
import { targetSuite } from "../testing/target.suite.ts";
import { FolderTarget } from "./folder.ts";
import { backupName } from "./names.ts";
import { openTarget } from "./open.ts";
import { partialName } from "./partials.ts";

const made: string[] = [];
const folder = (): string => {
  const path = tempFolder();
  made.push(path);
  return path;
};
afterAll(() => made.forEach(removeFolder));

const OPTIONS = { env: {}, nowMs: Date.now };
const NAME = backupName(NOW_MS);

targetSuite("a folder", async () => {
  const path = folder();
  return {
    target: await openTarget(path, OPTIONS),
    reopen: () => new FolderTarget(path, Date.now),
    single: (name, force) => openTarget(join(path, name), { ...OPTIONS, force }),
    everything: async () => readdirSync(path),
    addForeign: async (name) => writeFileSync(join(path, name), "of another program"),
  };
});

test.each(["parley.sqlite", "history.sqlite-wal", "master.key", "first-run.txt"])(
  "%s of a service is replaced by no backup, not with --force either",
  async (name) => {
    const path = folder();
    writeFileSync(join(path, name), "of a service");
    const writing = async () =>
      (await openTarget(join(path, name), { ...OPTIONS, force: true })).write(name, inChunks(noise(3)));
    mkdirSync(join(path, "servers"));
    await expect(writing()).rejects.toMatchObject({
      reason: "exists",
      message: expect.stringContaining("data folder"),
    });
    expect([readdirSync(path).sort(), await Bun.file(join(path, name)).text()]).toEqual([
      [name, "servers"].sort(),
      "of a service",
    ]);
    // Elsewhere it is a backup of that name, such as those that 0.1.0 wrote.
    rmdirSync(join(path, "servers"));
    await writing();
    expect(statSync(join(path, name)).size).toBe(3);
  },
);

describe("the text that an operator gives", () => {
  test("names an existing folder, a new one by its slash, or a file", async () => {
    const path = folder();
    expect((await openTarget(path, OPTIONS)).isSingle).toBe(false);
    const target = await openTarget(`${path}/new/backups/`, OPTIONS);
    expect(target.isSingle).toBe(false);
    await target.write(NAME, inChunks(noise(3)));
    expect(readdirSync(join(path, "new/backups"))).toEqual([NAME]);
    expect(statSync(join(path, "new/backups")).mode & 0o777).toBe(0o700);
    const file = await openTarget(join(path, "x.parley"), OPTIONS);
    expect([file.isSingle, file.nameAt(NOW_MS), file.label]).toEqual([true, "x.parley", join(path, "x.parley")]);
  });

  test.each(["", "https://example.com/backups", "ftp://x", "s3:", "s3://", "s3://bucket?acl=public"])(
    "%p names no place",
    async (text) => {
      const env = { AWS_ACCESS_KEY_ID: "key", AWS_SECRET_ACCESS_KEY: "secret" };
      await expect(openTarget(text, { ...OPTIONS, env })).rejects.toMatchObject({ reason: "bad-address" });
    },
  );

  test("may name a bucket, or one backup in it, and its credential is never shown", async () => {
    const credential = "some-key:hush-hush";
    const many = await openTarget(`s3://${credential}@bucket/a/b?endpoint=http://127.0.0.1:1`, OPTIONS);
    expect([many.isSingle, many.label]).toEqual([false, "the bucket bucket (a/b/)"]);
    const one = await openTarget(`s3://${credential}@bucket/a/${NAME}?endpoint=http://127.0.0.1:1`, OPTIONS);
    expect([one.isSingle, one.nameAt(0), one.label]).toEqual([true, NAME, `${NAME} in the bucket bucket (a/)`]);
    await expect(openTarget("s3://key:hush-hush@bucket?endpoint=x", OPTIONS)).rejects.not.toThrow("hush-hush");
  });
});

describe("a folder of backups", () => {
  test("has files that only their owner can read", async () => {
    const path = folder();
    let modes: number[] = [];
    async function* watched(): AsyncGenerator<Uint8Array> {
      yield noise(10);
      modes = readdirSync(path).map((name) => statSync(join(path, name)).mode & 0o777);
    }
    await new FolderTarget(path, Date.now).write(NAME, watched());
    expect([modes, statSync(join(path, NAME)).mode & 0o777]).toEqual([[0o600], 0o600]);
  });

  test("loses the leftovers of processes that are gone, of other machines after a day, and no others", async () => {
    const path = folder();
    const gone = Bun.spawn(["true"]);
    await gone.exited;
    const running = partialName(NAME);
    const other = running.replace(/\.[0-9a-f]{8}-\d+-/, `.00000000-${gone.pid}-`);
    const names = {
      ofGone: running.replace(`-${process.pid}-`, `-${gone.pid}-`),
      ofRunning: running,
      ofOther: other,
      oldOfOther: other.replace(NAME, backupName(0)),
      foreign: `notes.txt.${running.slice(NAME.length + 1)}`,
      alike: `${NAME}.partial`,
    };
    for (const name of Object.values(names)) writeFileSync(join(path, name), "x");
    utimesSync(join(path, names.oldOfOther), 0, 0);
    utimesSync(join(path, names.foreign), 0, 0);
    await new FolderTarget(path, Date.now).write(NAME, inChunks(noise(10)));
    const { ofRunning, ofOther, foreign, alike } = names;
    expect(readdirSync(path).sort()).toEqual([NAME, ofRunning, ofOther, foreign, alike].sort());
  });

  test("loses what a killed writer has left", async () => {
    const path = folder();
    const program = `
      import { openTarget } from ${JSON.stringify(join(import.meta.dir, "open.ts"))};
      const target = await openTarget(${JSON.stringify(path)}, { env: {}, nowMs: Date.now });
      async function* slow() { yield new Uint8Array(1000); await new Promise(() => setInterval(() => {}, 1000)); }
      await target.write(${JSON.stringify(NAME)}, slow());`;
    const writer = Bun.spawn([process.execPath, "-e", program], { stdio: ["ignore", "inherit", "inherit"] });
    await until("the writer has begun", () => readdirSync(path).length === 1);
    writer.kill("SIGKILL");
    await writer.exited;
    const target = new FolderTarget(path, Date.now);
    expect(await target.list()).toEqual([]);
    await target.write(NAME, inChunks(noise(10)));
    expect(readdirSync(path)).toEqual([NAME]);
  });

  test("that is full keeps what it has, says so, and has nothing of the new one", async () => {
    const path = folder();
    await new FolderTarget(path, Date.now).write(NAME, inChunks(noise(10)));
    const program = `
      import { openTarget } from ${JSON.stringify(join(import.meta.dir, "open.ts"))};
      const target = await openTarget(${JSON.stringify(path)}, { env: {}, nowMs: Date.now });
      async function* large() { for (let i = 0; i < 100; i++) yield new Uint8Array(100_000); }
      await target.write(${JSON.stringify(NAME)}, large()).catch((error) => console.log(error.reason, error.message));`;
    const limited = ["sh", "-c", 'trap "" XFSZ; ulimit -f 100; exec "$@"', "sh", process.execPath, "-e", program];
    const writer = Bun.spawn(limited, { stdio: ["ignore", "pipe", "inherit"] });
    expect(await writer.stdout.text()).toBe(
      `full the folder ${path} has no space left: free some, or choose another place\n`,
    );
    expect(readdirSync(path)).toEqual([NAME]);
  });

  test("says what is wrong with it", async () => {
    const path = folder();
    const missing = new FolderTarget(join(path, "gone"), Date.now, { name: "x", force: false });
    await expect(missing.write("x", inChunks(noise(1)))).rejects.toMatchObject({ reason: "missing" });
    await expect(new FolderTarget(join(path, "gone"), Date.now).list()).rejects.toMatchObject({ reason: "missing" });
    mkdirSync(join(path, "taken"));
    const taken = new FolderTarget(path, Date.now, { name: "taken", force: true });
    await expect(taken.write("taken", inChunks(noise(1)))).rejects.toMatchObject({ reason: "exists" });
    expect(existsSync(join(path, "taken"))).toBe(true);
  });

  test.skipIf(process.getuid?.() === 0)("says that it may not be written to", async () => {
    const path = folder();
    chmodSync(path, 0o500);
    const outcome = new FolderTarget(path, Date.now).write(NAME, inChunks(noise(1)));
    await expect(outcome).rejects.toMatchObject({ reason: "forbidden" });
    chmodSync(path, 0o700);
  });
});

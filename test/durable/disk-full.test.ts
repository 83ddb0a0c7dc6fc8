/** Backups and restores on a really full disk, a small tmpfs: a sentence that helps, nothing half done, and what was there stays. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newApplication } from "../support/application.ts";
import { runParley, startParley } from "../support/parley.ts";
import { Backend, webm } from "../support/recordings.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";

setDefaultTimeout(60_000);

const MIB = 1024 * 1024;
const mounted: string[] = [];
afterAll(() => {
  for (const path of mounted) {
    Bun.spawnSync(["umount", path]);
    removeFolder(path);
  }
});

function smallDisk(mib: number): string {
  const path = tempFolder();
  mounted.push(path);
  const { exitCode, stderr } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${mib}m`, "parley-test", path]);
  if (exitCode !== 0) throw new Error(`no tmpfs could be mounted: ${stderr}`);
  return path;
}

/** Leaves that much room on a disk, however large the store on it is. */
function fill(disk: string, freeMib: number): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(join(disk, "filler"), Buffer.alloc(bavail * bsize - freeMib * MIB));
}

const mayMount = process.getuid?.() === 0;
if (!mayMount) console.log("skipped: only root may mount a small disk to fill");

const env = { PARLEY_MIN_FREE_DISK_BYTES: "0" };

test.if(mayMount)("a full disk ends a backup or a restore with a sentence; what was there stays", async () => {
  const home = tempFolder();
  mounted.push(home);
  const data = join(home, "data");
  await using server = await startParley({ data, env });
  const app = await newApplication(server);
  const made = await new Backend(app).record({}, webm(12 * MIB));
  const whole = join(home, "whole.backup");
  const asked = { PARLEY_URL: server.url, PARLEY_ADMIN_TOKEN: server.adminToken, ...env };
  expect((await runParley(["backup", whole], asked)).code).toBe(0);

  // The target.
  const target = smallDisk(4);
  const full = await runParley(["backup", join(target, "small.backup")], asked);
  expect([full.code, full.output]).toEqual([1, expect.stringMatching(/full|space/)]);
  expect(readdirSync(target)).toEqual([]);
  expect((await app.must<{ total: number }>("GET", "/recordings")).total).toBe(1);

  // The disk of the service, where the copies are made.
  await server.kill("SIGTERM");
  const disk = smallDisk(8);
  const small = join(disk, "data");
  mkdirSync(small);
  for (const name of ["parley.sqlite", "master.key"]) Bun.spawnSync(["cp", join(data, name), join(small, name)]);
  fill(disk, 0.2);
  const noCopy = await runParley(["backup", join(home, "never.backup"), "--data", small], env);
  expect([noCopy.code, noCopy.output]).toEqual([1, expect.stringMatching(/free space|full/)]);
  expect(existsSync(join(home, "never.backup"))).toBeFalse();
  expect(readdirSync(small).filter((name) => name.startsWith("backup-in-progress"))).toEqual([]);
  rmSync(join(disk, "filler"));

  // The disk that a restore writes to: first for the recordings, then for the store.
  const before = Bun.hash(await Bun.file(join(small, "parley.sqlite")).bytes());
  const half = await runParley(["restore", whole, "--data", small, "--yes"], env);
  expect([half.code, half.output]).toEqual([1, expect.stringMatching(/^parley: the storage of recordings is full/m)]);
  expect(Bun.hash(await Bun.file(join(small, "parley.sqlite")).bytes())).toBe(before);
  fill(disk, 0.4);
  const none = await runParley(["restore", whole, "--data", small, "--yes"], env);
  expect([none.code, none.output]).toEqual([1, expect.stringMatching(/full|space/)]);
  expect(Bun.hash(await Bun.file(join(small, "parley.sqlite")).bytes())).toBe(before);
  expect(readdirSync(small).sort()).toEqual(["master.key", "parley.sqlite", "recordings"]);
  rmSync(join(disk, "filler"));

  // Not to the last byte: another service may use the disk, and a backup may unpack to much more than it has.
  const spare = { PARLEY_MIN_FREE_DISK_BYTES: String(7.5 * MIB) };
  const tight = await runParley(["restore", whole, "--data", small, "--yes"], spare);
  expect([tight.code, tight.output]).toEqual([1, expect.stringContaining("parley.sqlite of the backup needs")]);
  expect(made.sizeInBytes).toBe(12 * MIB);
});

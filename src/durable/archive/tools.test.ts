/** An operator without Parley can open a backup that is not encrypted, with the tools of the system. */
import { expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { IS_FULL } from "../../../test/support/slack.ts";
import { scratch } from "../../../test/support/temp.ts";
import { entry, inChunks, NOW_MS, noise, written } from "../testing/archives.ts";
import { readArchive } from "./read.ts";
import { writeArchive } from "./write.ts";

const HAS_TOOLS = ["tar", "zstd", "sha256sum"].every((tool) => Bun.which(tool));
const GIB = 1024 ** 3;

async function run(folder: string, ...command: string[]): Promise<string> {
  const child = Bun.spawn(command, {
    cwd: folder,
    env: { ...process.env, LC_ALL: "C.UTF-8", TZ: "UTC" },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, errors, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect([errors, code]).toEqual(["", 0]);
  return out;
}

test.skipIf(!HAS_TOOLS)("tar and sha256sum read what was written", async () => {
  using folder = scratch();
  const long = `recordings/${"録画".repeat(30)}/${"x".repeat(200)}`;
  const contents = {
    "store.sqlite": noise(3_000_000),
    "recordings/a/b": noise(513),
    empty: noise(0),
    [long]: noise(70_000),
  };
  const entries = Object.entries(contents).map(([name, content]) => entry(name, content));
  await Bun.write(join(folder.path, "x.backup"), await written(entries));
  const listed = await run(folder.path, "tar", "--zstd", "--quoting-style=literal", "-tf", "x.backup");
  expect(listed.trim().split("\n")).toEqual(["parley-backup.json", ...Object.keys(contents), "SHA256SUMS"]);
  // Without naming the compression, too.
  await run(folder.path, "tar", "-xf", "x.backup");
  for (const [name, content] of Object.entries(contents))
    expect(Buffer.from(content).equals(readFileSync(join(folder.path, name))), name).toBe(true);
  const { mode, mtimeMs } = statSync(join(folder.path, "store.sqlite"));
  expect([mode & 0o777, mtimeMs]).toEqual([0o600, NOW_MS]);
  const checked = await run(folder.path, "sha256sum", "--strict", "-c", "SHA256SUMS");
  expect(checked.trim().split("\n")).toHaveLength(5);
});

async function* zeros(count: number): AsyncGenerator<Uint8Array> {
  const chunk = new Uint8Array(1024 * 1024);
  for (let left = count; left > 0; left -= chunk.length) yield chunk.subarray(0, left);
}

test.skipIf(!HAS_TOOLS || !IS_FULL)(
  "also an entry of more than 8 GiB, in bounded memory",
  async () => {
    using folder = scratch();
    const size = 8 * GIB + 5;
    const beforeBytes = process.memoryUsage.rss();
    const entries = [{ name: "large", size, modifiedMs: NOW_MS, bytes: zeros(size) }];
    const path = join(folder.path, "x.backup");
    const sink = Bun.file(path).writer();
    for await (const chunk of writeArchive({ manifest: {}, entries, nowMs: NOW_MS })) {
      sink.write(chunk);
      await sink.flush();
    }
    await sink.end();
    const listed = await run(folder.path, "tar", "--zstd", "-tvf", "x.backup");
    expect(listed).toContain(` ${size} 2026-11-18 15:43 large`);
    const archive = await readArchive(inChunks(readFileSync(path), 65_536), {});
    const sizes = await Array.fromAsync(archive.entries, (one) => one.size);
    expect(sizes).toEqual([size]);
    expect(process.memoryUsage.rss() - beforeBytes).toBeLessThan(GIB / 8);
  },
  600_000,
);

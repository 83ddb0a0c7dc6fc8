/** `parley backups …`, against a running server. */
import { expect, setDefaultTimeout, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { found } from "../../../../test/support/wait.ts";
import { withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer((folder) => ({ PARLEY_BACKUP_TO: join(folder, "kept") }));
const { run, json, jsonLines, folder } = cli;

interface Backup {
  readonly name: string;
  readonly bytes: number;
}

test("a backup is started, listed, downloaded and deleted", async () => {
  expect((await run("backups list")).stderr).toContain("There are no backups yet.");
  const started = await run("backups start");
  expect([started.exitCode, started.stdout]).toEqual([0, expect.stringContaining(join(folder, "kept"))]);
  const { name, bytes } = await found("it is listed", async () => (await jsonLines<Backup>("backups list"))[0]);
  const list = await run("backups list");
  expect(list.stdout).toMatch(new RegExp(`^${name} +\\d{4}-.*Z +\\d`, "m"));
  expect(list.stderr).toContain("No schedule: PARLEY_BACKUP_EVERY is not set.");

  const file = join(folder, "downloaded.backup");
  expect(await json(`backups download ${name} ${file}`)).toEqual({ name, file, bytes });
  expect([statSync(file).size, statSync(file).mode & 0o777]).toEqual([bytes, 0o600]);
  const twice = await run(`backups download ${name} ${file}`);
  expect([twice.exitCode, twice.stderr]).toEqual([2, expect.stringContaining("already exists")]);
  expect((await run(`backups download ${name} ${folder} --force`)).exitCode).toBe(0);
  expect(statSync(join(folder, name)).size).toBe(bytes);

  const unasked = await run(`backups delete ${name}`);
  expect([unasked.exitCode, unasked.stderr]).toEqual([2, expect.stringContaining("add --yes")]);
  expect(await json(`backups delete ${name} --yes`)).toMatchObject({ name, bytes });
  expect(existsSync(join(folder, "kept", name))).toBe(false);
});

test("one that does not exist leaves no file, and the message says how to see those that do", async () => {
  const file = join(folder, "none.backup");
  const { exitCode, stderr } = await run(`backups download parley-20300131T020000Z.backup ${file}`);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining('no such backup; "parley backups list"')]);
  expect(existsSync(file)).toBe(false);
});

/** Answers every call with the first bytes of an archive, and cuts the connection. */
function cutting(): ReturnType<typeof Bun.serve> {
  const beginning = Bun.zstdCompressSync(randomBytes(1_000_000)).subarray(0, 200_000);
  return Bun.serve({
    port: 0,
    fetch: () => {
      let pulls = 0;
      const pull = (controller: ReadableStreamDefaultController): void =>
        pulls++ === 0 ? controller.enqueue(beginning) : controller.error();
      const body = new ReadableStream({ pull });
      return new Response(body, { headers: { "Content-Type": "application/octet-stream", "X-Parley-Bytes": "999" } });
    },
  });
}

test.each(["backups download parley-20300131T020000Z.backup", "backup"])(
  "%s: a connection that the service cuts is named, and no file is left",
  async (command) => {
    await using service = { server: cutting(), [Symbol.asyncDispose]: () => service.server.stop(true) };
    const file = join(folder, "cut.backup");
    const { exitCode, stderr } = await run(`${command} ${file} --url http://127.0.0.1:${service.server.port}`);
    expect([exitCode, stderr]).toEqual([
      1,
      expect.stringContaining("closed the connection before everything was sent"),
    ]);
    expect(stderr).not.toContain("verbose");
    expect(existsSync(file)).toBe(false);
  },
);

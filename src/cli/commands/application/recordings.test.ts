/** `parley recordings …` as a process, against a running server. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  existsSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { PARLEY_MAIN } from "../../../../test/support/command.ts";
import { shell, withServer } from "../../testing/kit.ts";

setDefaultTimeout(60_000);

const cli = withServer();
const { folder, run, json, jsonLines } = cli;
const bytes = Buffer.alloc(20 * 1024 * 1024 + 7);
for (let at = 0; at < bytes.length; at += 4096) bytes.writeUInt32LE(at, at);
const file = join(folder, "talk.webm");
beforeAll(async () => {
  await json("rooms create standup");
  writeFileSync(file, bytes);
});

interface Shown {
  _id: string;
  sizeInBytes: number;
}

const UPLOAD = `recordings upload ${file} --room standup --username alice`;

test("a recording is uploaded, shown, listed, downloaded and deleted", async () => {
  const made = await json<Shown>(`${UPLOAD} --type audio --start 2030-01-31T18:00:00Z --end 2030-01-31T19:00:00Z`);
  expect(made).toMatchObject({
    sizeInBytes: bytes.length,
    type: "audio",
    startTime: 1_896_112_800,
    endTime: 1_896_116_400,
  });
  const { stdout } = await run(`recordings show ${made._id}`);
  expect(stdout).toMatch(/^room +standup$/m);
  expect(stdout).toMatch(/^started +2030-01-31 18:00:00Z$/m);
  // The name of a download that is given none: it says which recording it is.
  expect(stdout).toMatch(new RegExp(`^file +alice-audio-20300131T180000Z-${made._id}\\.webm$`, "m"));
  expect(stdout).toMatch(new RegExp(`^bytes +${bytes.length}$`, "m"));
  const listed = await run("recordings list --room standup --type audio --username alice");
  expect(listed.stdout).toMatch(
    new RegExp(`^${made._id} +standup +audio +alice +2030-01-31 18:00:00Z +1:00:00 +20\\.0 MiB +-$`, "m"),
  );
  expect((await run("recordings list --type screen")).stderr).toBe("No recordings match.\n");
  const copy = join(folder, "copy.webm");
  const fetched = await run(`recordings download ${made._id} ${copy}`);
  expect([fetched.exitCode, fetched.stdout, fetched.stderr]).toEqual([
    0,
    `file   ${copy}\nbytes  ${bytes.length}\n`,
    "",
  ]);
  expect(readFileSync(copy).equals(bytes)).toBe(true);
  expect(existsSync(`${copy}.partial`)).toBe(false);
  expect(await run(`recordings download ${made._id} ${copy}`)).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("already exists"),
  });
  expect((await run(`recordings download ${made._id} ${copy} --force`)).exitCode).toBe(0);
  const gone = await run(`recordings delete ${made._id} --yes`);
  expect([gone.exitCode, gone.stdout]).toEqual([0, "Recording successfully deleted.\n"]);
  expect(await run(`recordings show ${made._id}`)).toMatchObject({
    exitCode: 1,
    stderr: 'parley: recording not found; "parley recordings list" lists them\n',
  });
});

test("a list reads pages up to --limit", async () => {
  const empty = join(folder, "empty.webm");
  writeFileSync(empty, "");
  for (let i = 0; i < 3; i++) await json(`recordings upload ${empty} --room standup --username many`);
  const some = await run("recordings list --username many --limit 2");
  expect(some.stdout.trim().split("\n")).toHaveLength(3);
  expect(some.stderr).toBe("2 of 3; --limit shows more.\n");
  expect(await jsonLines("recordings list --username many --limit 500")).toHaveLength(3);
});

test("an interrupted upload resumes, and removes its state file when it is complete", async () => {
  const stateFile = `${file}.parley-upload`;
  // What a killed command leaves: an upload that has started, and its state file.
  const begun = await fetch(`${cli.server.url}/api/v1/recording`, {
    method: "POST",
    headers: { Host: "demo.localhost", Authorization: `Bearer ${cli.server.env.PARLEY_APP_SECRET}` },
    body: JSON.stringify({ room: "standup", participantUsername: "alice", type: "video" }),
  });
  const { _id, uploadUrl } = (await begun.json()) as { _id: string; uploadUrl: string };
  const { pathname, search, host } = new URL(uploadUrl);
  await fetch(cli.server.url + pathname + search, {
    method: "PUT",
    headers: { Host: host, "Content-Range": `bytes 0-999999/${bytes.length}` },
    body: bytes.subarray(0, 1_000_000),
  });
  const { size, mtimeMs } = statSync(file);
  const uploadHere = uploadUrl.replace(host, `demo.localhost:${new URL(cli.server.url).port}`);
  writeFileSync(stateFile, JSON.stringify({ _id, uploadUrl: uploadHere, size, mtimeMs }));
  const { stdout, stderr, exitCode } = await run(UPLOAD);
  expect([exitCode, stderr]).toEqual([0, `Resumed the upload ${_id}.\n`]);
  expect(stdout).toContain(_id);
  expect(existsSync(stateFile)).toBe(false);
  await run(`recordings download ${_id} ${join(folder, "resumed.webm")}`);
  expect(readFileSync(join(folder, "resumed.webm")).equals(bytes)).toBe(true);
});

test("the state file of another file, or of an upload that has ended, is not used", async () => {
  const other = join(folder, "other.webm");
  const stateFile = `${other}.parley-upload`;
  writeFileSync(other, "0123456789");
  const { size, mtimeMs } = statSync(other);
  const stale = {
    _id: "f".repeat(24),
    uploadUrl: `http://demo.localhost:${new URL(cli.server.url).port}/api/v1/upload/x?proof=y`,
    size,
    mtimeMs,
  };
  for (const text of ["garbage", JSON.stringify({ ...stale, size: 9 }), JSON.stringify({ ...stale, _id: 1 })]) {
    writeFileSync(stateFile, text);
    expect((await run(`recordings upload ${other} --room standup --username bob`)).exitCode).toBe(0);
    expect(existsSync(stateFile)).toBe(false);
  }
  utimesSync(other, 1000, 1000);
  writeFileSync(stateFile, JSON.stringify({ ...stale, mtimeMs: 1_000_000 }));
  expect((await run(`recordings upload ${other} --room standup --username bob`)).exitCode).toBe(1);
  expect(existsSync(stateFile)).toBe(false);
  expect((await run(`recordings upload ${other} --room standup --username bob`)).exitCode).toBe(0);
});

test("an interrupted download resumes", async () => {
  const { _id } = await json<Shown>(UPLOAD);
  const target = join(folder, "partial.webm");
  writeFileSync(`${target}.partial`, bytes);
  truncateSync(`${target}.partial`, 5_000_000);
  expect((await run(`recordings download ${_id} ${target}`)).exitCode).toBe(0);
  expect(readFileSync(target).equals(bytes)).toBe(true);
});

test("neither the state of an upload nor a partial download is written into a file that was there", async () => {
  const [state, partial] = [`${file}.parley-upload`, join(folder, "open.webm.partial")];
  const elsewhere = join(folder, "elsewhere");
  writeFileSync(elsewhere, "");
  symlinkSync(elsewhere, state);
  const { _id } = await json<Shown>(UPLOAD);
  writeFileSync(partial, "");
  chmodSync(partial, 0o666);
  const target = join(folder, "open.webm");
  expect((await run(`recordings download ${_id} ${target}`)).exitCode).toBe(0);
  expect([readFileSync(target).equals(bytes), statSync(target).mode & 0o777]).toEqual([true, 0o600]);
  expect(readFileSync(elsewhere, "utf8")).toBe("");
});

/** Only root can give a file away. */
describe.if(process.getuid?.() === 0)("beside a recording, a file of another user", () => {
  const OTHER_USER = 65_534;

  test("does not lead an upload to another address", async () => {
    const seen: string[] = [];
    using other = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ url }) => Response.json({ n: seen.push(url) }),
    });
    const own = join(folder, "mine.webm");
    writeFileSync(own, "0123456789");
    const { size, mtimeMs } = statSync(own);
    const uploadUrl = `http://127.0.0.1:${other.port}/taken`;
    writeFileSync(`${own}.parley-upload`, JSON.stringify({ _id: "f".repeat(24), uploadUrl, size, mtimeMs }));
    chownSync(`${own}.parley-upload`, OTHER_USER, OTHER_USER);
    const { exitCode } = await run(`recordings upload ${own} --room standup --username bob`);
    expect([exitCode, seen]).toEqual([0, []]);
  });

  test("does not get a download", async () => {
    const { _id } = await json<Shown>(UPLOAD);
    const target = join(folder, "theirs.webm");
    for (const held of [0, 1000]) {
      writeFileSync(`${target}.partial`, bytes.subarray(0, held));
      chownSync(`${target}.partial`, OTHER_USER, OTHER_USER);
      const { exitCode, stderr } = await run(`recordings download ${_id} ${target}`);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`${target}.partial belongs to another user`)]);
      expect([statSync(`${target}.partial`).size, existsSync(target)]).toEqual([held, false]);
    }
  });
});

test("on a terminal a bar shows the progress; elsewhere there is none", async () => {
  const command = `parley recordings upload '${file}' --room standup --username alice`;
  const plain = await shell(command, cli.server.env);
  expect([plain.exitCode, plain.stderr]).toEqual([0, ""]);
  // `script` runs a command on a new terminal and records its output.
  const run = `"${process.execPath}" --no-env-file "${PARLEY_MAIN}"`;
  const upload = await shell(
    `script -qec '${command.replace("parley", run).replaceAll("'", '"')}' /dev/null`,
    cli.server.env,
  );
  expect(upload.stdout).toMatch(/\[#+-*\] +\d+ %/);
  expect(upload.stdout).toMatch(/100 % {2}20\.0 MiB of 20\.0 MiB/);
  const id = /recording +(\w{24})/.exec(upload.stdout)?.[1];
  const target = join(folder, "shown.webm");
  const download = await shell(`script -qec '${run} recordings download ${id} ${target}' /dev/null`, cli.server.env);
  expect(download.stdout).toMatch(/100 % {2}20\.0 MiB of 20\.0 MiB/);
  expect(readFileSync(target).equals(bytes)).toBe(true);
});

test.each([
  ["recordings upload /nowhere.webm --room a --username b", "/nowhere.webm is not a file"],
  ["recordings upload x --username b", '"parley recordings upload" needs --room'],
  ["recordings show ../../apps", "is not the id of a recording"],
  ["recordings list --type film", "allowed: video, audio, screen, composition"],
  ["recordings list --started-after yesterday", "--started-after is"],
])("%s is refused with a message", async (line, message) => {
  const { exitCode, stderr } = await run(line);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(message);
});

test("the server's refusal of an unknown room is printed", async () => {
  expect(await run(`recordings upload ${file} --room nowhere --username bob`)).toMatchObject({
    exitCode: 1,
    stderr: 'parley: room not found; "parley rooms list" lists them\n',
  });
  expect(existsSync(`${file}.parley-upload`)).toBe(false);
});

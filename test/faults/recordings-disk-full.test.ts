/** A really full disk, on a small tmpfs: a clear error, and nothing lost or partly listed. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newApplication } from "../support/application.ts";
import { inPieces } from "../support/http.ts";
import { refusedStart, type Server, startParley } from "../support/parley.ts";
import { Backend, isRefusal, sha256, webm } from "../support/recordings.ts";
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
  return diskOf(`${mib}m`);
}

function diskOf(size: string): string {
  const path = tempFolder();
  mounted.push(path);
  const { exitCode, stderr } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size}`, "parley-test", path]);
  if (exitCode !== 0) throw new Error(`no tmpfs could be mounted: ${stderr}`);
  return path;
}

const mayMount = process.getuid?.() === 0;
if (!mayMount) console.log("skipped: only root may mount a small disk to fill");

const INSUFFICIENT = { status: 507, code: "insufficient_storage" };

async function start(data: string, floor: number): Promise<{ server: Server; backend: Backend }> {
  const server = await startParley({ data, env: { PARLEY_MIN_FREE_DISK_BYTES: String(floor) } });
  return { server, backend: new Backend(await newApplication(server)) };
}

const whole = async (backend: Backend, id: string): Promise<string> =>
  sha256(await (await backend.fetch(await backend.link(id, "download"))).bytes());

test.skipIf(!mayMount)("a first start on a full disk ends with one line that says so", async () => {
  const { code, output } = await refusedStart(diskOf("100k"));
  expect([code, output]).toEqual([
    1,
    expect.stringMatching(/^parley: the disk is full \(.+\); free some space, .+--data\n$/),
  ]);
});

test.skipIf(!mayMount)(
  "no space left: 507 during the upload, received bytes are kept, and the upload continues once there is space",
  async () => {
    const data = smallDisk(24);
    const { server, backend } = await start(data, 0);
    await using _server = server;
    const [small, large] = [webm(6 * MIB), webm(20 * MIB)];
    const kept = await backend.record({}, small);
    const { _id, uploadUrl } = await backend.begin();
    // Without a length, so that the server cannot know in advance that it will not fit.
    expect(isRefusal(await backend.put(uploadUrl, inPieces(large, 65_536)))).toEqual(INSUFFICIENT);
    const offset = await backend.offset(uploadUrl, large.length);
    expect(offset).toBeWithin(8 * MIB, 20 * MIB);
    expect((await backend.app.call("POST", `/recording/${_id}/complete`)).status).not.toBe(200);
    expect((await backend.list()).data.map((one) => one._id)).toEqual([kept._id]);
    expect(await whole(backend, kept._id)).toBe(sha256(small));
    expect(
      server.log.filter(
        (line) => line.level === "error" && line.msg.includes("internal error while handling a request"),
      ),
    ).toEqual([]);

    Bun.spawnSync(["mount", "-o", "remount,size=64m", data]);
    const rest = { "Content-Range": `bytes ${offset}-${large.length - 1}/${large.length}` };
    expect(await backend.mustPut(uploadUrl, large.slice(offset), rest)).toBe(large.length);
    await backend.complete(_id);
    expect(await whole(backend, _id)).toBe(sha256(large));
    expect((await backend.list()).total).toBe(2);
  },
);

test.skipIf(!mayMount)(
  "below the minimum free space: 507 before a byte is accepted, the service keeps running, and deleting frees space",
  async () => {
    const { server, backend } = await start(smallDisk(40), 16 * MIB);
    await using _server = server;
    const kept = await backend.record({}, webm(10 * MIB));
    const { _id, uploadUrl } = await backend.begin();
    const more = webm(16 * MIB);
    expect(isRefusal(await backend.put(uploadUrl, more))).toEqual(INSUFFICIENT);
    expect(await backend.offset(uploadUrl, more.length)).toBe(0);
    await server.admin.createApp();
    await backend.app.must("DELETE", `/recording/${kept._id}`);
    await backend.mustPut(uploadUrl, more);
    await backend.complete(_id);
    expect(await whole(backend, _id)).toBe(sha256(more));
  },
);

test.skipIf(!mayMount)("no space for the row: 507, not listed, and completed once there is space", async () => {
  const data = smallDisk(16);
  mkdirSync(join(data, "recordings"), { recursive: true });
  const { server, backend } = await start(data, 0);
  await using _server = server;
  const bytes = webm(MIB);
  const { _id, uploadUrl } = await backend.begin();
  await backend.mustPut(uploadUrl, bytes);
  const ballast = join(data, "ballast");
  for (let at = 0; ; at++) {
    try {
      writeFileSync(`${ballast}${at}`, Buffer.alloc(at < 20 ? MIB : 4096, 1));
    } catch {
      break;
    }
  }
  // A few changes still fit into the existing WAL file.
  let answer = await backend.app.call("POST", `/recording/${_id}/complete`);
  for (let tries = 0; answer.status === 200 && tries < 50; tries++)
    answer = await backend.app.call("POST", "/recording", {
      room: String((await backend.app.call("GET", `/recording/${_id}`)).body.room),
      participantUsername: "x".repeat(256),
      type: "video",
    });
  expect(isRefusal(answer as never)).toEqual(INSUFFICIENT);
  const before = await backend.list();
  for (let at = 0; at < 40; at++) rmSync(`${ballast}${at}`, { force: true });
  await backend.complete(_id);
  expect(before.total).toBeLessThanOrEqual(1);
  expect((await backend.list()).data.map((one) => one._id)).toEqual([_id]);
  expect(await whole(backend, _id)).toBe(sha256(bytes));
});

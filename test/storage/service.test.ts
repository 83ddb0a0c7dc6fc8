/** The whole service on a bucket: the same calls, links presigned for the bucket, no byte on a local disk. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { MARK_NAME } from "../../src/recordings/storage/storage.ts";
import { openSqlite, sqliteFile } from "../../src/store/open.ts";
import { Application, expectAppRefusal, newApplication } from "../support/application.ts";
import { expectSentence } from "../support/checks.ts";
import { inPieces } from "../support/http.ts";
import { runParley, type Server, startParley } from "../support/parley.ts";
import { Backend, isRefusal, sha256, webm } from "../support/recordings.ts";
import { type S3Service, startS3 } from "../support/s3.ts";
import { scratch } from "../support/temp.ts";

setDefaultTimeout(60_000);

const MIB = 1024 * 1024;
let service: S3Service;
beforeAll(async () => {
  service = await startS3();
}, 600_000);
afterAll(() => service.stop());

const start = (data?: string): Promise<Server> =>
  startParley({
    ...(data && { data }),
    env: { PARLEY_STORAGE_URL: service.storageUrl, PARLEY_REST_REQUESTS_PER_SECOND: "0" },
  });

const objects = (): string[] =>
  existsSync(join(service.folder, "some"))
    ? readdirSync(join(service.folder, "some"), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name !== MARK_NAME)
        .map((entry) => join(entry.parentPath, entry.name).slice(join(service.folder, "some/prefix/").length))
    : [];

/** At different offsets of a part: S3 may keep a truncated part, whose size must not be trusted. */
const CUTS_AFTER_MS = process.env.PARLEY_TEST_FULL === "1" ? [20, 40, 60, 80] : [50];

test.each(CUTS_AFTER_MS)(
  "an upload in parts that is killed after %i ms becomes complete; its links are the bucket's; deleting it leaves nothing",
  async (cutAfterMs) => {
    using folder = scratch();
    const first = await start(folder.path);
    const { name, secretKey, id } = await newApplication(first);
    const on = (server: Server): Backend => new Backend(new Application(server.url, name, secretKey, id));
    const bytes = webm(21 * MIB + 3);
    const { _id, uploadUrl } = await on(first).begin();
    await on(first).mustPut(uploadUrl, bytes.slice(0, 9 * MIB), {
      "Content-Range": `bytes 0-${9 * MIB - 1}/${bytes.length}`,
    });
    // Interrupted in the middle of a body.
    const cut = on(first)
      .put(uploadUrl, inPieces(bytes.slice(9 * MIB), 262_144), {
        "Content-Range": `bytes ${9 * MIB}-${bytes.length - 1}/${bytes.length}`,
      })
      .catch(() => undefined);
    await Bun.sleep(cutAfterMs);
    await first.kill("SIGKILL");
    await cut;

    await using second = await start(folder.path);
    const backend = on(second);
    const offset = await backend.offset(uploadUrl, bytes.length);
    expect(offset).toBeGreaterThanOrEqual(9 * MIB);
    const rest = { "Content-Range": `bytes ${offset}-${bytes.length - 1}/${bytes.length}` };
    if (offset < bytes.length) expect(await backend.mustPut(uploadUrl, bytes.slice(offset), rest)).toBe(bytes.length);
    expect((await backend.list()).total).toBe(0);
    const made = await backend.complete(_id);
    expect(made.sizeInBytes).toBe(bytes.length);
    expect(made.fileName).toEndWith(".webm");
    expect(isRefusal(await backend.put(uploadUrl, bytes.slice(0, 1)))).toMatchObject({
      status: 409,
      code: "upload_complete",
    });

    const view = await backend.link(_id, "view");
    expect(view).toStartWith(`${service.endpoint}/${service.bucket}/some/prefix/recordings/${id}/${_id}?`);
    const response = await fetch(view);
    expect(response.headers.get("content-type")).toBe("video/webm");
    expect(response.headers.get("content-disposition")).toBe(`inline; filename="${made.downloadName}"`);
    expect(sha256(await response.bytes())).toBe(sha256(bytes));
    expect(objects()).toEqual([`recordings/${id}/${_id}`]);
    expect(existsSync(join(folder.path, "recordings"))).toBe(false);

    await backend.app.must("DELETE", `/recording/${_id}`);
    expect(objects()).toEqual([]);
    expect((await fetch(view)).status).toBe(404);
    for (const { output } of [first, second]) {
      expect(output).not.toContain(service.secretKey);
      expect(output).not.toContain("X-Amz-Signature");
    }
  },
);

test("a file that is no video is an attachment, although the bucket serves it", async () => {
  await using server = await start();
  const backend = new Backend(await newApplication(server));
  const page = await backend.record({}, Buffer.from("<!doctype html><script>alert(1)</script>"));
  const { headers } = await fetch(await backend.link(page._id, "view"));
  expect(headers.get("content-type")).toBe("application/octet-stream");
  expect(headers.get("content-disposition")).toStartWith("attachment");
  await backend.app.must("DELETE", `/recording/${page._id}`);
});

test("an operator gets the bytes from the bucket, whole and in parts, under our own address", async () => {
  await using server = await start();
  const { admin } = server;
  const backend = new Backend(await newApplication(server));
  const bytes = webm(5 * MIB + 7);
  const { _id, downloadName } = await backend.record({}, bytes);
  const url = `${server.url}/api/internal/v1/apps/${backend.app.name}/recordings/${_id}/file`;
  const ask = (more: RequestInit = {}, query = ""): Promise<Response> =>
    fetch(url + query, {
      redirect: "error",
      ...more,
      headers: { Authorization: `Bearer ${admin.token}`, ...more.headers },
    });
  const whole = await ask();
  expect(Object.fromEntries(whole.headers)).toMatchObject({
    "content-type": "video/webm",
    "content-disposition": `inline; filename="${downloadName}"`,
    "content-security-policy": "sandbox",
    "x-content-type-options": "nosniff",
    "accept-ranges": "bytes",
  });
  expect(sha256(await whole.bytes())).toBe(sha256(bytes));
  const part = await ask({ headers: { Range: `bytes=${2 * MIB - 3}-` } });
  expect([part.status, part.headers.get("content-range")]).toEqual([
    206,
    `bytes ${2 * MIB - 3}-${bytes.length - 1}/${bytes.length}`,
  ]);
  expect(sha256(await part.bytes())).toBe(sha256(bytes.slice(2 * MIB - 3)));
  const head = await ask({ method: "HEAD" }, "?download=1");
  expect(head.headers.get("content-disposition")).toBe(`attachment; filename="${downloadName}"`);
  // Clients that stop reading give their place back.
  for (let i = 0; i < 40; i++) await (await ask()).body?.cancel();
  expect((await ask({ headers: { Range: "bytes=0-3" } })).status).toBe(206);
  await backend.app.must("DELETE", `/recording/${_id}`);
  expect((await ask()).status).toBe(404);
  expect(server.output).not.toContain("X-Amz-Signature");
});

test("an abandoned upload leaves nothing in the bucket, parts and last bytes included", async () => {
  using folder = scratch();
  // So far the bucket belongs to another test's store, and a store removes such bytes only in its own bucket.
  rmSync(join(service.folder, "some/prefix", MARK_NAME), { force: true });
  const first = await start(folder.path);
  const backend = new Backend(await newApplication(first));
  const { uploadUrl } = await backend.begin();
  await backend.mustPut(uploadUrl, webm(9 * MIB), { "Content-Range": `bytes 0-${9 * MIB - 1}/${30 * MIB}` });
  expect(objects()).toHaveLength(1);
  await first.kill("SIGTERM");
  const sql = await openSqlite(sqliteFile(folder.path));
  await sql`UPDATE uploads SET touched = touched - ${25 * 3_600_000}`;
  await sql.close();
  await using second = await start(folder.path);
  await second.logged((line) => line.msg === "recordings swept" && line.abandoned === 1);
  expect(objects()).toEqual([]);
  const multipart = join(service.folder, ".sgwtmp/multipart");
  const parts = existsSync(multipart) ? readdirSync(multipart, { recursive: true, withFileTypes: true }) : [];
  expect(parts.filter((entry) => entry.isFile())).toEqual([]);
});

test("a bucket that does not respond: the start reports it, the service keeps running, uploads are 503 without the cause", async () => {
  const url = service.storageUrl.replace("@parley-test", "@another-bucket");
  await using server = await startParley({ env: { PARLEY_STORAGE_URL: url } });
  const complaint = await server.logged((line) => line.msg.startsWith("recordings cannot be stored"));
  expect(complaint.msg).toContain("another-bucket");
  const backend = new Backend(await newApplication(server));
  const body = { room: await backend.room(), participantUsername: "ann", type: "video" };
  const answer = await backend.app.call("POST", "/recording", body);
  expectAppRefusal(answer, 503, "internal_error");
  expect(answer.text).not.toMatch(/bucket|NoSuch|http/);
  await server.logged((line) => line.level === "error" && line.msg.startsWith("the storage of recordings"));
  expect((await backend.list()).total).toBe(0);
  expect(server.output).not.toContain(service.secretKey);
});

test.each([
  ["s3://bucket", "it needs a credential"],
  ["s3://k:hush@bucket?acl=x", "and nothing else"],
  ["s3://k:hush@b?endpoint=ftp://x", "it must have the form"],
])("PARLEY_STORAGE_URL=%s stops the start with a sentence, without its secret", async (url, message) => {
  using folder = scratch();
  const env = { PARLEY_STORAGE_URL: url, AWS_ACCESS_KEY_ID: "", AWS_SECRET_ACCESS_KEY: "" };
  const ended = await runParley(["up", "--port", "0", "--data", folder.path], env);
  expectSentence(ended, "PARLEY_STORAGE_URL", message);
  expect(ended.output).not.toContain("hush");
});

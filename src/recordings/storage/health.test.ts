import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../../../test/support/wait.ts";
import { Folder } from "./folder/folder.ts";
import { StorageHealth, type StorageHealthParts } from "./health.ts";
import { parseS3Address } from "./s3/address.ts";
import { Bucket } from "./s3/bucket.ts";
import { StorageFull, StorageUnwritable } from "./storage.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "parley-health-"));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function healthOf(storage: StorageHealthParts["storage"]) {
  const clock = { nowMs: 0 };
  const changes: string[] = [];
  const health = new StorageHealth({
    storage,
    ownership: { isMissing: async () => false },
    monotonicMs: () => clock.nowMs,
    changed: (state) => changes.push(state),
  });
  const later = (): Promise<string> => {
    clock.nowMs += 5000;
    return health.state();
  };
  return { health, changes, later };
}

test("a folder that is removed is missing, and is found again by itself; the log hears of both", async () => {
  const { changes, later } = healthOf(new Folder(join(root, "recordings"), 0));
  expect(await later()).toBe("ok");
  renameSync(join(root, "recordings"), join(root, "elsewhere"));
  expect([await later(), await later()]).toEqual(["missing", "missing"]);
  renameSync(join(root, "elsewhere"), join(root, "recordings"));
  expect(await later()).toBe("ok");
  expect(changes).toEqual(["missing", "ok"]);
  expect(readdirSync(join(root, "recordings/uploads"))).toEqual([]);
});

test("a folder with too little space is full", async () => {
  expect(await healthOf(new Folder(root, Number.MAX_SAFE_INTEGER)).later()).toBe("full");
});

test.each([
  ["full", new StorageFull()],
  ["unwritable", new StorageUnwritable()],
  ["unreachable", new Error("EIO")],
])("a storage is %s if its check fails so", async (state, error) => {
  expect(await healthOf({ check: () => Promise.reject(error) }).later()).toBe(state);
});

test("a check that hangs does not make callers wait, and metrics agree", async () => {
  const { health, changes, later } = healthOf({ check: () => new Promise(() => undefined) });
  const began = performance.now();
  expect(await later()).toBe("unreachable");
  expect(performance.now() - began).toBeLessThan(15_000);
  const knownMs = performance.now();
  // Each would take a second and a half if it waited for the check.
  for (let i = 0; i < 10; i++) expect(await later()).toBe("unreachable");
  expect(performance.now() - knownMs).toBeLessThan(10_000);
  expect([health.isUp, changes]).toEqual([false, ["unreachable"]]);
});

describe("a bucket", () => {
  /** Answers like S3, as `status` says for each request. */
  function bucketWith(status: (request: Request) => number | Promise<number>) {
    const seen: string[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      idleTimeout: 0,
      fetch: async (request) => {
        const { pathname, searchParams } = new URL(request.url);
        seen.push(`${request.method} ${pathname}${searchParams.has("uploads") ? "?uploads" : ""}`);
        const upload = "<UploadId>one</UploadId>";
        return new Response(request.method === "POST" ? upload : null, { status: await status(request) });
      },
    });
    const url = `s3://key:secret@bucket/some?endpoint=http://127.0.0.1:${server.port}`;
    return {
      seen,
      bucket: new Bucket(parseS3Address(url, {}), 1e9, Date.now),
      [Symbol.dispose]: () => server.stop(true),
    };
  }

  test("is asked for, and tried with an upload that is aborted, which leaves nothing behind", async () => {
    using at = bucketWith(() => 200);
    const { later } = healthOf(at.bucket);
    expect([await later(), await later()]).toEqual(["ok", "ok"]);
    expect(at.seen).toEqual([
      "HEAD /bucket/",
      "POST /bucket/some/parley-check?uploads",
      "DELETE /bucket/some/parley-check",
      "HEAD /bucket/",
    ]);
  });

  test.each([
    ["missing", 404],
    ["unwritable", 403],
    ["unreachable", 503],
  ])("is %s if it answers %d", async (state, status) => {
    using at = bucketWith(() => status);
    // The second for the reason, which an answer to HEAD does not have. Neither is repeated.
    expect([await healthOf(at.bucket).later(), at.seen]).toEqual([state, ["HEAD /bucket/", "GET /bucket/"]]);
  });

  test("is unwritable if it may be read only", async () => {
    using at = bucketWith(({ method }) => (method === "HEAD" ? 200 : 403));
    expect(await healthOf(at.bucket).later()).toBe("unwritable");
  });

  test("that hangs is unreachable, and well again when it answers", async () => {
    let answer = (): void => undefined;
    let isHanging = true;
    using at = bucketWith(() => (isHanging ? new Promise((resolve) => (answer = () => resolve(200))) : 200));
    const { later } = healthOf(at.bucket);
    expect(await later()).toBe("unreachable");
    isHanging = false;
    answer();
    await until("the storage is found well", async () => (await later()) === "ok");
  });

  test("that says it is full is full, until it takes something", async () => {
    let status = 507;
    using at = bucketWith(({ method }) => (method === "PUT" ? status : 200));
    const { later } = healthOf(at.bucket);
    expect(await later()).toBe("ok");
    await expect(at.bucket.writeMark("mark")).rejects.toBeInstanceOf(StorageFull);
    expect(await later()).toBe("full");
    status = 200;
    await at.bucket.writeMark("mark");
    expect(await later()).toBe("ok");
  });
});

/** Recordings in a bucket, against a real S3-compatible service. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { anAppId } from "../../src/base/testing/ids.ts";
import { parseS3Address } from "../../src/recordings/storage/s3/address.ts";
import { Bucket } from "../../src/recordings/storage/s3/bucket.ts";
import { MARK_NAME, type Place } from "../../src/recordings/storage/storage.ts";
import { ALONE, pattern, storageSuite } from "../../src/recordings/testing/storage.suite.ts";
import { type S3Service, startS3 } from "../support/s3.ts";

/** The first run builds the service. */
const BUILD_MS = 600_000;
const MAX_BYTES = 4 * 1024 ** 3;

let service: S3Service;
beforeAll(async () => {
  service = await startS3();
}, BUILD_MS);
afterAll(() => service.stop());

const bucket = (url = service.storageUrl): Bucket => new Bucket(parseS3Address(url, {}), MAX_BYTES, Date.now);
const LINK = { disposition: "inline", contentType: "video/webm", seconds: 60 };

storageSuite("a bucket", async () => {
  const storage = bucket();
  const read = async (place: Place): Promise<Uint8Array> => (await fetch(storage.link(place, LINK))).bytes();
  return { storage, read, reopen: () => bucket() };
});

async function* once(bytes: Uint8Array) {
  yield bytes;
}

async function finished(storage: Bucket, bytes: Uint8Array): Promise<Place> {
  const [app, id] = [anAppId("a".repeat(24)), crypto.randomUUID().replaceAll("-", "").slice(0, 24)];
  const place = { app, id, locator: await storage.begin(app, id) };
  await storage.append(place, 0, once(bytes), ALONE);
  await storage.finish(place, bytes.length);
  return place;
}

describe("a bucket", () => {
  test("its links serve ranges, with the signed headers, and only unchanged", async () => {
    const storage = bucket();
    const bytes = pattern(10_000);
    const place = await finished(storage, bytes);
    const disposition = 'attachment; filename="a b.webm"';
    const url = storage.link(place, { ...LINK, disposition });
    const part = await fetch(url, { headers: { Range: "bytes=100-199" } });
    expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 100-199/10000"]);
    expect(part.headers.get("content-type")).toBe("video/webm");
    expect(part.headers.get("content-disposition")).toBe(disposition);
    expect(part.headers.get("cache-control")).toBe("private, no-store");
    expect(await part.bytes()).toEqual(bytes.slice(100, 200));
    for (const changed of [
      url.replace("inline", "x"),
      url.replace("video%2Fwebm", "text%2Fhtml"),
      `${url.slice(0, -1)}g`,
    ])
      if (changed !== url) expect((await fetch(changed)).status).toBe(403);
    expect((await fetch(url, { method: "DELETE" })).status).toBe(403);
    await storage.remove(place);
    expect((await fetch(url)).status).toBe(404);
  });

  test("an expired link is refused", async () => {
    const late = new Bucket(parseS3Address(service.storageUrl, {}), MAX_BYTES, () => Date.now() - 120_000);
    const place = await finished(bucket(), pattern(10));
    expect((await fetch(late.link(place, LINK))).status).toBe(403);
    await bucket().remove(place);
  });

  test("finishing leaves the recording and nothing else, under the prefix", async () => {
    const place = await finished(bucket(), pattern(100));
    const files = readdirSync(join(service.folder, "some"), { recursive: true, withFileTypes: true });
    const mine = files
      .filter((entry) => entry.isFile() && entry.name !== MARK_NAME)
      .map((entry) => join(entry.parentPath, entry.name));
    expect(mine).toEqual([join(service.folder, "some/prefix/recordings", place.app, place.id)]);
    await bucket().remove(place);
  });

  test("a wrong secret or a missing bucket gives an error that names the call, without the credential", async () => {
    for (const url of [
      service.storageUrl.replace(/:[^:@]+@/, ":wrong@"),
      service.storageUrl.replace("@parley-test", "@another-bucket"),
    ]) {
      const error = await bucket(url)
        .check()
        .catch((one: Error) => one);
      expect(String(error)).toMatch(/the bucket answered GET with 40[34] \w+/);
      expect(String(error)).not.toMatch(/wrong|test-access|X-Amz|http/);
    }
  });

  test("an unreachable service gives an error without its address", async () => {
    const url = service.storageUrl.replace(/endpoint=.*/, "endpoint=http://127.0.0.1:1");
    const error = await bucket(url)
      .check()
      .catch((one: Error) => one);
    expect(String(error)).toMatch(/the bucket cannot be reached for HEAD/);
    expect(String(error)).not.toMatch(/127\.0\.0\.1|X-Amz/);
  });
});

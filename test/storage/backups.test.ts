/** Backups in a bucket, against a real S3-compatible service. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { BucketTarget } from "../../src/durable/targets/bucket.ts";
import { backupName, isBackupName } from "../../src/durable/targets/names.ts";
import { openTarget } from "../../src/durable/targets/open.ts";
import { removeOldUploads } from "../../src/durable/targets/open-uploads.ts";
import { gathered, inChunks, NOW_MS, noise } from "../../src/durable/testing/archives.ts";
import { targetSuite } from "../../src/durable/testing/target.suite.ts";
import { parseS3Address, type S3Address } from "../../src/recordings/storage/s3/address.ts";
import { S3Client } from "../../src/recordings/storage/s3/client.ts";
import { type S3Service, startS3 } from "../support/s3.ts";

/** The first run builds the service. */
const BUILD_MS = 600_000;
const DAY_MS = 24 * 3_600_000;
const MIB = 1024 * 1024;
const NAME = backupName(NOW_MS);

let service: S3Service;
beforeAll(async () => {
  service = await startS3();
}, BUILD_MS);
afterAll(() => service.stop());

const OPTIONS = { env: {}, nowMs: Date.now };
let places = 0;
/** A prefix of its own in the bucket. */
const place = (): { url: (name?: string) => string; address: S3Address; client: S3Client } => {
  const prefix = `backups/${places++}`;
  const url = (name = ""): string => service.storageUrl.replace("some/prefix", prefix + name);
  const address = parseS3Address(url(), {});
  return { url, address, client: new S3Client(address, Date.now) };
};

async function everythingIn({ address: { prefix }, client }: ReturnType<typeof place>): Promise<string[]> {
  const objects = await Array.fromAsync(client.list(prefix), ({ key }) => key.slice(prefix.length));
  const uploads = await Array.fromAsync(client.openMultiparts(prefix), ({ key }) => `open ${key.slice(prefix.length)}`);
  return [...objects, ...uploads];
}

targetSuite("a bucket", async () => {
  const here = place();
  return {
    target: await openTarget(here.url(), OPTIONS),
    reopen: () => new BucketTarget(here.address, Date.now),
    single: (name, force) => openTarget(here.url(`/${name}`), { ...OPTIONS, force }),
    everything: () => everythingIn(here),
    addForeign: (name) => here.client.put(here.address.prefix + name, new Uint8Array(3)),
  };
});

describe("a bucket of backups", () => {
  test("loses old uploads, and no others", async () => {
    const here = place();
    const { client, address } = here;
    for (const name of [backupName(0), "parley-notes"]) await client.createMultipart(address.prefix + name);
    await new BucketTarget(address, Date.now).write(NAME, inChunks(noise(10)));
    expect(await everythingIn(here)).toEqual([NAME, `open ${backupName(0)}`, "open parley-notes"]);
    const isOurs = (key: string): boolean => isBackupName(key.slice(address.prefix.length));
    await removeOldUploads(client, address.prefix, isOurs, Date.now() + DAY_MS);
    expect(await everythingIn(here)).toEqual([NAME, "open parley-notes"]);
  });

  test("has parts of one size, which grows with the size that is expected", async () => {
    const { address, client } = place();
    const key = address.prefix + NAME;
    let sizes: number[] = [];
    async function* watched(): AsyncGenerator<Uint8Array> {
      for (let count = 0; count < 4; count++) yield noise(11 * MIB);
      for await (const { uploadId } of client.openMultiparts(key))
        sizes = ((await client.parts(key, uploadId)) ?? []).map(({ size }) => size);
    }
    await new BucketTarget(address, Date.now).write(NAME, watched(), { expectedBytes: 9000 * 10 * MIB });
    expect(sizes.length).toBeGreaterThanOrEqual(2);
    expect(new Set(sizes)).toEqual(new Set([10 * MIB]));
  });

  test("that refuses, or is not there, gives an error without its credential", async () => {
    const { url } = place();
    const cases = [
      [url().replace(/:[^:@]+@/, ":wrong@"), "forbidden"],
      [url().replace("@parley-test", "@another-bucket"), "missing"],
      [url().replace(/endpoint=.*/, "endpoint=http://127.0.0.1:1"), "unavailable"],
    ] as const;
    for (const [text, reason] of cases) {
      const target = await openTarget(text, OPTIONS);
      // One after the other: a write that fails while a list is awaited would be a rejection that no one handles.
      for (const attempt of [() => target.list(), () => target.write(NAME, inChunks(noise(1)))]) {
        const error = await attempt().then(
          () => undefined,
          (one: Error) => one,
        );
        expect(error).toMatchObject({ reason });
        expect(String(error)).not.toMatch(/wrong|test-access|X-Amz|http/);
      }
    }
  });

  test("that is lost while a backup is written fails it", async () => {
    const own = await startS3();
    const target = await openTarget(own.storageUrl, OPTIONS);
    const stop = new AbortController();
    async function* cut(): AsyncGenerator<Uint8Array> {
      yield noise(9 * MIB);
      await own.stop();
      yield noise(9 * MIB);
    }
    await expect(target.write(NAME, cut(), { signal: stop.signal })).rejects.toMatchObject({ reason: "unavailable" });
  });

  test("is read in ranges", async () => {
    const { address } = place();
    const target = new BucketTarget(address, Date.now);
    const bytes = noise(20 * MIB);
    await target.write(NAME, inChunks(bytes, MIB));
    const sizes = await Array.fromAsync(target.read(NAME), (chunk) => chunk.length);
    expect(sizes).toEqual([8 * MIB, 8 * MIB, 4 * MIB]);
    expect((await gathered(target.read(NAME))).equals(bytes)).toBe(true);
  });
});

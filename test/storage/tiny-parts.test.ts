/** A page that sends its recording byte by byte to a bucket: the number of objects stays bounded, and the recording is whole. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Recorder, recordedRoom } from "../attack/support/recorder.ts";
import { shortLimits } from "../attack/support/short-limits.ts";
import { ROOMS_ENV } from "../conformance/raw/support/rooms.ts";
import { call } from "../support/http.ts";
import { startParley } from "../support/parley.ts";
import { sha256, webm } from "../support/recordings.ts";
import { type S3Service, startS3 } from "../support/s3.ts";

setDefaultTimeout(900_000);

const PARTS = process.env.PARLEY_TEST_FULL === "1" ? 10_000 : 70;
const OBJECTS_MAX = 40;

let service: S3Service;
beforeAll(async () => {
  service = await startS3();
}, 600_000);
afterAll(() => service.stop());

const objects = (): number => {
  const folder = join(service.folder, "some/prefix/uploads");
  return existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).length
    : 0;
};

test(`${PARTS} parts of a byte each are never more than ${OBJECTS_MAX} objects`, async () => {
  const none = { burst: 0, perSecond: 0 };
  const env = {
    ...ROOMS_ENV,
    ...shortLimits({ uploadRates: { perUpload: none, perAddress: none } }),
    PARLEY_STORAGE_URL: service.storageUrl,
    PARLEY_REST_REQUESTS_PER_SECOND: "0",
  };
  await using server = await startParley({ env });
  const ann = await Recorder.in(await recordedRoom(server));
  const run = await ann.begin();
  const bytes = webm(PARTS);
  let most = 0;
  for (let at = 0; at < PARTS; at++) {
    expect((await ann.part(run, at, bytes.subarray(at, at + 1))).body.offset).toBe(at + 1);
    if (at % 10 === 0) most = Math.max(most, objects());
  }
  expect(most).toBeGreaterThan(0);
  expect(most).toBeLessThanOrEqual(OBJECTS_MAX);
  expect((await call(`${server.url}/healthz`)).status).toBe(200);
  await ann.end(run._id);
  expect(await ann.listed(run)).toMatchObject({ sizeInBytes: PARTS, mended: false });
  expect(objects()).toBe(0);
  expect(sha256(await (await fetch(await ann.backend.link(run._id, "download"))).bytes())).toBe(sha256(bytes));
});

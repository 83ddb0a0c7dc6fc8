/** Mended recordings as players see them: ffmpeg reads them, over HTTP with ranges, and from a bucket. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatOf } from "../../src/recordings/files/signature.ts";
import { MEND_COMMAND, ProcessMender } from "../../src/recordings/mending/process-mender.ts";
import { finishedUpload, makeMending } from "../../src/recordings/mending/testing/mending-kit.ts";
import { parseS3Address } from "../../src/recordings/storage/s3/address.ts";
import { Bucket } from "../../src/recordings/storage/s3/bucket.ts";
import { MARK_NAME } from "../../src/recordings/storage/storage.ts";
import { makeKit } from "../../src/recordings/testing/kit.ts";
import { complaints, ffprobe, frameAt, looped, RECORDED, serveRanges } from "../support/media.ts";
import { type S3Service, startS3 } from "../support/s3.ts";
import { removeFolder, tempFolder } from "../support/temp.ts";

setDefaultTimeout(60_000);

const folder = tempFolder();
afterAll(() => removeFolder(folder));

let files = 0;

/** Mends a file with the process that a service starts, and returns the path of the result. */
async function mended(path: string): Promise<string> {
  const output = join(tempFolder(folder), `mended-${files++}`);
  const [size, head] = [Bun.file(path).size, await Bun.file(path).slice(0, 64).bytes()];
  const result = await new ProcessMender({ command: MEND_COMMAND }).mend(
    { path, format: formatOf(head), size },
    output,
  );
  expect(result).toMatchObject({ outcome: "mended" });
  return output;
}

test.each([
  ["camera.webm", 8, ["opus", "vp8"]],
  ["microphone.webm", 8, ["opus"]],
  ["camera.mp4", 8, ["opus", "vp9"]],
])("%s: the duration is right, and all of it can be decoded", async (name, seconds, codecs) => {
  const path = await mended(join(RECORDED, name));
  const probed = await ffprobe(path);
  expect(probed.codecs).toEqual(codecs);
  expect(Math.abs(probed.duration - seconds)).toBeLessThan(0.2);
  expect(await complaints(path)).toBe("");
});

const IS_FULL = process.env.PARLEY_TEST_FULL === "1";

/** Decoding costs more than mending: outside full runs, only some of the cuts. */
const CUTS = IS_FULL ? Array.from({ length: 19 }, (_, at) => at + 1) : [3, 19];

test.each(CUTS)("a camera's file that was cut off at %i/20 has the duration of what came", async (at) => {
  const bytes = readFileSync(join(RECORDED, "camera.webm"));
  const cut = join(folder, `cut-${at}`);
  writeFileSync(cut, bytes.subarray(0, Math.floor((bytes.length * at) / 20)));
  const path = await mended(cut);
  // The first frame is larger than the others.
  expect(Math.abs((await ffprobe(path)).duration - (8 * at) / 20)).toBeLessThan(1);
  expect(await complaints(path)).toBe("");
});

/** 20 minutes; in the sample, 4. */
const LOOPS = IS_FULL ? 150 : 30;

test("seeking to the end of a long recording reads a small part of the file", async () => {
  const long = join(folder, "long");
  await looped(join(RECORDED, "camera.webm"), LOOPS, long);
  expect((await ffprobe(long)).duration).toBeNaN();
  const path = await mended(long);
  const { duration } = await ffprobe(path);
  expect(Math.abs(duration - LOOPS * 8)).toBeLessThan(10);
  const server = serveRanges(path);
  const frame = await frameAt(server.url, Math.floor(duration) - 5);
  server.stop();
  expect(frame).toContain("#dimensions 0: 320x240");
  // What lies in the buffers of a busy machine counts as sent, whether or not it is read.
  expect(server.sent).toBeLessThan(Bun.file(path).size / (IS_FULL ? 4 : 2));
});

describe.skipIf(!IS_FULL)("in a bucket", () => {
  let service: S3Service;
  beforeAll(async () => {
    service = await startS3();
  }, 600_000);
  afterAll(() => service.stop());

  test("a recording is mended, its link plays, and only the mended file is left", async () => {
    const storage = new Bucket(parseS3Address(service.storageUrl, {}), 4 * 1024 ** 3, Date.now);
    const kit = await makeKit({ wrap: () => storage });
    const id = await finishedUpload(kit, new Uint8Array(readFileSync(join(RECORDED, "camera.webm"))));
    const { queue, errors } = makeMending(kit, new ProcessMender({ command: MEND_COMMAND }));
    queue.wake();
    await queue.idle();
    expect(errors).toEqual([]);
    const row = await kit.recordings.get(kit.app, id);
    expect(row).toMatchObject({ mended: true, endTime: row.startTime + 8 });
    const { url } = kit.recordings.link(row, "view", 60, "");
    expect(Math.abs((await ffprobe(url)).duration - 8)).toBeLessThan(0.2);
    const root = join(service.folder, "some");
    const objects = (): string[] =>
      (existsSync(root) ? readdirSync(root, { recursive: true, withFileTypes: true }) : [])
        .filter((entry) => entry.isFile() && entry.name !== MARK_NAME)
        .map(({ name }) => name);
    expect(objects()).toEqual([row.file ?? ""]);
    await kit.recordings.delete(kit.app, id);
    expect(objects()).toEqual([]);
    await kit.close();
  });
});

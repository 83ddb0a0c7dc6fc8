/** What a real service is hard to bring to: it fails in between, or has what is days old. test/storage/backups.test.ts runs the suite with a real one. */
import { afterEach, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { inChunks, NOW_MS, noise } from "../testing/archives.ts";
import { backupName } from "./names.ts";
import { openTarget } from "./open.ts";
import type { Target } from "./target.ts";

const NAME = backupName(NOW_MS);
const MIB = 1024 * 1024;
const SEEN_MD5 = (bytes: Uint8Array): string => createHash("md5").update(bytes).digest("hex");

/** Answers as a service does, as far as a write needs it, and notes what was asked. */
class FakeBucket {
  readonly calls: string[] = [];
  readonly parts: { readonly number: string; readonly md5: string; readonly size: number }[] = [];
  /** How many parts are still to be refused before they are accepted. */
  refusals = 0;
  openUploads = "";
  private readonly server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: (request) => this.answer(request) });

  target(): Promise<Target> {
    const url = `s3://key:secret@bucket?endpoint=http://127.0.0.1:${this.server.port}`;
    return openTarget(url, { env: {}, nowMs: Date.now });
  }

  stop(): void {
    this.server.stop(true);
  }

  private async answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const [uploadId, number] = [searchParams.get("uploadId"), searchParams.get("partNumber")];
    const body = await request.bytes();
    this.calls.push(`${request.method} ${pathname.replace("/bucket/", "")}${uploadId ? ` ${uploadId}` : ""}`);
    if (request.method === "HEAD") return new Response(null, { status: 404 });
    if (number !== null && this.refusals-- > 0) return new Response("", { status: 503 });
    if (number !== null) this.parts.push({ number, md5: SEEN_MD5(body), size: body.length });
    if (request.method === "GET" && searchParams.has("uploads")) return new Response(this.openUploads);
    if (request.method === "GET") return new Response(this.parts.map(partXml).join(""));
    return new Response("<UploadId>new</UploadId>");
  }
}

const partXml = ({ number, size }: { readonly number: string; readonly size: number }): string =>
  `<Part><PartNumber>${number}</PartNumber><ETag>x</ETag><Size>${size}</Size><LastModified>2020-01-01T00:00:00Z</LastModified></Part>`;

let bucket: FakeBucket;
afterEach(() => bucket.stop());

test("a part that is sent again has the bytes it had, while the next ones arrive", async () => {
  bucket = new FakeBucket();
  bucket.refusals = 1;
  const bytes = noise(20 * MIB);
  await (await bucket.target()).write(NAME, inChunks(bytes, 4 * MIB));
  const expected = [0, 8, 16].map((at) => SEEN_MD5(bytes.subarray(at * MIB, (at + 8) * MIB)));
  expect(bucket.parts.map(({ md5 }) => md5)).toEqual(expected);
  expect(bucket.calls.at(-1)).toBe(`POST ${NAME} new`);
});

test("a write removes old uploads of backups", async () => {
  bucket = new FakeBucket();
  const upload = (key: string, initiated: string): string =>
    `<Upload><Key>${key}</Key><UploadId>of-${key}</UploadId><Initiated>${initiated}</Initiated></Upload>`;
  const [old, young] = [backupName(0), backupName(1000)];
  const now = new Date(Date.now()).toISOString();
  bucket.openUploads = upload(old, "2020-01-01T00:00:00Z") + upload(young, now) + upload("x", "2020-01-01T00:00:00Z");
  await (await bucket.target()).write(NAME, inChunks(noise(10)));
  expect(bucket.calls.filter((call) => call.startsWith("DELETE"))).toEqual([`DELETE ${old} of-${old}`]);
});

test("a part that is refused for good ends the write, and the upload is aborted", async () => {
  bucket = new FakeBucket();
  bucket.refusals = 100;
  const stop = new AbortController();
  async function* endless(): AsyncGenerator<Uint8Array> {
    for (let count = 0; ; count++) {
      if (count === 9) stop.abort();
      yield noise(MIB);
    }
  }
  const outcome = (await bucket.target()).write(NAME, endless(), { signal: stop.signal });
  await expect(outcome).rejects.toMatchObject({ reason: "aborted" });
  expect(bucket.calls.at(-1)).toBe(`DELETE ${NAME} new`);
});

/** Uploads whose total is not known: `Content-Range: bytes a-b/*`, fixed by `complete {total}`. */
import { beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { newApplication } from "../support/application.ts";
import { checkedServerForTests } from "../support/for-tests.ts";
import { inPieces } from "../support/http.ts";
import { Backend, isRefusal, sha256, webm } from "../support/recordings.ts";

setDefaultTimeout(60_000);

const MAX_BYTES = 1_000_000;
const TINY_PARTS = process.env.PARLEY_TEST_FULL === "1" ? 400 : 150;

const server = await checkedServerForTests({
  env: { PARLEY_MAX_RECORDING_BYTES: String(MAX_BYTES), PARLEY_REST_REQUESTS_PER_SECOND: "0" },
});
let backend: Backend;
beforeEach(async () => {
  backend = new Backend(await newApplication(server));
});

const part = (first: number, bytes: Uint8Array, total: number | string = "*") => ({
  "Content-Range": `bytes ${first}-${first + bytes.length - 1}/${total}`,
});

const NEW = { participantUsername: "ann", type: "video" };

const held = async (uploadUrl: string): Promise<number> =>
  (await backend.put(uploadUrl, undefined, { "Content-Range": "bytes */*" })).body.offset;

async function sendAll(uploadUrl: string, bytes: Uint8Array, size: number): Promise<void> {
  for (let at = 0; at < bytes.length; at += size) {
    const piece = bytes.slice(at, at + size);
    expect(await backend.mustPut(uploadUrl, piece, part(at, piece))).toBe(at + piece.length);
  }
}

const bytesOf = async (id: string): Promise<Uint8Array> =>
  (await backend.fetch(await backend.link(id, "download"))).bytes();

test("questions for the offset have a rate, whatever length they announce", async () => {
  const { uploadUrl } = await backend.begin();
  const body = webm(64 * 1024);
  const statuses = new Set<number>();
  for (let nr = 0; nr < 400 && !statuses.has(429); nr++)
    statuses.add((await backend.put(uploadUrl, body, { "Content-Range": "bytes */*" })).status);
  expect([...statuses]).toEqual([200, 429]);
});

describe("an upload whose total is not known", () => {
  test("takes parts, says what it holds, and is complete when the total is named that it holds", async () => {
    const { _id, uploadUrl } = await backend.begin();
    expect(await held(uploadUrl)).toBe(0);
    const bytes = webm(250_001);
    await sendAll(uploadUrl, bytes, 100_000);
    expect(await held(uploadUrl)).toBe(bytes.length);
    const whole = await backend.complete(_id, { total: bytes.length });
    expect(whole.sizeInBytes).toBe(bytes.length);
    expect(sha256(await bytesOf(_id))).toBe(sha256(bytes));
    expect(await backend.complete(_id, { total: bytes.length })).toEqual(whole);
    const late = await backend.put(uploadUrl, webm(5), part(bytes.length, webm(5)));
    expect(isRefusal(late)).toEqual({ status: 409, code: "upload_complete", offset: bytes.length });
  });

  test("is not completed without a total, nor with a wrong one, and goes on afterwards", async () => {
    const { _id, uploadUrl } = await backend.begin();
    const bytes = webm(900);
    await sendAll(uploadUrl, bytes.slice(0, 600), 300);
    for (const body of [{}, { total: 599 }, { total: 601 }, { total: 0 }]) {
      const answer = await backend.app.call("POST", `/recording/${_id}/complete`, body);
      expect([answer.status, answer.body.error.code, answer.body.offset]).toEqual([409, "upload_incomplete", 600]);
    }
    expect((await backend.app.call("POST", `/recording/${_id}/complete`, { total: -1 })).status).toBe(400);
    expect((await backend.list()).total).toBe(0);
    await backend.mustPut(uploadUrl, bytes.slice(600), part(600, bytes.slice(600)));
    expect((await backend.complete(_id, { total: 900 })).sizeInBytes).toBe(900);
    expect(sha256(await bytesOf(_id))).toBe(sha256(bytes));
  });

  test("refuses parts that overlap, repeat or leave a gap, with the offset it holds", async () => {
    const { uploadUrl } = await backend.begin();
    const bytes = webm(400);
    await backend.mustPut(uploadUrl, bytes.slice(0, 200), part(0, bytes.slice(0, 200)));
    for (const [first, last] of [
      [0, 200],
      [100, 300],
      [199, 250],
      [201, 300],
      [100_000, 100_001],
    ] as const) {
      const piece = bytes.slice(0, last - first);
      const answer = await backend.put(uploadUrl, piece, part(first, piece));
      expect(isRefusal(answer)).toEqual({ status: 409, code: "offset_mismatch", offset: 200 });
    }
    expect(await held(uploadUrl)).toBe(200);
  });

  test("can learn its total from a later part; then no part goes beyond it", async () => {
    const { _id, uploadUrl } = await backend.begin();
    const bytes = webm(300);
    await backend.mustPut(uploadUrl, bytes.slice(0, 100), part(0, bytes.slice(0, 100)));
    await backend.mustPut(uploadUrl, bytes.slice(100, 200), part(100, bytes.slice(100, 200), 300));
    const beyond = await backend.put(uploadUrl, webm(101), part(200, webm(101)));
    expect(isRefusal(beyond)).toEqual({ status: 400, code: "invalid_request", offset: 200 });
    expect((await backend.app.call("POST", `/recording/${_id}/complete`, { total: 200 })).status).toBe(400);
    await backend.mustPut(uploadUrl, bytes.slice(200), part(200, bytes.slice(200)));
    expect((await backend.complete(_id)).sizeInBytes).toBe(300);
  });

  test("has at most the bytes of a recording: a part beyond that is 413, and what is held can be completed", async () => {
    const { _id, uploadUrl } = await backend.begin();
    const bytes = webm(MAX_BYTES);
    await sendAll(uploadUrl, bytes, 500_000);
    const beyond = await backend.put(uploadUrl, webm(1), part(MAX_BYTES, webm(1)));
    expect(isRefusal(beyond)).toEqual({ status: 413, code: "recording_too_large" });
    const terabyte = { "Content-Range": "bytes 1000000-1099511627775/*" };
    expect((await backend.put(uploadUrl, inPieces(webm(1000)), terabyte)).status).toBe(413);
    expect((await backend.complete(_id, { total: MAX_BYTES })).sizeInBytes).toBe(MAX_BYTES);
  });

  test("takes nothing through the address of another upload", async () => {
    const [one, other] = [await backend.begin(), await backend.begin()];
    const mixed = one.uploadUrl.replace(one._id, other._id);
    expect((await backend.put(mixed, webm(10), part(0, webm(10)))).status).toBe(403);
    expect(await held(other.uploadUrl)).toBe(0);
  });

  test("is refused with 507 beyond the application's budget, and what is held can be completed", async () => {
    const path = `/apps/${backend.app.id}`;
    const { _id, uploadUrl } = await backend.begin();
    await server.admin.must("PATCH", path, { maxRecordingBytesTotal: 500 });
    await backend.mustPut(uploadUrl, webm(500), part(0, webm(500)));
    const beyond = await backend.put(uploadUrl, webm(1), part(500, webm(1)));
    expect([beyond.status, beyond.body]).toMatchObject([
      507,
      { error: { code: "insufficient_storage" }, budget: "application" },
    ] as never);
    expect(beyond.body.message).toContain("500 bytes (maxRecordingBytesTotal)");
    expect((await backend.complete(_id, { total: 500 })).sizeInBytes).toBe(500);
    expect((await backend.app.call("POST", "/recording", { ...NEW, room: await backend.room() })).status).toBe(507);
  });

  test(`takes ${TINY_PARTS} parts of a byte each`, async () => {
    const { _id, uploadUrl } = await backend.begin();
    const bytes = webm(TINY_PARTS);
    await sendAll(uploadUrl, bytes, 1);
    await backend.complete(_id, { total: TINY_PARTS });
    expect(sha256(await bytesOf(_id))).toBe(sha256(bytes));
  });
});

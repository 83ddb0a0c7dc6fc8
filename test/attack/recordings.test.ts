/** Pages that send what is no recording, more than they may, or to uploads that are not theirs. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { MEETING_CALLS_PER_MINUTE_PER_CALLER, UPLOAD_RATES } from "../../src/http/limits.ts";
import { ROOMS_ENV } from "../conformance/raw/support/rooms.ts";
import { serverForTests } from "../support/for-tests.ts";
import { call, inPieces, rawCall } from "../support/http.ts";
import { Backend, sha256, webm } from "../support/recordings.ts";
import { IS_FULL, SLACK_MS } from "../support/slack.ts";
import { until } from "../support/wait.ts";
import { codeOf, Recorder, recordedRoom } from "./support/recorder.ts";
import { shortLimits } from "./support/short-limits.ts";

/** How often another tenant is served meanwhile. */
const LOOK_EVERY_MS = 20;

setDefaultTimeout(300_000);

const KIB = 1024;
const STAY_BYTES = 1024 * KIB;
const TERABYTE = 2 ** 40;
const SENTENCE = /^\S+ .{10,400}$/;

const server = await serverForTests({
  env: { ...ROOMS_ENV, ...shortLimits({ stayBytes: STAY_BYTES }), PARLEY_REST_REQUESTS_PER_SECOND: "0" },
});

const page = async (): Promise<Recorder> => Recorder.in(await recordedRoom(server));
const uploadFiles = (): string[] => readdirSync(join(server.data, "recordings/uploads"));
const isHealthy = async (): Promise<boolean> => (await call(`${server.url}/healthz`)).status === 200;

describe("an upload that never ends", () => {
  test("is ended by the budget of its stay: what came is kept and listed, and others go on", async () => {
    const [ann, ben] = [await page(), await page()];
    const run = await ann.begin();
    const bytes = webm(2 * STAY_BYTES);
    let at = 0;
    let refusal = await ann.part(run, 0, bytes.subarray(0, 300 * KIB));
    for (; refusal.status === 200; at += 300 * KIB)
      refusal = await ann.part(run, at + 300 * KIB, bytes.subarray(at + 300 * KIB, at + 600 * KIB));
    expect(codeOf(refusal)).toEqual([507, "insufficient_storage"]);
    expect(refusal.body.message).toContain(String(STAY_BYTES));
    expect(refusal.body.message).toMatch(SENTENCE);
    expect(await ann.held(run)).toBe(at);
    expect(at).toBeLessThanOrEqual(STAY_BYTES);
    // Another run of the same stay has what is left, and no more.
    await ann.end(run._id);
    const other = await ann.begin("screen");
    expect(codeOf(await ann.part(other, 0, bytes.subarray(0, STAY_BYTES - at + 1)))[0]).toBe(507);
    expect((await ann.part(other, 0, bytes.subarray(0, STAY_BYTES - at))).status).toBe(200);
    expect(codeOf(await ann.part(other, STAY_BYTES - at, bytes.subarray(0, 1)))[0]).toBe(507);
    await ann.end(other._id);
    expect(codeOf(await ann.call("POST", { source: "camera" }))).toEqual([507, "insufficient_storage"]);
    expect((await ann.listed(run)).sizeInBytes).toBe(at);
    expect(sha256(await ann.bytes(run))).toBe(sha256(bytes.subarray(0, at)));
    await ben.listed(await ben.send(webm(1000)));
  });

  test("in one body without a length and without an end is cut at the budget", async () => {
    const ann = await page();
    const run = await ann.begin();
    const answer = await ann.put(run, inPieces(webm(4 * STAY_BYTES))).catch(() => undefined);
    if (answer) expect([413, 507]).toContain(answer.status);
    const held = await ann.held(run);
    expect(held).toBeLessThanOrEqual(STAY_BYTES);
    expect((await ann.part(run, held, webm(STAY_BYTES))).status).toBe(507);
    await ann.end(run._id);
    if (held > 0) expect((await ann.listed(run)).sizeInBytes).toBe(held);
    expect(await isHealthy()).toBe(true);
  });
});

/** Sent at once: one after another, a slow disk would take them no faster than the rate is refilled. */
const MORE_THAN_THE_RATE = 2 * UPLOAD_RATES.perUpload.burst;

test("tiny parts without end are refused with a time to wait; other uploads and large parts go on", async () => {
  const [eve, ann] = [await page(), await page()];
  const [tiny, other] = [await eve.begin(), await ann.begin()];
  // Questions cost the same, and count too.
  const asked = await eve.begin("screen");
  for (const send of [() => eve.part(tiny, 0, webm(1)), () => eve.put(asked, undefined, "bytes */*")]) {
    const answers = await Promise.all(Array.from({ length: MORE_THAN_THE_RATE }, send));
    const refused = answers.filter(({ status }) => status === 429);
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(UPLOAD_RATES.perUpload.burst);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused) {
      expect(codeOf(answer)).toEqual([429, "rate_limited"]);
      expect(answer.body.message).toStartWith("This upload sends too many small parts");
      expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  }
  for (let n = 0; n < 5; n++) expect((await ann.part(other, n * 64 * KIB, webm(64 * KIB))).status).toBe(200);
  await eve.end(tiny._id);
  expect((await eve.listed(tiny)).sizeInBytes).toBe(1);
});

test("claims of a terabyte are refused, and take no space", async () => {
  const ann = await page();
  const run = await ann.begin();
  const claims = [
    `bytes 0-${TERABYTE - 1}/*`,
    `bytes 0-9/${TERABYTE}`,
    `bytes ${TERABYTE}-${TERABYTE + 9}/*`,
    `bytes */${TERABYTE}`,
  ];
  for (const claim of claims) {
    const answer = await ann.put(run, claim.includes("*/") ? undefined : inPieces(webm(10)), claim);
    expect([claim, [400, 409, 413, 507].includes(answer.status) || answer.body.offset === 0]).toEqual([claim, true]);
  }
  expect(codeOf(await ann.complete(run._id, TERABYTE))).toEqual([409, "upload_incomplete"]);
  expect(await ann.held(run)).toBe(0);
  expect((await ann.part(run, 0, webm(100))).status).toBe(200);
  await ann.end(run._id);
  expect((await ann.listed(run)).sizeInBytes).toBe(100);
});

test("a body that is announced and does not come is cut by a deletion; one of more than 64 MiB is refused", async () => {
  const ann = await page();
  const run = await ann.begin();
  const { pathname, search, host } = new URL(run.uploadUrl);
  const announce = (count: number): Promise<string> => {
    const head = `PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${count}\r\n`;
    return rawCall(server.url, `${head}Content-Range: bytes 0-${count - 1}/*\r\n\r\na`);
  };
  expect(await announce(64 * KIB * KIB + 1)).toStartWith("HTTP/1.1 413 ");
  const coming = announce(900 * KIB);
  await until("its first byte has come", async () => (await ann.held(run)) === 1);
  expect(codeOf(await ann.complete(run._id, 1))).toEqual([423, "upload_busy"]);
  expect((await ann.room.app.call("DELETE", `/recording/${run._id}`)).status).toBe(200);
  expect(await coming).toStartWith("HTTP/1.1 404 ");
  // It holds nothing back any more.
  const other = await ann.begin();
  expect((await ann.part(other, 0, webm(900 * KIB))).status).toBe(200);
  await ann.end(other._id);
});

test("HTML that says it is a recording is listed as it came, and served as an attachment", async () => {
  const ann = await page();
  const html = Buffer.from("<!doctype html><script>alert(document.domain)</script>");
  const run = await ann.send(html);
  expect(await ann.listed(run)).toMatchObject({ mended: false, sizeInBytes: html.length });
  const { headers } = await ann.backend.fetch(await ann.backend.link(run._id, "view"));
  expect(headers.get("content-type")).toBe("application/octet-stream");
  expect(headers.get("content-disposition")).toStartWith("attachment");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(headers.get("content-security-policy")).toContain("sandbox");
  // Behind the first bytes of a WebM file it is served as one, and a browser must not look for itself.
  const behind = await ann.send(Buffer.concat([webm(40), html]));
  expect(await ann.listed(behind)).toMatchObject({ mended: false });
  const view = await ann.backend.fetch(await ann.backend.link(behind._id, "view"));
  expect(view.headers.get("content-type")).toBe("video/webm");
  expect(view.headers.get("x-content-type-options")).toBe("nosniff");
  expect(view.headers.get("content-security-policy")).toContain("sandbox");
});

describe("uploads of another stay", () => {
  test("are neither written to, nor completed, nor looked at", async () => {
    const room = await recordedRoom(server);
    const [ann, eve] = [await Recorder.in(room), await Recorder.in(room)];
    const stranger = await page();
    const [run, hers] = [await ann.begin(), await eve.begin()];
    const bytes = webm(500);
    await ann.part(run, 0, bytes);
    const swapped = { ...run, uploadUrl: run.uploadUrl.replace(/\?.*/, new URL(hers.uploadUrl).search) };
    for (const proof of [swapped.uploadUrl, run.uploadUrl.replace(/\?.*/, ""), `${run.uploadUrl}0`]) {
      const forged = { ...run, uploadUrl: proof };
      expect((await eve.part(forged, 500, webm(10))).status).toBeGreaterThanOrEqual(400);
      expect((await eve.put(forged, undefined, "bytes */*")).body.offset).toBeUndefined();
    }
    for (const { person } of [eve, stranger])
      for (const answer of [
        await ann.call("DELETE", { _id: run._id }, { bearer: person.token }),
        await ann.complete(run._id, 500, person.token),
      ])
        expect([401, 403, 404]).toContain(answer.status);
    expect(await ann.held(run)).toBe(500);
    await ann.end(run._id);
    expect(await ann.listed(run)).toMatchObject({ participantSession: ann.person.id, sizeInBytes: 500 });
    expect(sha256(await ann.bytes(run))).toBe(sha256(bytes));
    await eve.end(hers._id);
  });

  test("cannot be begun or ended with a token that is none of a stay", async () => {
    const ann = await page();
    const run = await ann.begin();
    const access = await ann.room.accessToken({ isAdmin: true });
    for (const bearer of [access, "", "rt_a.b.c", ann.room.app.secretKey, `${ann.person.token}x`]) {
      expect([401, 403]).toContain((await ann.call("POST", { source: "camera" }, { bearer })).status);
      expect([401, 403]).toContain((await ann.call("DELETE", { _id: run._id }, { bearer })).status);
    }
    expect(await ann.held(run)).toBe(0);
  });
});

test("forged ranges change nothing and are answered with a sentence", async () => {
  const ann = await page();
  const run = await ann.begin();
  const bytes = webm(1000);
  await ann.part(run, 0, bytes);
  const forged = [
    "bytes 1000-999/*",
    "bytes 999-1000/*",
    "bytes -5/*",
    "bytes 1000-/*",
    "bytes 1000-1001",
    "bytes 1000-1001/1001",
    "bytes 1000-1001/5",
    "bytes 1e3-1001/*",
    "bytes 1000-1001/**",
    "bytes 1000-18446744073709551616/*",
    "bytes 9007199254740993-9007199254740994/*",
    "items 1000-1001/*",
    "bytes 1000-1001/*, bytes 1002-1003/*",
    "bytes 0-0/*",
    "",
    `bytes ${"9".repeat(5000)}-${"9".repeat(5000)}/*`,
  ];
  for (const range of forged) {
    const answer = await ann.put(run, webm(2), range);
    expect([range.slice(0, 60), answer.status >= 400 && answer.status < 500]).toEqual([range.slice(0, 60), true]);
    if (answer.body.message) expect(answer.body.message).toMatch(SENTENCE);
  }
  expect(await ann.held(run)).toBe(1000);
  // A body that is shorter or longer than its range.
  expect((await ann.put(run, webm(5), "bytes 1000-1001/*")).status).toBe(400);
  expect((await ann.put(run, inPieces(webm(50)), "bytes 1000-1001/*")).status).toBeGreaterThanOrEqual(400);
  const held = await ann.held(run);
  expect([1000, 1002]).toContain(held);
  await ann.end(run._id);
  expect((await ann.listed(run)).sizeInBytes).toBe(held);
});

test("parts sent at the same time: one of them is taken whole, and no other", async () => {
  const ann = await page();
  const run = await ann.begin();
  let at = 0;
  const taken: Uint8Array[] = [];
  for (let round = 0; round < 5; round++) {
    const parts = Array.from({ length: 20 }, (_, n) => webm(3000, round * 100 + n));
    const answers = await Promise.all(parts.map((part) => ann.part(run, at, part)));
    const winners = answers.flatMap(({ status }, n) => (status === 200 ? [n] : []));
    expect(winners).toHaveLength(1);
    for (const { status } of answers) expect([200, 409, 423]).toContain(status);
    taken.push(parts[winners[0] ?? 0] ?? new Uint8Array());
    at += 3000;
  }
  await ann.end(run._id);
  expect((await ann.listed(run)).sizeInBytes).toBe(at);
  expect(sha256(await ann.bytes(run))).toBe(sha256(Buffer.concat(taken)));
});

describe("many begins", () => {
  test("of one stay are limited, with the time to wait", async () => {
    const ann = await page();
    const headers = { "X-Forwarded-For": "198.51.100.23" };
    // At once, so that little of the rate is refilled meanwhile.
    const begin = () => ann.call("POST", { source: "camera" }, { headers });
    const answers = await Promise.all(Array.from({ length: 2 * MEETING_CALLS_PER_MINUTE_PER_CALLER }, begin));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(5);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(2);
  });

  test("of many addresses at once leave two open per stay, and none when they end", async () => {
    const ann = await page();
    const before = uploadFiles().length;
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(Array.from({ length: 15 }, () => ann.call("POST", { source: "screen" })));
      const begun = answers.filter(({ status }) => status === 200);
      expect(begun).toHaveLength(2);
      for (const answer of answers)
        if (answer.status !== 200) expect(codeOf(answer)).toEqual([409, "too_many_uploads"]);
      for (const { body } of begun) await ann.end(String(body._id));
    }
    expect(uploadFiles().length).toBe(before);
    expect((await new Backend(ann.room.app).list()).total).toBe(0);
  });
});

/** In full runs, more than the rate allows at once. */
const TINY_PARTS = IS_FULL ? 500 : 150;

test(`${TINY_PARTS} tiny parts: one file, and others are answered meanwhile`, async () => {
  const [ann, ben] = [await page(), await page()];
  const run = await ann.begin();
  const bytes = webm(TINY_PARTS);
  const before = uploadFiles().length;
  const times: number[] = [];
  let isOver = false;
  const others = (async () => {
    while (!isOver) {
      const began = performance.now();
      expect(await isHealthy()).toBe(true);
      expect((await ben.room.app.call("GET", "/recordings")).status).toBe(200);
      times.push(performance.now() - began);
      await Bun.sleep(LOOK_EVERY_MS);
    }
  })();
  for (let at = 0; at < bytes.length; at++) {
    const send = () => ann.part(run, at, bytes.subarray(at, at + 1));
    let answer = await send();
    for (; answer.status === 429; answer = await send())
      await Bun.sleep(1000 * Number(answer.headers.get("retry-after")));
    expect(answer.body.offset).toBe(at + 1);
  }
  isOver = true;
  await others;
  expect(uploadFiles().length).toBeLessThanOrEqual(before + 1);
  const p99 = times.toSorted((one, other) => one - other)[Math.floor(times.length * 0.99)] ?? 0;
  expect(p99).toBeLessThan(2000 + 2 * SLACK_MS);
  await ann.end(run._id);
  await ann.listed(run);
  expect(sha256(await ann.bytes(run))).toBe(sha256(bytes));
});

import { beforeEach, expect, test } from "bun:test";
import { Throttle } from "../../base/throttle.ts";
import { UPLOAD_PART_UNCOUNTED_BYTES, UPLOAD_RATES } from "../limits.ts";
import { Call } from "../request/call.ts";
import { UploadRates } from "./upload-rates.ts";

const { perUpload, perAddress } = UPLOAD_RATES;

let nowMs: number;
let rates: UploadRates;
beforeEach(() => {
  nowMs = 0;
  rates = new UploadRates((_name, burst, perSecond) => new Throttle(burst, perSecond, () => nowMs));
});

const callFrom = (address: string): Call =>
  new Call(
    new Request("http://localhost/"),
    { address: () => address, setIdleSeconds: () => undefined },
    { trustedProxies: [], domain: "localhost" },
    {},
  );

/** How many of these requests are accepted. */
async function accepted(count: number, upload: (n: number) => string, bytes = 10, from = "192.0.2.1"): Promise<number> {
  let done = 0;
  for (let n = 0; n < count; n++)
    await rates.counted(callFrom(from), upload(n), bytes, async () => done++).catch(() => undefined);
  return done;
}

const REFUSED = { code: "rate_limited", retryAfterSeconds: 1 };

test("small parts of one upload have a rate, and the refusal says how long to wait", async () => {
  expect(await accepted(1000, () => "u")).toBe(perUpload.burst);
  await expect(rates.counted(callFrom("192.0.2.1"), "u", 10, async () => 0)).rejects.toMatchObject(REFUSED);
  nowMs += 1000;
  expect(await accepted(1000, () => "u")).toBe(perUpload.perSecond);
});

test("a page that catches up after an outage is not slowed, however fast its line is", async () => {
  expect(await accepted(5000, () => "u", UPLOAD_PART_UNCOUNTED_BYTES)).toBe(5000);
});

test("a large part counts until it has been accepted: one that is announced and never sent does", async () => {
  const large = 4 * 1024 * 1024;
  for (let n = 0; n < perUpload.burst; n++)
    await rates
      .counted(callFrom("192.0.2.1"), "u", large, () => Promise.reject(new Error("it was cut off")))
      .catch(() => undefined);
  await expect(rates.counted(callFrom("192.0.2.1"), "u", large, async () => 0)).rejects.toMatchObject(REFUSED);
});

test("an address has a rate for all its uploads, and does not use up that of another", async () => {
  expect(await accepted(5000, (n) => `u${n}`)).toBe(perAddress.burst);
  expect(await accepted(10, () => "u", 10, "192.0.2.2")).toBe(10);
});

test("a stay with its two uploads in parts of two seconds never reaches it, for hours", async () => {
  for (let second = 0; second < 3600; second += 2, nowMs += 2000) expect(await accepted(2, (n) => `u${n}`)).toBe(2);
});

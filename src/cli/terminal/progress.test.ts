import { expect, test } from "bun:test";
import { humanBytes } from "../../base/human-bytes.ts";
import { humanSeconds, Progress } from "./progress.ts";

test("bytes and seconds are formatted for people", () => {
  expect([0, 1, 1023, 1024, 1536, 1024 ** 2, 4 * 1024 ** 3, 3 * 1024 ** 5].map(humanBytes)).toEqual([
    "0 B",
    "1 B",
    "1023 B",
    "1.0 KiB",
    "1.5 KiB",
    "1.0 MiB",
    "4.0 GiB",
    "3072.0 TiB",
  ]);
  expect([0, 9, 75, 3600, 3725].map(humanSeconds)).toEqual(["0:00", "0:09", "1:15", "1:00:00", "1:02:05"]);
});

function drawn(isTTY: boolean, columns = 120) {
  const written: string[] = [];
  let now = 0;
  const progress = new Progress(1000, { isTTY, columns, write: (text) => written.push(text) }, () => now);
  const at = (ms: number, bytes: number): void => {
    now = ms;
    progress.at(bytes);
  };
  return { written, progress, at };
}

test("on a terminal one line is redrawn at most every 100 ms, and cleared at the end", () => {
  const { written, progress, at } = drawn(true);
  at(0, 0);
  at(10, 10);
  at(1000, 500);
  at(1010, 1000);
  progress.end();
  expect(written).toEqual([
    "\r\u001b[K[------------------------]   0 %  0 B of 1000 B",
    "\r\u001b[K[############------------]  50 %  500 B of 1000 B  500 B/s  0:01 left",
    "\r\u001b[K[########################] 100 %  1000 B of 1000 B  990 B/s  0:00 left",
    "\r\u001b[K",
  ]);
});

test("on a narrow terminal the line does not wrap", () => {
  const { written, at } = drawn(true, 40);
  at(0, 500);
  expect(written[0]?.length).toBeLessThanOrEqual(39 + "\r\u001b[K".length);
});

test("without a terminal nothing is drawn", () => {
  const { written, progress, at } = drawn(false);
  at(0, 0);
  at(1000, 1000);
  progress.end();
  expect(written).toEqual([]);
});

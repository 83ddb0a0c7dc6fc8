import { expect, test } from "bun:test";
import { frame, JPEG, made, segment } from "../testing/jpeg.ts";
import { cleanJpeg, NotThisJpeg, THUMBNAIL_MAX_BYTES } from "./jpeg.ts";

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1");
const ascii = (value: string): number[] => [...Buffer.from(value)];
const refused = (bytes: Uint8Array | readonly number[]): string => {
  try {
    cleanJpeg(Uint8Array.from(bytes));
  } catch (error) {
    if (error instanceof NotThisJpeg) return error.message;
    throw error;
  }
  return "";
};

test("an image is kept as it is, without the comment of its encoder", () => {
  expect(text(JPEG)).toContain("Lavc");
  const clean = cleanJpeg(JPEG);
  expect(text(clean)).not.toContain("Lavc");
  expect(clean.length).toBeLessThan(JPEG.length);
  // From the tables to the end nothing has changed.
  const tables = text(clean).indexOf("\xff\xdb");
  expect(text(JPEG).endsWith(text(clean.subarray(tables)))).toBe(true);
  expect(cleanJpeg(clean)).toEqual(clean);
});

test("baseline and progressive images are taken, and what is in other segments is left out", () => {
  for (const marker of [0xc0, 0xc2]) expect(refused(made(frame(320, 180, marker)))).toBe("");
  const places = [
    ...segment(0xe1, ...ascii("Exif\0\0 52.52 N 13.40 E")),
    ...segment(0xe2, ...ascii("ICC_PROFILE")),
    ...segment(0xfe, ...ascii("<script>alert(1)</script>")),
    ...segment(0xdd, 0, 4),
  ];
  const clean = text(cleanJpeg(made(undefined, places)));
  for (const gone of ["Exif", "ICC", "script"]) expect(clean).not.toContain(gone);
  expect(clean).toContain("JFIF");
  expect(clean).toContain("\xff\xdd\x00\x04\x00\x04");
});

test("each cut of an image is refused, and so is what follows its end", () => {
  for (let length = 0; length < JPEG.length; length++) expect(refused(JPEG.subarray(0, length))).not.toBe("");
  expect(refused([...JPEG, 0])).toContain("follow");
  expect(refused([...JPEG, ...ascii("<html><script>alert(1)</script>")])).toContain("follow");
  expect(refused([...JPEG, ...JPEG])).toContain("follow");
});

test("what is no JPEG, too large, or has absurd sides is refused", () => {
  expect(refused(ascii("<!doctype html><script>alert(1)</script>"))).toContain("first bytes");
  expect(refused([0x89, ...ascii("PNG\r\n")])).toContain("first bytes");
  expect(refused(new Uint8Array(THUMBNAIL_MAX_BYTES + 1))).toContain("over 20480");
  for (const [width, height] of [
    [0, 180],
    [320, 0],
    [15, 180],
    [641, 180],
    [65_535, 65_535],
  ] as const)
    expect(refused(made(frame(width, height)))).toContain("pixels");
});

test("segments that no page sends, or that hide other bytes, are refused", () => {
  const lossless = frame(320, 180, 0xc3);
  const arithmetic = frame(320, 180, 0xc9);
  for (const head of [lossless, arithmetic]) expect(refused(made(head))).not.toBe("");
  expect(refused(made([...frame(320, 180), ...frame(320, 180)]))).toContain("two images");
  expect(refused(made([]))).not.toBe("");
  for (const extra of [
    // Tables with bytes behind them, of unknown numbers, and of no length.
    segment(0xdb, 0, ...Array<number>(64).fill(1), ...ascii("<script>")),
    segment(0xdb, 9, ...Array<number>(64).fill(1)),
    segment(0xdb),
    segment(0xc4, 0, 200, 200, ...Array<number>(14).fill(0)),
    segment(0xdd, 0, 4, 1),
    segment(0xd8, 1),
    [0xff, 0xe1, 0, 1],
    [0xff, 0xfe, 0xff, 0xff],
    ascii("<script>"),
  ])
    expect(refused(made(undefined, extra))).not.toBe("");
});

test("any change of a byte gives an image or a refusal, and never more bytes than are accepted", () => {
  for (let at = 0; at < JPEG.length; at++)
    for (const value of [0, 0xff, (JPEG[at] ?? 0) ^ 1]) {
      const changed = JPEG.slice();
      changed[at] = value;
      if (refused(changed) === "") expect(cleanJpeg(changed).length).toBeLessThanOrEqual(THUMBNAIL_MAX_BYTES);
    }
});

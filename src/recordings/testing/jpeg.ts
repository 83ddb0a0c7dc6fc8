/** For tests: a real JPEG of 32 × 24 pixels, with a comment of the program that made it, and segments to build others of. */

export const JPEG = new Uint8Array(
  Buffer.from(
    [
      "/9j/4AAQSkZJRgABAgAAAQABAAD//gAQTGF2YzU5LjM3LjEwMAD/2wBDAAgoKC8oLzc3Nzc3N0E8QUNDQ0FBQUFDQ0NISEhVVVVISEhDQ0hIUF",
      "BVVVxfXFdXVVdfX2RkZHh4c3OMjJGsrM//xACKAAEBAQEBAAAAAAAAAAAAAAAHBgUAAQEBAAIDAQEAAAAAAAAAAAAABwUGAAQCCAMQAAADBgII",
      "BwEAAAAAAAAAAAABA4FCEcEEAjESUYKxQROyMiFxFJFhgyIzNBEAAAMGBAUCBwEAAAAAAAAAAAECQcEhEQQDQjGBEmFxMiIUw1GxspEzcnPzE/",
      "/AABEIABgAIAMBEgACEgADEgD/2gAMAwEAAhEDEQA/AIajSz5jPp7NPRHaLKh/D5LuWwdkjecciEnbaNddUdMhRJLuXkbClmfOMBR6vBq4RS7r",
      "R4u62QUbZSgXAd22hoqyIiQRQIpw+g7q8Grg8rutkOXdbIeK7bRltoKavBq4ZV4NXDJo143cO7EyiR6YbvHv6A/pv6kdfkMMSVmopGxo0rbQh3",
      "qZFhZqRAl4WEZe3A55MFoq8Grhq0qqNtuWMO8XsT92AqQeZMQ6lX0n2nKf4vExcYKvesWrxGaE7tvtu+GZ5C0UmPR4T1PLxLMzqkI1d1shb7Pm",
      "Tj6YULbQSVHlzLdxl0OCNV4NXBJqOPEoYaosF3WyAda8CX9QOW2giOfb/vxk/pH3q8GrgdJIqmdqllv2twOJbyhgZhVpehluwegVptEU0N5vGm",
      "fSjk4g0HdsrM0rVNSIHnCfFMARI+/UfsP5lD//2Q==",
    ].join(""),
    "base64",
  ),
);

/** A segment with its marker and length. */
export const segment = (marker: number, ...body: number[]): number[] => [
  0xff,
  marker,
  (body.length + 2) >> 8,
  (body.length + 2) & 255,
  ...body,
];

/** A frame of one component. `marker`: c0 baseline, c2 progressive. */
export const frame = (width: number, height: number, marker = 0xc0): number[] =>
  segment(marker, 8, height >> 8, height & 255, width >> 8, width & 255, 1, 1, 0x11, 0);

const TABLE = segment(0xdb, 0, ...Array<number>(64).fill(1));
const CODES = segment(0xc4, 0, 1, ...Array<number>(15).fill(0), 0);
const SCAN = [...segment(0xda, 1, 1, 0, 0, 63, 0), 0x12, 0xff, 0, 0xff, 0xd0, 0x34];

/** As strictly formed as a small JPEG can be; `extra` comes before the frame. */
export const made = (
  head: readonly number[] = frame(320, 180),
  extra: readonly number[] = [],
): Uint8Array<ArrayBuffer> => Uint8Array.from([0xff, 0xd8, ...TABLE, ...CODES, ...extra, ...head, ...SCAN, 0xff, 0xd9]);

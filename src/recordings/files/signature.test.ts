import { describe, expect, test } from "bun:test";
import { contentTypeOf, extensionOf, formatOf } from "./signature.ts";

const bytes = (text: string): Uint8Array => Buffer.from(text, "latin1");
const EBML = "\x1a\x45\xdf\xa3";
/** The first bytes of files from Chromium's MediaRecorder and from ffmpeg. */
const WEBM = `${EBML}\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm\x42\x87\x81\x04`;
const FFMPEG = `${EBML}\x01\0\0\0\0\0\0\x1f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm`;

describe("the format of a file, by its first bytes", () => {
  test.each([
    ["webm", WEBM],
    ["webm", FFMPEG],
    ["ogg", "OggS\0\x02\0\0\0\0"],
    ["mp4", "\0\0\0\x20ftypisom\0\0\x02\0"],
    // Matroska begins with the same bytes, but browsers do not play it.
    ["other", WEBM.replace("\x84webm", "\x88matroska")],
    ["other", `${EBML}webm`],
    ["other", ""],
    ["other", "\x1a\x45\xdf"],
    ["other", "<!doctype html><script>alert(1)</script>"],
    ["other", "<html>webm OggS ftyp</html>"],
    ["other", "%PDF-1.7"],
    ["other", "\x7fELF"],
    ["other", "GIF89a"],
    ["other", " OggS\0"],
    ["other", "\0ftyp"],
  ] as const)("%s: %p", (format, head) => {
    expect(formatOf(bytes(head))).toBe(format);
  });

  test("content types come from a fixed table; an unknown format has none, and the extension .webm", () => {
    expect(contentTypeOf("webm", "video")).toBe("video/webm");
    expect(contentTypeOf("webm", "audio")).toBe("audio/webm");
    expect(contentTypeOf("ogg", "audio")).toBe("audio/ogg");
    expect(contentTypeOf("mp4", "screen")).toBe("video/mp4");
    expect(contentTypeOf("other", "video")).toBeUndefined();
    expect((["webm", "ogg", "mp4", "other"] as const).map(extensionOf)).toEqual(["webm", "ogg", "mp4", "webm"]);
  });
});

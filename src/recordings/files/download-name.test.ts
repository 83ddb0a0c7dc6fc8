import { expect, test } from "bun:test";
import { dispositionOf, downloadName } from "./download-name.ts";

const ROW = {
  id: "65f0aa65f0aa65f0aa65f0aa",
  participantUsername: "Ann Lee",
  type: "video",
  mended: true,
  startTime: 1_700_000_000,
  format: "webm",
} as const;

test("a download is named by who, what, when, and the id that lists show", () => {
  const rest = "20231114T221320Z-65f0aa65f0aa65f0aa65f0aa";
  expect(downloadName(ROW)).toBe(`Ann-Lee-camera-${rest}.webm`);
  expect(downloadName({ ...ROW, mended: null, format: "mp4" })).toBe(`Ann-Lee-video-${rest}.mp4`);
  expect(downloadName({ ...ROW, type: "audio", format: "other" })).toBe(`Ann-Lee-microphone-${rest}.webm`);
  expect(downloadName({ ...ROW, participantUsername: '../../Ädä\u202e"; x=\\' })).toBe(`Ädä-x-camera-${rest}.webm`);
  expect(downloadName({ ...ROW, participantUsername: "…" })).toBe(`camera-${rest}.webm`);
  expect(downloadName({ ...ROW, participantUsername: "x".repeat(200) })).toBe(`${"x".repeat(40)}-camera-${rest}.webm`);
});

test("a name in another script is written as RFC 6266 says, with an ASCII one for older clients", () => {
  expect(dispositionOf("inline", "Ann.webm")).toBe('inline; filename="Ann.webm"');
  expect(dispositionOf("attachment", "Ädä-山.webm")).toBe(
    `attachment; filename="Ada-_.webm"; filename*=UTF-8''%C3%84d%C3%A4-%E5%B1%B1.webm`,
  );
});

import { describe, expect, test } from "bun:test";
import { type Sending, sendingOf } from "./sdp.ts";

const SESSION = ["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0"];
const sdp = (...lines: readonly string[]): string => [...SESSION, ...lines, ""].join("\r\n");
const audio = (port = "9"): string => `m=audio ${port} UDP/TLS/RTP/SAVPF 111`;
const video = (port = "9"): string => `m=video ${port} UDP/TLS/RTP/SAVPF 96`;
const DATA = "m=application 9 UDP/DTLS/SCTP webrtc-datachannel";

const TABLE: readonly (readonly [what: string, sdp: string, sending: Partial<Sending>])[] = [
  ["nothing", sdp(), {}],
  ["an empty text", "", {}],
  ["a microphone and a camera", sdp(audio(), "a=sendrecv", video(), "a=sendonly"), { audio: 1, video: 1 }],
  ["a person who only watches", sdp(audio(), "a=recvonly", video(), "a=recvonly"), {}],
  ["sections that are inactive", sdp(audio(), "a=inactive", video(), "a=inactive"), {}],
  ["a refused section, whatever its direction", sdp(video("0"), "a=sendrecv"), {}],
  ["a refused section with several ports", sdp(video("0/2"), "a=sendrecv"), {}],
  [
    "port 0 over the transport of another",
    sdp(audio(), video("0"), "a=bundle-only", "a=sendrecv"),
    { audio: 1, video: 1 },
  ],
  ["port 0 over another transport, received", sdp(video("0"), "a=bundle-only", "a=recvonly"), {}],
  ["no direction: both are meant", sdp(audio(), video()), { audio: 1, video: 1 }],
  ["the direction of the session", sdp("a=recvonly", audio(), video(), "a=sendonly"), { video: 1 }],
  ["a session that sends", sdp("a=sendonly", audio(), video(), "a=recvonly"), { audio: 1 }],
  ["two directions: the one that sends counts", sdp(video(), "a=sendonly", "a=inactive"), { video: 1 }],
  ["a camera, a screen and its sound", sdp(audio(), video(), video(), audio()), { audio: 2, video: 2 }],
  ["a data channel", sdp(DATA, "a=sendrecv"), {}],
  ["media of another kind", sdp("m=text 9 RTP/AVP 98", "m=image 9 udptl t38"), { other: 2 }],
  ["line feeds only", sdp(video(), "a=sendrecv").replaceAll("\r", ""), { video: 1 }],
  ["spaces around an attribute", sdp(video(), "a= sendrecv ", "a=inactive"), { video: 1 }],
  ["an attribute in upper case", sdp(video(), "a=SENDRECV", "a=inactive"), { video: 1 }],
  ["a direction with a value", sdp(video(), "a=inactive", "a=sendrecv:x"), { video: 1 }],
  ["a direction with more behind a space", sdp(audio(), "a=inactive", "a=sendonly x"), { audio: 1 }],
  ["a direction that does not send, with a value", sdp(audio(), "a=inactive:x"), { audio: 1 }],
  ["the session's direction with a value", sdp("a=inactive", "a=sendrecv:x", audio()), { audio: 1 }],
  ["port 0 with more behind its transport", sdp(video("0"), "a=bundle-only:x", "a=sendrecv"), { video: 1 }],
  ["an attribute that only begins so", sdp(video(), "a=recvonly-not", "a=sendrecv"), { video: 1 }],
];

describe("what a description sends", () => {
  for (const [what, text, sending] of TABLE)
    test(what, () => expect(sendingOf(text)).toEqual({ audio: 0, video: 0, other: 0, ...sending }));

  test("is counted in time that grows with its length only", () => {
    const began = process.cpuUsage();
    expect(sendingOf(`${video()}\r\n`.repeat(100))?.video).toBe(100);
    expect(sendingOf(`${video()}\r\n`.repeat(101))).toBeUndefined();
    expect(sendingOf(`${"a=inactive\r\n".repeat(1900)}${`${video()}\r\n`.repeat(100)}`)?.video).toBe(0);
    expect(sendingOf(`${"a=".repeat(2000)}${"\r\n".repeat(1900)}`)?.video).toBe(0);
    expect(sendingOf(`a=inactive${" ".repeat(4000)}x\r\n`.repeat(1900))?.video).toBe(0);
    expect(sendingOf(`m=${"video ".repeat(20_000)}`)).toBeUndefined();
    expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
  });
});

test.each(["a=x\n", "a=İ\n", "\r\n"])("lines of %j: 2,000 are read, and no more", (line) => {
  const isRead = (lines: number): boolean => sendingOf(line.repeat(lines)) !== undefined;
  expect([isRead(2000), isRead(2001)]).toEqual([true, false]);
});

test("a line has at most 4,096 characters", () => {
  const isRead = (chars: number, end = "\n"): boolean => sendingOf(`a=${"x".repeat(chars - 2)}${end}`) !== undefined;
  expect([isRead(4096), isRead(4096, ""), isRead(4097), isRead(4097, "")]).toEqual([true, true, false, false]);
});

test("letters that only look like those of an attribute are others", () => {
  for (const like of ["a=ſendrecv", "a=İnactive", "a=ınactive"])
    expect(sendingOf(sdp("a=inactive", video(), like))?.video).toBe(0);
  expect(sendingOf(sdp(video(), "a=\u00a0SendOnly", "a=inactive"))?.video).toBe(1);
});

/** What one parser takes for a line or a section, and another does not. */
const AMBIGUOUS: readonly (readonly [what: string, sdp: string])[] = [
  ["carriage returns only", sdp(video(), "a=sendrecv").replaceAll("\n", "")],
  ["a carriage return within a line", sdp("a=inactive", video(), "a=x\rm=application 9 UDP/DTLS/SCTP x", "a=sendrecv")],
  ["a tab", sdp(`m=video\t9 UDP/TLS/RTP/SAVPF 96`)],
  ["a null character", sdp(video(), "a=inactive\0")],
  ["a line separator of Unicode", sdp(video(), "a=x\u2028a=inactive")],
  ["a type in upper case", sdp(video().toUpperCase())],
  ["spaces before a line", sdp(`  ${video()}`)],
  ["a space behind the equals sign", sdp("m= video 9 UDP/TLS/RTP/SAVPF 96")],
  ["an unreadable port", sdp("m=video x UDP/TLS/RTP/SAVPF 96")],
  ["a section without a port", sdp("m=video")],
  ["a line without a type", sdp(video(), "sendrecv")],
];

describe("a description that can be read in two ways is refused:", () => {
  for (const [what, text] of AMBIGUOUS) test(what, () => expect(sendingOf(text)).toBeUndefined());
});

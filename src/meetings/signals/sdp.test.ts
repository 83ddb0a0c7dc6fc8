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
  ["carriage returns only", sdp(video(), "a=sendrecv").replaceAll("\n", ""), { video: 1 }],
  ["upper case", sdp(video().toUpperCase(), "A=SENDRECV"), { video: 1 }],
  ["spaces before and behind", sdp(`  ${video()}  `, " a=sendrecv "), { video: 1 }],
  ["a space behind the equals sign", sdp("m= video 9 UDP/TLS/RTP/SAVPF 96"), { video: 1 }],
  ["an attribute that only begins so", sdp(video(), "a=recvonly-not", "a=sendrecv"), { video: 1 }],
  ["an unreadable port", sdp("m=video x UDP/TLS/RTP/SAVPF 96"), { video: 1 }],
  ["a section without a port", sdp("m=video"), { video: 1 }],
];

describe("what a description sends", () => {
  for (const [what, text, sending] of TABLE)
    test(what, () => expect(sendingOf(text)).toEqual({ audio: 0, video: 0, other: 0, ...sending }));

  test("is counted in time that grows with its length only", () => {
    const began = process.cpuUsage();
    expect(sendingOf(`${video()}\r\n`.repeat(5000)).video).toBe(5000);
    expect(sendingOf("a=".repeat(20_000) + "\r".repeat(20_000)).video).toBe(0);
    expect(process.cpuUsage(began).user).toBeLessThan(1_000_000);
  });
});

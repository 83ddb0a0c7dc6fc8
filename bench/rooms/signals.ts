/** What two pages of a room send each other through their inboxes before they see and hear each other. */
import type { Participant } from "./people.ts";

const CODECS = 30;
/** Each side sends this number of them. */
const CANDIDATES = 5;

const section = (kind: string, mid: number): string[] => [
  `m=${kind} 9 UDP/TLS/RTP/SAVPF ${Array.from({ length: CODECS }, (_, at) => 96 + at).join(" ")}`,
  "c=IN IP4 0.0.0.0",
  `a=mid:${mid}`,
  "a=sendrecv",
  ...Array.from({ length: CODECS }, (_, at) => [
    `a=rtpmap:${96 + at} ${kind === "audio" ? "opus/48000/2" : "H264/90000"}`,
    `a=rtcp-fb:${96 + at} transport-cc`,
    `a=fmtp:${96 + at} level-asymmetry-allowed=1`,
  ]).flat(),
];

/** As long as what a browser makes for one microphone and one camera. */
const SDP = ["v=0", "o=- 4611731400430051336 2 IN IP4 127.0.0.1", "s=-", "t=0 0"]
  .concat(section("audio", 0), section("video", 1), "")
  .join("\r\n");

const candidate = (at: number): object => ({
  candidate: `candidate:${842163049 + at} 1 udp 1677729535 203.0.113.7 ${46154 + at} typ srflx raddr 192.168.1.7 rport ${46154 + at}`,
  sdpMid: "0",
  sdpMLineIndex: 0,
  usernameFragment: "Zx4c",
});

const candidates = Array.from({ length: CANDIDATES }, (_, at) => ({ candidate: candidate(at) }));
const described = (type: string): object[] => [{ description: { type, sdp: SDP } }, ...candidates];

/** All pairs of a room, at the same time. Resolves with the number of signals, all of which have arrived. */
export async function exchange(people: readonly Participant[]): Promise<number> {
  const sent = people.flatMap((one, at) =>
    people.slice(at + 1).flatMap((other) => [toInbox(one, other, "offer"), toInbox(other, one, "answer")]),
  );
  const counts = await Promise.all(sent);
  const perInbox = (people.length - 1) * (CANDIDATES + 1);
  await Promise.all(people.map(({ client }) => client.until("message", perInbox)));
  return counts.reduce((sum, count) => sum + count, 0);
}

async function toInbox(from: Participant, to: Participant, type: "offer" | "answer"): Promise<number> {
  const all = described(type);
  // The signals of a pair follow each other without waiting, as those of a page do.
  await Promise.all(all.map((data) => from.client.ask({ type: "publish", channel: to.inbox, data })));
  return all.length;
}

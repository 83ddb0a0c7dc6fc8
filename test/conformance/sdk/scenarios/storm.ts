import { deepEqual, equal } from "node:assert/strict";
import { neverCut } from "../check.ts";
import type { Scenario } from "../scenario.ts";

const JOINERS = 20;
const CANDIDATES = 15;
/** About the size that a browser writes for one camera and one microphone. */
const SDP_CHARS = 3000;

const SIGNALS = [
  { kind: "offer", sdp: "v=0\r\n".padEnd(SDP_CHARS, "a") },
  ...Array.from({ length: CANDIDATES }, (_, at) => ({
    kind: "candidate",
    candidate: `candidate:${at} 1 udp 2122260223 192.0.2.1 ${50_000 + at} typ host generation 0 ufrag EEtu`,
  })),
];

export const storm: readonly Scenario[] = [
  {
    name: `${JOINERS} join at once, each sends the others an offer and ${CANDIDATES} candidates: no connection is closed, all arrive in order`,
    run: async (scene) => {
      const members = await scene.crowd(scene.channel(), JOINERS);
      // As WebRTC does when many peers join at the same time, in one turn of the event loop: 304 frames per connection.
      await Promise.all(
        members.flatMap(({ peer }) => peer.remotePeers.flatMap((remote) => SIGNALS.map((one) => remote.send(one)))),
      );
      const expected = (JOINERS - 1) * SIGNALS.length;
      await scene.until(
        () => `of ${expected} signals each, arrived: ${members.map(({ data }) => data.length)}`,
        () => members.every(({ data }) => data.length >= expected),
      );
      for (const member of members) {
        neverCut(member);
        equal(member.data.length, expected);
        for (const sender of members) {
          if (sender === member) continue;
          const from = member.data.filter(({ senderPeerId }) => senderPeerId === sender.id);
          deepEqual(
            from.map(({ data }) => data),
            SIGNALS,
            `from ${sender.id} to ${member.id}`,
          );
        }
      }
    },
  },
];

/** Who the connections of a run are, for the servers that ask: real HS256 tokens, as Parley gets them. */
import { connectToken } from "../lib/token.ts";

const LIFE_SECONDS = 3600;
/** Of servers that live for a run, on loopback. */
export const SECRET = "a-secret-of-the-benchmark-and-of-nothing-else";

export const peerId = (index: number): string => `peer-${String(index).padStart(5, "0")}`;

export const token = (index: number): string =>
  connectToken(`bench:${SECRET}`, {
    peerId: peerId(index),
    peerMetadata: { name: `Peer ${index}` },
    lifeSeconds: LIFE_SECONDS,
  });

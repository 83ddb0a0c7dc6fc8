/** The identities of a run's connections, for servers that need them: real HS256 tokens, like Parley's. */
import { connectToken } from "../lib/token.ts";

const LIFE_SECONDS = 3600;
/** The secret of servers that live for one run, on loopback. */
export const SECRET = "a-secret-of-the-benchmark-and-of-nothing-else";

export const peerId = (index: number): string => `peer-${String(index).padStart(5, "0")}`;

export const token = (index: number): string =>
  connectToken(`bench:${SECRET}`, {
    peerId: peerId(index),
    peerMetadata: { name: `Peer ${index}` },
    lifeSeconds: LIFE_SECONDS,
  });

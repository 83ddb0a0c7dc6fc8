/** Parley with its default features: tokens, presence, acks, rates and metrics are on; only the limits are set very high. */
import { version } from "../../package.json";
import { startParley } from "../lib/parley.ts";
import { connectToken } from "../lib/token.ts";
import { ACK_MARK, type Contender, type Dialect, type Running, type Step } from "./contender.ts";
import { ON_SERVER_CORE } from "./core.ts";

const LIFE_SECONDS = 3600;
/** Rate buckets are charged as usual, and never empty: one publisher sends here what thousands send in production. */
export const OPEN_CEILINGS = { PARLEY_FRAMES_PER_SECOND: "1000000", PARLEY_FRAMES_BURST: "1000000" };

const frame = (type: string, fields: object): string => JSON.stringify({ type, ...fields });

/** `main`: of another source tree. */
export function parley(name: string, main?: string): Contender {
  return {
    name,
    prepare: async () => ({ version: `Parley ${version} (Bun ${Bun.version})` }),
    start: async (): Promise<Running> => {
      const server = await startParley({ main, prefix: ON_SERVER_CORE, settings: OPEN_CEILINGS });
      return {
        port: Number(server.url.port),
        pids: [server.pid],
        dialect: dialect(server.secretKey),
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
  };
}

const peerId = (index: number): string => `peer-${String(index).padStart(5, "0")}`;

export function dialect(secretKey: string): Dialect {
  const path = (index: number): string => {
    const peerMetadata = { name: `Peer ${index}` };
    return `/v1?token=${connectToken(secretKey, { peerId: peerId(index), peerMetadata, lifeSeconds: LIFE_SECONDS })}`;
  };
  const welcome: Step = { expect: '"welcome"' };
  return {
    subscriber: (index, channel, { metadata }) => ({
      path: path(index),
      steps: [
        welcome,
        { send: frame("subscribe", { channel, requestId: "s", ...(metadata ? { includeSenderMetadata: true } : {}) }) },
        { expect: '"ack"' },
        { expect: '"snapshot":true' },
      ],
    }),
    publisher: (index) => ({ path: path(index), steps: [welcome] }),
    publish: (channel, data, acks) => ({
      text: frame("publish", { channel, data, ...(acks ? { requestId: ACK_MARK } : {}) }),
    }),
    direct: {
      peer: (index) => ({ path: path(index), steps: [welcome] }),
      frame: (to, data, acks) => ({
        text: frame("send", { to: peerId(to), data, ...(acks ? { requestId: ACK_MARK } : {}) }),
      }),
    },
  };
}

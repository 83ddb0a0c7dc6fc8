/**
 * The controls: the cost of a plain broadcast, in C and on Bun's own topics. Their publishers send the frames that Parley's
 * subscribers would receive, so that the same number of bytes is sent.
 */
import { join } from "node:path";
import { native } from "../lib/loader.ts";
import { type ServerProcess, startProgram } from "../lib/process.ts";
import { ACK_MARK, type Contender, type Dialect } from "./contender.ts";
import { ON_SERVER_CORE } from "./core.ts";

const SERVER = join(import.meta.dir, "servers/bare-bun.ts");

/** The frame that Parley makes of a message: `from` is a peer id of the benchmark. */
const delivered = (channel: string, data: string): string =>
  JSON.stringify({ type: "message", channel, from: "peer-00000", data });

/** Frames are relayed unchanged. */
const relay: Dialect = {
  subscriber: (_index, channel) => ({ path: `/s/${channel}`, steps: [] }),
  publisher: (_index, channel) => ({ path: `/p/${channel}`, steps: [] }),
  publish: (channel, data) => ({ text: delivered(channel, data) }),
};

/** Frames of Parley's format, parsed, acked and rebuilt. */
export const json: Dialect = {
  subscriber: (index, channel) => ({ path: `/s/${channel}?peer=${index}`, steps: [] }),
  publisher: (index, channel) => ({ path: `/p/${channel}?peer=${index}`, steps: [] }),
  publish: (channel, data, acks) => ({
    text: JSON.stringify({ type: "publish", channel, data, ...(acks ? { requestId: ACK_MARK } : {}) }),
  }),
  direct: {
    peer: (index) => ({ path: `/p/direct?peer=${index}`, steps: [] }),
    frame: (to, data, acks) => ({
      text: JSON.stringify({ type: "send", to: String(to), data, ...(acks ? { requestId: ACK_MARK } : {}) }),
    }),
  },
};

export const broadcaster: Contender = {
  name: "bare C",
  prepare: async () => {
    const [line] = Bun.spawnSync(["cc", "--version"]).stdout.toString().split("\n");
    return { version: `epoll broadcaster, ${line}` };
  },
  start: () => running(() => startProgram([...ON_SERVER_CORE, native("broadcaster")]), relay),
};

const bun = (mode: "relay" | "json") =>
  startProgram([...ON_SERVER_CORE, process.execPath, "--no-env-file", SERVER, mode]);

export const bareTopics: Contender = {
  name: "bare Bun",
  prepare: async () => ({ version: `topics alone, Bun ${Bun.version}` }),
  start: () => running(() => bun("relay"), relay),
};

export const bareJson: Contender = {
  name: "bare Bun + JSON",
  prepare: async () => ({ version: `parse, look up, ack, Bun ${Bun.version}` }),
  start: () => running(() => bun("json"), json),
};

async function running(begin: () => Promise<ServerProcess>, dialect: Dialect) {
  const server = await begin();
  return {
    port: Number(server.url.port),
    pids: [server.pid],
    dialect,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

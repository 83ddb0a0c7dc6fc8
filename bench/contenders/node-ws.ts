/** Node.js with `ws` and a loop: an upper bound for Node servers. No tokens, no protocol. */
import { ACK_MARK, type Contender, type Dialect, type Script } from "./contender.ts";
import { nodeVersion, startNode } from "./servers/start.ts";

const script = (path: string): Script => ({ path, steps: [{ expect: "ready" }] });
const ack = (isAsked: boolean): string => (isAsked ? ACK_MARK : "");

const dialect: Dialect = {
  subscriber: (_index, channel) => script(`/s/${channel}`),
  publisher: (_index, channel) => script(`/p/${channel}`),
  publish: (_channel, data, acks) => ({ text: `${ack(acks)}${data}` }),
  direct: {
    peer: (index) => script(`/d/${index}`),
    frame: (to, data, acks) => ({ text: `${ack(acks)}${to} ${data}` }),
  },
};

export const nodeWs: Contender = {
  name: "Node and ws",
  prepare: () => nodeVersion("ws", "ws"),
  async start() {
    return { ...(await startNode("node-ws.mjs")), dialect };
  },
};

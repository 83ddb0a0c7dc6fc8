/** Socket.IO (Engine.IO 4, WebSocket only): tokens, rooms, acks by callback, a roster for each newcomer. */
import { ACK_MARK, type Contender, type Dialect, type Frame, type Script } from "./contender.ts";
import { peerId, SECRET, token } from "./identity.ts";
import { nodeVersion, startNode } from "./servers/start.ts";

/** Packets of Socket.IO within a message ("4") of Engine.IO. */
const CONNECT = "40";
const EVENT = "42";
/** Ack marks distinguish the messages, so the id that Socket.IO requires can be the same in all of them. */
const ACK_ID = "1";

function script(index: number, channel: string | undefined, ready: string): Script {
  // Without a channel the key is absent: the peer joins no room.
  const auth = JSON.stringify({ token: token(index), channel });
  return {
    path: "/socket.io/?EIO=4&transport=websocket",
    steps: [{ expect: '0{"sid"' }, { send: `${CONNECT}${auth}` }, { expect: ready }],
  };
}

const event = (name: string, to: string, data: string, acks: boolean): Frame => ({
  text: acks
    ? `${EVENT}${ACK_ID}${JSON.stringify([name, to, data, ACK_MARK])}`
    : `${EVENT}${JSON.stringify([name, to, data])}`,
});

const CONNECTED = `${CONNECT}{"sid"`;
const dialect: Dialect = {
  subscriber: (index, channel) => script(index, channel, `${EVENT}["roster"`),
  publisher: (index) => script(index, undefined, CONNECTED),
  publish: (channel, data, acks) => event("publish", channel, data, acks),
  direct: {
    peer: (index) => script(index, undefined, CONNECTED),
    frame: (to, data, acks) => event("send", peerId(to), data, acks),
  },
};

export const socketio: Contender = {
  name: "Socket.IO",
  prepare: () => nodeVersion("Socket.IO", "socket.io"),
  async start() {
    return { ...(await startNode("socketio.mjs", { BENCH_SECRET: SECRET })), dialect };
  },
};

/**
 * The minimum that a Bun server can do. `relay`: frames are published to the topic unchanged. `json`: the frame is parsed, the
 * message built, published or sent to the peer it names, and acked. /s/CHANNEL subscribes, /p/CHANNEL only publishes.
 */
interface Peer {
  readonly id: string;
  readonly channel: string;
  readonly isSubscriber: boolean;
}

interface Frame {
  readonly type: string;
  readonly channel: string;
  readonly to: string;
  readonly data: unknown;
  readonly requestId: string;
}

const isJson = process.argv[2] === "json";
const peers = new Map<string, Bun.ServerWebSocket<Peer>>();

const server = Bun.serve<Peer>({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request, self) => {
    const { pathname, searchParams } = new URL(request.url);
    const [, kind, channel = ""] = pathname.split("/");
    const data = { id: searchParams.get("peer") ?? "", channel, isSubscriber: kind === "s" };
    return self.upgrade(request, { data }) ? undefined : new Response("", { status: 400 });
  },
  websocket: {
    idleTimeout: 0,
    sendPings: false,
    perMessageDeflate: false,
    open: (socket) => {
      if (socket.data.isSubscriber) socket.subscribe(socket.data.channel);
      peers.set(socket.data.id, socket);
    },
    close: (socket) => {
      peers.delete(socket.data.id);
    },
    message: isJson
      ? (socket, text) => {
          const { type, channel, to, data, requestId } = JSON.parse(text as string) as Frame;
          if (type === "send") peers.get(to)?.send(JSON.stringify({ type: "direct", from: socket.data.id, data }));
          else socket.publish(channel, JSON.stringify({ type: "message", channel, from: socket.data.id, data }));
          socket.send(JSON.stringify({ type: "ack", requestId }));
        }
      : (socket, text) => {
          socket.publish(socket.data.channel, text);
        },
  },
});
console.log(JSON.stringify({ url: server.url.origin }));

export {};

/**
 * What the runtime itself needs for a WebSocket on two topics: responds like Parley, without peers and presence. Its frames have
 * Parley's format so that the same clients can connect to it.
 */
const ACK = JSON.stringify({ type: "ack", requestId: "r" });
const ROSTER = JSON.stringify({ type: "presence", joined: [], left: [], snapshot: true });

const server = Bun.serve<undefined>({
  hostname: "127.0.0.1",
  port: 0,
  fetch: (request, self) => (self.upgrade(request) ? undefined : new Response("", { status: 400 })),
  websocket: {
    idleTimeout: 0,
    sendPings: false,
    perMessageDeflate: false,
    open: (socket) => {
      socket.send(JSON.stringify({ type: "welcome" }));
    },
    message: (socket, text) => {
      const { type, channel } = JSON.parse(String(text)) as { type: string; channel: string };
      for (const topic of [`m${channel}`, `p${channel}`]) {
        if (type === "subscribe") socket.subscribe(topic);
        else socket.unsubscribe(topic);
      }
      socket.send(ACK);
      if (type === "subscribe") socket.send(ROSTER);
    },
  },
});
console.log(JSON.stringify({ url: server.url.origin }));

// Makes this a module: otherwise global names of two scripts would collide.
export {};

/**
 * The minimum that Node.js and `ws` can do: no tokens, no protocol, a loop over the sockets of a channel. Options that are not set
 * here have their defaults. /s/<channel> subscribes, /p/<channel> publishes, /d/<peer> receives and sends direct messages:
 * "<peer> <data>". A frame that begins with an ack mark gets it back.
 */
import { WebSocketServer } from "ws";

const MARK_LENGTH = "%%0000:00000000".length;
const PERCENT = 0x25;
const SPACE = 0x20;
const TEXT = { binary: false };

const channels = new Map();
const peers = new Map();

/** The frame without its mark, which has been sent back. */
function acked(socket, frame) {
  if (frame[0] !== PERCENT) return frame;
  socket.send(frame.subarray(0, MARK_LENGTH), TEXT);
  return frame.subarray(MARK_LENGTH);
}

function socketsOf(channel) {
  if (!channels.has(channel)) channels.set(channel, new Set());
  return channels.get(channel);
}

const ROLES = {
  s(socket, channel) {
    const sockets = socketsOf(channel);
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  },
  p(socket, channel) {
    const sockets = socketsOf(channel);
    socket.on("message", (frame) => {
      const data = acked(socket, frame);
      for (const other of sockets) other.send(data, TEXT);
    });
  },
  d(socket, peer) {
    peers.set(peer, socket);
    socket.on("message", (frame) => {
      const rest = acked(socket, frame);
      const at = rest.indexOf(SPACE);
      peers.get(rest.latin1Slice(0, at))?.send(rest.subarray(at + 1), TEXT);
    });
    socket.on("close", () => peers.delete(peer));
  },
};

const server = new WebSocketServer({ host: "127.0.0.1", port: 0, perMessageDeflate: false });
server.on("connection", (socket, { url }) => {
  socket.on("error", () => socket.terminate());
  ROLES[url[1]](socket, url.slice(3));
  socket.send("ready");
});
server.on("listening", () => console.log(`port ${server.address().port}`));

/**
 * Socket.IO as its documentation shows it: a middleware that checks a token, a room per channel, acknowledgements by callback.
 * Options that are not set here have their defaults. HS256 by hand, because a library would be measured as well.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { Server } from "socket.io";

const SECRET = process.env.BENCH_SECRET;
/** No heartbeat falls into a run. */
const PING_INTERVAL_MS = 600_000;

const http = createServer();
const io = new Server(http, {
  transports: ["websocket"],
  perMessageDeflate: false,
  serveClient: false,
  pingInterval: PING_INTERVAL_MS,
});
const sockets = new Map();

function verified(token) {
  const [header, claims, signature] = String(token).split(".");
  const { alg } = JSON.parse(Buffer.from(header, "base64url"));
  if (alg !== "HS256") throw new Error("another algorithm");
  const expected = createHmac("sha256", SECRET).update(`${header}.${claims}`).digest();
  const given = Buffer.from(signature, "base64url");
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw new Error("another signature");
  const { sub, exp, peerMetadata } = JSON.parse(Buffer.from(claims, "base64url"));
  if (exp * 1000 < Date.now()) throw new Error("expired");
  return { peerId: sub, metadata: peerMetadata };
}

io.use((socket, next) => {
  try {
    socket.data = verified(socket.handshake.auth.token);
    next();
  } catch {
    next(new Error("unauthorized"));
  }
});

/** The members of the room: Parley sends a newcomer the same. */
const roster = (room) => Array.from(io.sockets.adapter.rooms.get(room), (id) => io.sockets.sockets.get(id).data);

io.on("connection", (socket) => {
  const { peerId } = socket.data;
  sockets.set(peerId, socket);
  socket.on("disconnect", () => {
    if (sockets.get(peerId) === socket) sockets.delete(peerId);
  });
  socket.on("publish", (channel, data, tag, acknowledge) => {
    socket.to(channel).emit("message", data);
    acknowledge?.(tag);
  });
  socket.on("send", (to, data, tag, acknowledge) => {
    sockets.get(to)?.emit("direct", data);
    acknowledge?.(tag);
  });
  const { channel } = socket.handshake.auth;
  if (channel === undefined) return;
  socket.join(channel);
  socket.emit("roster", roster(channel));
});

http.listen(0, "127.0.0.1", () => console.log(`port ${http.address().port}`));

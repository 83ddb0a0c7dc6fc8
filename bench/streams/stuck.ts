/** Readers that never read: sockets with the smallest buffer that the kernel gives, which no runtime drains. */
import { dlopen, FFIType, ptr } from "bun:ffi";
import { readerToken, type Server, streamHead } from "./lines.ts";

const { symbols: libc } = dlopen("libc.so.6", {
  socket: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  setsockopt: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  connect: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
  send: { args: [FFIType.i32, FFIType.ptr, FFIType.u64, FFIType.i32], returns: FFIType.i64 },
  close: { args: [FFIType.i32], returns: FFIType.i32 },
});

const [AF_INET, SOCK_STREAM, SOL_SOCKET, SO_RCVBUF] = [2, 1, 1, 8];
/** The kernel doubles it, and raises it to its minimum. */
const RECEIVES_BYTES = 2048;

export class StuckReaders implements Disposable {
  /** Bound: the readers that were asked for. */
  readonly #sockets: number[] = [];

  constructor(server: Server, channel: string, count: number) {
    for (let at = 0; at < count; at++) this.#sockets.push(open(server, channel, at));
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) libc.close(socket);
  }
}

function open(server: Server, channel: string, at: number): number {
  const socket = libc.socket(AF_INET, SOCK_STREAM, 0);
  const size = new Int32Array([RECEIVES_BYTES]);
  libc.setsockopt(socket, SOL_SOCKET, SO_RCVBUF, ptr(size), size.byteLength);
  // struct sockaddr_in: family, port (network order), 127.0.0.1, padding.
  const address = Buffer.alloc(16);
  address.writeUInt16LE(AF_INET, 0);
  address.writeUInt16BE(server.port, 2);
  address.set([127, 0, 0, 1], 4);
  const head = Buffer.from(streamHead(server, channel, readerToken(server, "stuck", at)));
  const isSent =
    libc.connect(socket, ptr(address), address.length) === 0 &&
    Number(libc.send(socket, ptr(head), head.length, 0)) === head.length;
  if (!isSent) throw new Error("a reader that never reads could not be connected");
  return socket;
}

/** For tests: a worker's connection that is written byte by byte. */
import { connect, type Socket } from "node:net";
import { CALLS, encode, FrameWriter } from "../frames.ts";
import { METHODS } from "../methods.ts";

export const numberOf = (part: string, name: string): number =>
  METHODS.findIndex((method) => method.part === part && method.name === name);

/** `path`: of the server's socket. */
export async function rawClient(
  path: string,
): Promise<{ socket: Socket; send: (value: unknown) => void; closed: Promise<void> }> {
  const socket = connect(path);
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  socket.on("error", () => undefined);
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  const writer = new FrameWriter({
    write: (bytes) => {
      socket.write(bytes);
      return bytes.length;
    },
  });
  const send = (value: unknown): void => {
    writer.add(CALLS, encode(value));
    writer.flush();
  };
  return { socket, send, closed };
}

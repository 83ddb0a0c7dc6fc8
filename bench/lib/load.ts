/**
 * HTTP load over raw keep-alive sockets: some connections, one request in flight on each, no pipelining. Every response is
 * checked: a server that refuses quickly must not count as a fast one.
 */
import type { Socket } from "bun";

export interface Load {
  readonly url: URL;
  readonly connections: number;
  readonly requests: number;
  /** The whole request, head and body, as sent each time. */
  readonly request: Uint8Array;
  /** Whether a body is as expected. */
  readonly expected: (body: string) => boolean;
}

interface Line {
  /** The received part of the current response. */
  pending: string;
}

/** Resolves when all requests are answered; rejects at the first response that is not a 200 of the expected form. */
export async function drive(load: Load): Promise<void> {
  const { promise: done, resolve, reject } = Promise.withResolvers<void>();
  let toSend = load.requests;
  let toCome = load.requests;

  const send = (socket: Socket<Line>): void => {
    if (toSend === 0) return;
    toSend--;
    // With nothing else in flight the kernel buffer has space for the whole request.
    if (socket.write(load.request) !== load.request.length) reject(new Error("a request was not written completely"));
  };
  const receive = (socket: Socket<Line>, chunk: Buffer): void => {
    socket.data.pending += chunk.toString("latin1");
    const body = wholeBody(socket.data.pending);
    if (body === undefined) return;
    if (!load.expected(body)) reject(new Error(`an unexpected response: ${socket.data.pending.slice(0, 1000)}`));
    socket.data.pending = "";
    if (--toCome === 0) resolve();
    else send(socket);
  };

  const sockets = await Promise.all(
    Array.from({ length: load.connections }, () =>
      Bun.connect<Line>({
        hostname: load.url.hostname,
        port: Number(load.url.port),
        data: { pending: "" },
        socket: {
          data: (socket, chunk) => {
            try {
              receive(socket, chunk);
            } catch (error) {
              reject(error);
            }
          },
          close: () => reject(new Error("the server closed a connection")),
          error: (_socket, error) => reject(error),
        },
      }),
    ),
  );
  for (const socket of sockets) send(socket);
  try {
    await done;
  } finally {
    for (const socket of sockets) socket.end();
  }
}

/** The body once it is complete. Throws for anything but a 200 with a Content-Length. */
export function wholeBody(answer: string): string | undefined {
  const headEnd = answer.indexOf("\r\n\r\n");
  if (headEnd < 0) return undefined;
  const length = /\r\ncontent-length: *(\d+)/i.exec(answer)?.[1];
  if (!answer.startsWith("HTTP/1.1 200 ") || length === undefined)
    throw new Error(`not a 200 with a length: ${answer.slice(0, 1000)}`);
  const body = answer.slice(headEnd + 4);
  if (body.length > Number(length)) throw new Error("a response was longer than its Content-Length");
  return body.length === Number(length) ? body : undefined;
}

/** The bytes of a POST with a JSON body. */
export function postBytes(url: URL, headers: Readonly<Record<string, string>>, body: object): Uint8Array {
  const text = JSON.stringify(body);
  const all = {
    Host: url.host,
    ...headers,
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(text)),
  };
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`POST ${url.pathname} HTTP/1.1\r\n${head.join("")}\r\n${text}`);
}

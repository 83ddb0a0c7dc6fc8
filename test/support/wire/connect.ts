/** WebSocket handshakes byte for byte: a `Wire`, or the HTTP response that came instead. */
import type { Socket } from "bun";
import { attemptOverHttp } from "./over-http.ts";
import { Wire, type WireEvent } from "./wire.ts";

/** An HTTP response instead of an upgrade. */
export interface Refused {
  readonly status: number;
  readonly headers: Headers;
  readonly body: { readonly error?: string; readonly message?: string };
}

export interface ConnectOptions {
  /** Default: /v1 */
  readonly path?: string;
  /** Without the question mark. */
  readonly query?: string;
  /** Additions to the handshake's headers; null removes one of those. */
  readonly headers?: Readonly<Record<string, string | null>> | readonly (readonly [string, string])[];
  /** Default: true. */
  readonly answersPings?: boolean;
  /** Called with each event as it arrives. */
  readonly heard?: (event: WireEvent) => void;
}

const HANDSHAKE: Readonly<Record<string, string>> = {
  Upgrade: "websocket",
  Connection: "Upgrade",
  "Sec-WebSocket-Version": "13",
};

/** PARLEY_TEST_WIRE=http: connections go over HTTP, as far as they are about nothing that only WebSockets have. */
const IS_OVER_HTTP = process.env.PARLEY_TEST_WIRE === "http";
const isPlain = ({ path = "/v1", headers, answersPings = true }: ConnectOptions): boolean =>
  path === "/v1" && headers === undefined && answersPings;

/** Tries to connect: a connection, or the HTTP response that came instead. */
export function attempt(url: string, options: ConnectOptions = {}): Promise<Wire | Refused> {
  if (IS_OVER_HTTP && isPlain(options)) return attemptOverHttp(url, options);
  const { hostname, port, protocol } = new URL(url);
  const { path = "/v1", query = "", answersPings = true } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Wire | Refused>();
  const request = requestText(`${path}${query === "" ? "" : `?${query}`}`, `${hostname}:${port}`, options.headers);
  let unsent = Buffer.from(request, "latin1");
  let head = Buffer.alloc(0);
  let wire: Wire | undefined;
  const answered = (socket: Socket<unknown>): void => {
    const end = head.indexOf("\r\n\r\n");
    if (end < 0) return;
    const { status, headers } = parseHead(head.toString("latin1", 0, end));
    const rest = head.subarray(end + 4);
    if (status === 101) {
      wire = new Wire(socket, answersPings, options.heard);
      wire.headers = headers;
      resolve(wire);
      if (rest.length > 0) wire.received(rest);
    } else if (rest.length >= Number(headers.get("content-length") ?? 0)) {
      resolve({ status, headers, body: parseBody(rest.toString("utf8")) });
      socket.end();
    }
  };
  void Bun.connect({
    hostname,
    port: Number(port),
    // Certificates of tests are their own.
    tls: protocol === "https:" ? { rejectUnauthorized: false } : false,
    socket: {
      open: (socket) => {
        unsent = unsent.subarray(socket.write(unsent));
      },
      data: (socket, bytes) => {
        if (wire) return wire.received(bytes);
        head = Buffer.concat([head, bytes]);
        answered(socket);
      },
      drain: (socket) => {
        if (wire) wire.flush();
        else if (unsent.length > 0) unsent = unsent.subarray(socket.write(unsent));
      },
      close: () => {
        wire?.over();
        reject(new Error(`the connection ended before an answer: ${head.toString("latin1")}`));
      },
      error: (_socket, error) => reject(error),
      connectError: (_socket, error) => reject(error),
    },
  }).catch(reject);
  return promise;
}

/** A connection; throws if it is refused. */
export async function connect(url: string, options: ConnectOptions = {}): Promise<Wire> {
  const outcome = await attempt(url, options);
  if (outcome instanceof Wire) return outcome;
  throw new Error(`the connect was refused: ${outcome.status} ${JSON.stringify(outcome.body)}`);
}

/** A connection whose welcome has been read. `query` is `token=…` or `key=…`. */
export async function welcomed(url: string, query: string, options: ConnectOptions = {}): Promise<Wire> {
  const wire = await connect(url, { ...options, query });
  await wire.frame("welcome");
  return wire;
}

/** The HTTP response; throws if the connect is accepted. */
export async function refusal(url: string, options: ConnectOptions = {}): Promise<Refused> {
  const outcome = await attempt(url, options);
  if (!(outcome instanceof Wire)) return outcome;
  outcome.drop();
  throw new Error("the connect was let in");
}

function requestText(target: string, host: string, extra: ConnectOptions["headers"] = {}): string {
  const key = Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString("base64");
  const basic: Record<string, string> = { Host: host, ...HANDSHAKE, "Sec-WebSocket-Key": key };
  const lines: (readonly [string, string])[] = [];
  const given = Array.isArray(extra) ? [] : Object.entries(extra as Record<string, string | null>);
  const replaced = new Set(given.map(([name]) => name.toLowerCase()));
  for (const [name, value] of Object.entries(basic)) if (!replaced.has(name.toLowerCase())) lines.push([name, value]);
  for (const [name, value] of given) if (value !== null) lines.push([name, value]);
  if (Array.isArray(extra)) lines.push(...(extra as readonly (readonly [string, string])[]));
  return `GET ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
}

function parseHead(head: string): { status: number; headers: Headers } {
  const [first = "", ...lines] = head.split("\r\n");
  const headers = new Headers();
  for (const line of lines) headers.append(line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim());
  return { status: Number(first.split(" ")[1]), headers };
}

function parseBody(text: string): Refused["body"] {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

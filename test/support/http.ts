/** HTTP for tests: one call, one response with everything in it. */
import { connect } from "node:net";
import { rememberAnswer } from "./seen-credentials.ts";

export type Json = Record<string, unknown>;

export interface Answer<T = Json> {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** `text` as JSON; {} if it is none. */
  readonly body: T;
}

/** Every refusal has this body. */
export interface Refusal {
  readonly error: string;
  readonly message: string;
}

export interface Call {
  readonly method?: string;
  /** Sent unchanged if it is text, bytes or a stream (then without Content-Length), as JSON otherwise. */
  readonly body?: unknown;
  readonly bearer?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function call<T = Json>(url: string, { method, body, bearer, headers }: Call = {}): Promise<Answer<T>> {
  const response = await fetch(url, {
    method: method ?? (body === undefined ? "GET" : "POST"),
    headers: { ...(bearer !== undefined && { Authorization: `Bearer ${bearer}` }), ...headers },
    redirect: "manual",
    ...(body !== undefined && { body: isRaw(body) ? body : JSON.stringify(body) }),
    tls: { rejectUnauthorized: false },
    // The service closes connections that were idle for 10 s: a call that uses one of them again in that moment would fail.
    keepalive: false,
  });
  const text = await textOf(response);
  rememberAnswer(text, response.headers);
  return { status: response.status, headers: response.headers, text, body: parsed(text) as T };
}

/** Server-Sent Events have no end: only their head is looked at. */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get("content-type") !== "text/event-stream") return response.text();
  await response.body?.cancel();
  return "";
}

const isRaw = (body: unknown): body is string | Uint8Array<ArrayBuffer> | ReadableStream =>
  typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** The bytes in pieces, so that they are sent without a Content-Length. */
export function inPieces(bytes: Uint8Array, size = 16_384): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, at + size));
      else controller.close();
      at += size;
    },
  });
}

/** Sends bytes that `fetch` would never send. Resolves with the first response, or all bytes until the end. */
export function rawCall(url: string, request: string | Uint8Array): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(Number(port), hostname);
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      if (isWhole(received)) socket.destroy();
    });
    socket.on("close", () => resolve(received));
    // A server that refuses a head may reset the connection after its response: the response still counts.
    socket.on("error", (error) => (received === "" ? reject(error) : resolve(received)));
    socket.write(request);
  });
}

export interface HalfSent {
  /** Sends the rest; returns the response, or all bytes until the end. */
  finish(): Promise<string>;
  /** Closes the connection. */
  abort(): Promise<void>;
}

/** A request whose head and half of the body have been sent, while the rest waits. */
export async function halfSent(url: string, head: readonly string[], body: string): Promise<HalfSent> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let received = "";
  const ended = new Promise<void>((resolve) => {
    socket.on("data", (bytes) => {
      received += bytes.toString("latin1");
      if (isWhole(received)) socket.destroy();
    });
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
  });
  await new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  const half = Math.floor(body.length / 2);
  const lines = [...head, `Content-Length: ${Buffer.byteLength(body)}`];
  await new Promise((resolve) => socket.write(`${lines.join("\r\n")}\r\n\r\n${body.slice(0, half)}`, resolve));
  return {
    finish: async () => {
      socket.write(body.slice(half));
      await ended;
      return received;
    },
    abort: async () => {
      socket.resetAndDestroy();
      await ended;
    },
  };
}

function isWhole(received: string): boolean {
  const headEnd = received.indexOf("\r\n\r\n");
  const length = /^content-length: *(\d+)/im.exec(received.slice(0, headEnd + 2))?.[1];
  return headEnd >= 0 && length !== undefined && received.length >= headEnd + 4 + Number(length);
}

export const statusOf = (rawAnswer: string): number => Number(/^HTTP\/1\.1 (\d{3}) /.exec(rawAnswer)?.[1]);

/** What the pages of one participant have sent of their recordings, as seen on the network: which uploads, as whom, and which bytes. */
import type { Alter } from "../../../support/network-proxy.ts";
import { HttpReader } from "./http-tap.ts";

/** One run of a recorder, as the service has begun its upload. */
export interface SentUpload {
  readonly id: string;
  readonly uploadUrl: string;
  readonly source: string;
  /** The stay whose connect token has begun it. */
  readonly participantSession: string;
  readonly token: string;
  /** From when it was asked for until the answer was there. */
  readonly beginningMs: number;
  /** Everything that was sent, each byte at its place. */
  bytes: Buffer;
  /** Parts that were sent, also again. */
  parts: number;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly token: string;
  /** Where the bytes of a part begin in their file. */
  readonly first: number;
  readonly atMs: number;
  readonly body: Buffer[];
}

const BEGIN = /^\/api\/v1\/room\/[^/]+\/recording$/;
const PUT = /^\/api\/v1\/upload\/([^?/]+)/;
const RANGE = /^bytes (\d+)-/;

export class SentRecordings {
  readonly uploads = new Map<string, SentUpload>();
  /** What must never be: other bytes at the same place, or bytes for an upload that these pages have not begun. */
  readonly faults: string[] = [];

  /** Those of which something was sent. */
  get made(): SentUpload[] {
    return [...this.uploads.values()].filter(({ bytes }) => bytes.length > 0);
  }

  /** The two directions of a connection, for a link proxy. */
  tap(): { readonly up: Alter; readonly down: Alter } {
    const asked: Request[] = [];
    const requests = this.readRequests(asked);
    const responses = this.readResponses(asked);
    return { up: through(requests), down: through(responses) };
  }

  private readRequests(asked: Request[]): HttpReader {
    let now: Request | undefined;
    return new HttpReader({
      head: ({ firstLine: [method, path], headers }) => {
        const first = Number(RANGE.exec(headers.get("content-range") ?? "")?.[1] ?? 0);
        const token = (headers.get("authorization") ?? "").replace(/^Bearer /, "");
        now = { method, path, token, first, atMs: Date.now(), body: [] };
        asked.push(now);
        const upload = this.uploads.get(PUT.exec(path)?.[1] ?? "");
        if (method === "PUT" && headers.has("content-range") && upload) upload.parts++;
      },
      body: (bytes, at) => {
        if (!now) return;
        const id = now.method === "PUT" ? PUT.exec(now.path)?.[1] : undefined;
        if (id !== undefined) this.write(id, now.first + at, bytes);
        else if (BEGIN.test(now.path)) now.body.push(Buffer.from(bytes));
      },
      end: () => undefined,
    });
  }

  private readResponses(asked: Request[]): HttpReader {
    let request: Request | undefined;
    let body: Buffer[] = [];
    return new HttpReader({
      head: () => {
        request = asked.shift();
        body = [];
      },
      body: (bytes) => {
        if (request && BEGIN.test(request.path)) body.push(Buffer.from(bytes));
      },
      end: () => {
        if (request?.method === "POST" && BEGIN.test(request.path)) this.begun(request, jsonOf(body));
      },
    });
  }

  private begun(request: Request, answer: Readonly<Record<string, unknown>>): void {
    const { _id, uploadUrl } = answer;
    if (typeof _id !== "string" || typeof uploadUrl !== "string") return;
    const { source } = jsonOf(request.body);
    this.uploads.set(_id, {
      id: _id,
      uploadUrl,
      source: String(source),
      participantSession: stayOf(request.token),
      token: request.token,
      beginningMs: Date.now() - request.atMs,
      bytes: Buffer.alloc(0),
      parts: 0,
    });
  }

  private write(id: string, at: number, bytes: Buffer): void {
    const upload = this.uploads.get(id);
    if (!upload) {
      this.faults.push(`bytes for the upload ${id}, which these pages have not begun`);
      return;
    }
    const held = upload.bytes;
    const repeated = Math.min(held.length - at, bytes.length);
    if (repeated < 0) this.faults.push(`${id}: bytes from ${at} on, after ${held.length}`);
    else if (!held.subarray(at, at + repeated).equals(bytes.subarray(0, repeated)))
      this.faults.push(`${id}: other bytes at ${at}`);
    if (repeated < bytes.length) upload.bytes = Buffer.concat([held, bytes.subarray(Math.max(0, repeated))]);
  }
}

const through =
  (reader: HttpReader): Alter =>
  (bytes) => {
    reader.push(bytes);
    return bytes;
  };

function jsonOf(body: readonly Buffer[]): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(Buffer.concat(body).toString());
  } catch {
    return {};
  }
}

/** The participantSession in a connect token. */
const stayOf = (token: string): string => String(jsonOf([Buffer.from(token.split(".")[1] ?? "", "base64url")]).id);

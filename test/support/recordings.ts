/** Recordings as a backend makes them: begin, upload, complete. */
import { createHash } from "node:crypto";
import type { Application, AppRefusal } from "./application.ts";
import { type Answer, call, type Json } from "./http.ts";

export interface Recording {
  readonly _id: string;
  readonly app: string;
  readonly room: string;
  readonly participantSession: string;
  readonly meetingSession: string;
  readonly participantUsername: string;
  readonly fileName: string;
  readonly downloadName: string;
  readonly sizeInBytes: number;
  readonly type: string;
  readonly startTime: number;
  readonly endTime: number;
}

export interface Page {
  readonly data: Recording[];
  readonly total: number;
  readonly limit: number;
  readonly currEndId: string;
}

export interface Begun {
  readonly _id: string;
  readonly uploadUrl: string;
}

export type Offset = { readonly offset: number } & AppRefusal;

const EBML = "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\xf7\x81\x01\x42\xf2\x81\x04\x42\xf3\x81\x08\x42\x82\x84webm";

/** Bytes that start like a WebM file; different ones each time, unless a seed is given. */
export function webm(size: number, seed = Math.floor(Math.random() * 2 ** 31)): Uint8Array<ArrayBuffer> {
  const integers = new Uint32Array(Math.ceil(size / 4));
  for (let i = 0; i < integers.length; i++) integers[i] = Math.imul(i + seed, 2654435761);
  const bytes = new Uint8Array(integers.buffer, 0, size);
  bytes.set(Buffer.from(EBML, "latin1").subarray(0, size));
  return bytes;
}

export const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

export class Backend {
  constructor(readonly app: Application) {}

  async room(roomName?: string): Promise<string> {
    return String((await this.app.must("POST", "/room", { roomName }))._id);
  }

  /** In a new room unless `fields` names one. */
  async begin(fields: Json = {}): Promise<Begun> {
    const room = fields.room ?? (await this.room());
    return this.app.must("POST", "/recording", { room, participantUsername: "ann", type: "video", ...fields });
  }

  /** Sends the bytes to an upload's address, whatever the outcome. No secret key is sent with them. */
  async put(uploadUrl: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Answer<Offset>> {
    const path = uploadUrl.slice(uploadUrl.indexOf("/api/"));
    const answer = await call<Offset>(this.app.url + path, {
      method: "PUT",
      body,
      headers: { Host: this.app.host, ...headers },
    });
    this.app.contract?.check("PUT", path, answer as unknown as Answer);
    return answer;
  }

  async offset(uploadUrl: string, total: number): Promise<number> {
    return (await this.put(uploadUrl, undefined, { "Content-Range": `bytes */${total}` })).body.offset;
  }

  /** Waits where the rate of small parts is used up, as a client does. */
  async mustPut(uploadUrl: string, body: unknown, headers?: Readonly<Record<string, string>>): Promise<number> {
    let put = await this.put(uploadUrl, body, headers);
    for (; put.status === 429; put = await this.put(uploadUrl, body, headers))
      await Bun.sleep(1000 * Number(put.headers.get("retry-after")));
    const { status, text, body: answer } = put;
    if (status !== 200) throw new Error(`PUT: ${status} ${text}`);
    return answer.offset;
  }

  complete(id: string, body: Json = {}): Promise<Recording> {
    return this.app.must("POST", `/recording/${id}/complete`, body);
  }

  async record(fields: Json = {}, bytes: Uint8Array = webm(100)): Promise<Recording> {
    const { _id, uploadUrl } = await this.begin(fields);
    await this.mustPut(uploadUrl, bytes);
    return this.complete(_id);
  }

  list(query: Readonly<Record<string, string | number>> = {}): Promise<Page> {
    return this.app.must("GET", `/recordings?${asQuery(query)}`);
  }

  async link(id: string, kind: "view" | "download" = "view", query = ""): Promise<string> {
    return String((await this.app.must("GET", `/recording/${id}/${kind}${query}`)).url);
  }

  /** Fetches one of our links. */
  async fetch(link: string, init: { method?: string; headers?: Record<string, string> } = {}): Promise<Response> {
    const { pathname, search } = new URL(link);
    return fetch(this.app.url + pathname + search, {
      ...init,
      headers: { Host: this.app.host, ...init.headers },
    });
  }
}

export const asQuery = (query: Readonly<Record<string, string | number>>): string =>
  new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)])).toString();

/** Expects a refusal that says how many bytes the upload has. */
export const isRefusal = ({ status, body }: Answer<Offset>): { status: number; code: string; offset?: number } => ({
  status,
  code: body.error?.code,
  ...(body.offset !== undefined && { offset: body.offset }),
});

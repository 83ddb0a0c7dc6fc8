/**
 * The S3 calls that the storage needs. Bun's own client writes multipart uploads only from beginning to end in one process, and an upload
 * here can be resumed by another process.
 */
import { createHash } from "node:crypto";
import type { S3Address } from "./s3-address.ts";
import { signedUrl } from "./s3-sign.ts";
import { StorageFull, StorageUnavailable } from "./storage.ts";

const SIGNED_FOR_SECONDS = 900;
/** How long a call waits, and how often it is repeated. */
export interface Patience {
  readonly responseMs: number;
  readonly attemptsMax: number;
}
const WORK_PATIENCE: Patience = { responseMs: 120_000, attemptsMax: 4 };
/** For a check that is repeated soon anyway. */
export const PROBE_PATIENCE: Patience = { responseMs: 5000, attemptsMax: 1 };
const FIRST_RETRY_MS = 100;
const FULL_CODES = ["XMinioStorageFull", "QuotaExceeded", "InsufficientCapacity", "InsufficientStorage"];

export interface Part {
  readonly number: number;
  readonly etag: string;
  readonly size: number;
}

export interface Listed {
  readonly key: string;
  readonly size: number;
  readonly modified: number;
}

export interface OpenMultipart {
  readonly key: string;
  readonly uploadId: string;
  readonly initiated: number;
}

interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string;
}

/** The service refused a call. The message goes to the log; it has no URL in it, and so no signature. */
export class S3Refusal extends StorageUnavailable {
  constructor(
    call: string,
    readonly status: number,
    readonly code: string,
  ) {
    super(`the bucket answered ${call} with ${status} ${code}`);
  }
}

export class S3Client {
  /** When the service last said that it is full, in monotonic ms, unless it has taken something since. */
  fullMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly address: S3Address,
    private readonly nowMs: () => number,
    private readonly patience = WORK_PATIENCE,
  ) {}

  /** Throws if there is no such bucket, or it may not be used. */
  async headBucket(): Promise<void> {
    await this.send({ method: "HEAD" });
  }

  link(key: string, query: Readonly<Record<string, string>>, seconds: number): string {
    return signedUrl(this.address, { method: "GET", key, query, seconds }, this.nowMs());
  }

  async createMultipart(key: string): Promise<string> {
    return one(await this.text({ method: "POST", key, query: { uploads: "" } }), "UploadId");
  }

  async uploadPart(key: string, uploadId: string, partNumber: number, body: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.send({ method: "PUT", key, query: { uploadId, partNumber: String(partNumber) }, body }, digestOf(body));
  }

  /** undefined: there is no such upload, or not any more. */
  async parts(key: string, uploadId: string): Promise<Part[] | undefined> {
    const parts: Part[] = [];
    for (let marker = "0"; ; ) {
      const query = { uploadId, "part-number-marker": marker };
      const page = await this.orAbsent({ method: "GET", key, query });
      if (page === undefined) return undefined;
      for (const part of every(page, "Part"))
        parts.push({
          number: Number(one(part, "PartNumber")),
          etag: one(part, "ETag"),
          size: Number(one(part, "Size")),
        });
      if (one(page, "IsTruncated") !== "true") return parts.sort((a, b) => a.number - b.number);
      marker = one(page, "NextPartNumberMarker");
    }
  }

  async completeMultipart(key: string, uploadId: string, parts: readonly Part[]): Promise<void> {
    const listed = parts.map(
      ({ number, etag }) => `<Part><PartNumber>${number}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
    );
    const body = `<CompleteMultipartUpload>${listed.join("")}</CompleteMultipartUpload>`;
    const answer = await this.text({ method: "POST", key, query: { uploadId }, body });
    // The service may send its status before it has joined the parts: a failure then comes in a response with status 200.
    if (answer.includes("<Error>")) throw new S3Refusal("POST", 200, one(answer, "Code"));
  }

  async abortMultipart(key: string, uploadId: string): Promise<void> {
    await this.orAbsent({ method: "DELETE", key, query: { uploadId } });
  }

  async put(key: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.send({ method: "PUT", key, body }, digestOf(body));
  }

  /** For small objects, because the whole text is held in memory. undefined: there is no such object. */
  async getText(key: string): Promise<string | undefined> {
    return this.orAbsent({ method: "GET", key });
  }

  async get(key: string, first = 0, last?: number): Promise<Uint8Array> {
    const response = await this.send({ method: "GET", key }, { Range: `bytes=${first}-${last ?? ""}` });
    return response.bytes();
  }

  /** undefined: there is no such object. */
  async sizeOf(key: string): Promise<number | undefined> {
    try {
      const response = await this.send({ method: "HEAD", key });
      return Number(response.headers.get("content-length"));
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  async delete(key: string): Promise<void> {
    await this.orAbsent({ method: "DELETE", key });
  }

  async *list(prefix: string): AsyncGenerator<Listed> {
    for (let token = ""; ; ) {
      const query = { "list-type": "2", prefix, ...(token !== "" && { "continuation-token": token }) };
      const page = await this.text({ method: "GET", query });
      for (const found of every(page, "Contents"))
        yield {
          key: one(found, "Key"),
          size: Number(one(found, "Size")),
          modified: Date.parse(one(found, "LastModified")),
        };
      if (one(page, "IsTruncated") !== "true") return;
      token = one(page, "NextContinuationToken");
    }
  }

  async *openMultiparts(prefix: string): AsyncGenerator<OpenMultipart> {
    for (let markers: Record<string, string> = {}; ; ) {
      const page = await this.text({ method: "GET", query: { uploads: "", prefix, ...markers } });
      for (const found of every(page, "Upload"))
        yield {
          key: one(found, "Key"),
          uploadId: one(found, "UploadId"),
          initiated: Date.parse(one(found, "Initiated")),
        };
      if (one(page, "IsTruncated") !== "true") return;
      markers = { "key-marker": one(page, "NextKeyMarker"), "upload-id-marker": one(page, "NextUploadIdMarker") };
    }
  }

  private async orAbsent(request: S3Request): Promise<string | undefined> {
    try {
      return await this.text(request);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  private async text(request: S3Request): Promise<string> {
    return (await this.send(request)).text();
  }

  /** Retries. All calls are idempotent, so a call whose response was lost can be repeated. */
  private async send(request: S3Request, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    for (let attempts = 1; ; attempts++) {
      const failure = await this.attempt(request, headers);
      if (failure instanceof Response) return failure;
      const isTransient = !(failure instanceof S3Refusal) || failure.status >= 500 || failure.status === 429;
      if (!isTransient || attempts === this.patience.attemptsMax) throw failure;
      await Bun.sleep(FIRST_RETRY_MS * 4 ** (attempts - 1));
    }
  }

  private async attempt(
    { method, key = "", query = {}, body }: S3Request,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response | Error> {
    const url = signedUrl(this.address, { method, key, query, seconds: SIGNED_FOR_SECONDS }, this.nowMs());
    let response: Response;
    try {
      const signal = AbortSignal.timeout(this.patience.responseMs);
      response = await fetch(url, { method, headers, redirect: "error", signal, ...(body !== undefined && { body }) });
    } catch (error) {
      // The error itself is not passed on, because it may contain the signed URL.
      return new StorageUnavailable(
        `the bucket cannot be reached for ${method}: ${error instanceof Error ? error.name : "unknown"}`,
      );
    }
    if (response.ok) {
      if (method === "PUT") this.fullMs = Number.NEGATIVE_INFINITY;
      return response;
    }
    const code = one(await response.text(), "Code");
    if (FULL_CODES.includes(code) || response.status === 507) {
      this.fullMs = performance.now();
      return new StorageFull("the bucket is full");
    }
    return new S3Refusal(method, response.status, code);
  }
}

/** Makes the service reject a body that was cut off: not every service compares the length. */
const digestOf = (body: Uint8Array): Record<string, string> => ({
  "Content-MD5": createHash("md5").update(body).digest("base64"),
});

const isAbsent = (error: unknown): boolean => error instanceof S3Refusal && error.status === 404;

/** The contents of all elements of that name. The service's XML is flat, so no parser is needed. */
const every = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"))].map(([, content = ""]) => content);

const one = (xml: string, name: string): string => unescaped(every(xml, name)[0] ?? "");

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
const unescaped = (text: string): string =>
  text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name) =>
    name === undefined
      ? String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal))
      : (ENTITIES[name] ?? whole),
  );
const escaped = (text: string): string => text.replace(/[<>&"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

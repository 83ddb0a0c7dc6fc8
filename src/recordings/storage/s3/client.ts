/**
 * The S3 calls that the storage needs. Bun's own client writes multipart uploads only from beginning to end in one process, and an upload
 * here can be resumed by another process.
 */
import { createHash } from "node:crypto";
import { StorageFull, StorageUnavailable } from "../storage.ts";
import type { S3Address } from "./address.ts";
import { signedUrl } from "./sign.ts";

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
  /** When it arrived, in Unix ms. */
  readonly modified: number;
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
    /** Ends running calls, which then fail as if the service were unavailable. */
    private readonly signal?: AbortSignal,
  ) {}

  /** Throws if there is no such bucket, or it may not be used. */
  async headBucket(): Promise<void> {
    await this.send({ method: "HEAD" }, {}, nothing);
  }

  link(key: string, query: Readonly<Record<string, string>>, seconds: number): string {
    return signedUrl(this.address, { method: "GET", key, query, seconds }, this.nowMs());
  }

  async createMultipart(key: string): Promise<string> {
    return one(await this.text({ method: "POST", key, query: { uploads: "" } }), "UploadId");
  }

  async uploadPart(key: string, uploadId: string, partNumber: number, body: Uint8Array<ArrayBuffer>): Promise<void> {
    const query = { uploadId, partNumber: String(partNumber) };
    await this.send({ method: "PUT", key, query, body }, digestOf(body), nothing);
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
          modified: Date.parse(one(part, "LastModified")),
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
    await this.send({ method: "PUT", key, body }, digestOf(body), nothing);
  }

  /** For small objects, because the whole text is held in memory. undefined: there is no such object. */
  async getText(key: string): Promise<string | undefined> {
    return this.orAbsent({ method: "GET", key });
  }

  async get(key: string, first = 0, last?: number): Promise<Uint8Array> {
    return this.send({ method: "GET", key }, { Range: `bytes=${first}-${last ?? ""}` }, (response) => response.bytes());
  }

  /** undefined: there is no such object. */
  async sizeOf(key: string): Promise<number | undefined> {
    try {
      return await this.send({ method: "HEAD", key }, {}, ({ headers }) => Number(headers.get("content-length")));
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

  private text(request: S3Request): Promise<string> {
    return this.send(request, {}, (response) => response.text());
  }

  /** Retries. All calls are idempotent, so a call whose response was lost can be repeated. `read`: what is wanted of the response. */
  private async send<T>(
    request: S3Request,
    headers: Readonly<Record<string, string>>,
    read: (response: Response) => T | Promise<T>,
  ): Promise<T> {
    for (let attempts = 1; ; attempts++) {
      const outcome = await this.attempt(request, headers, read);
      if ("value" in outcome) return outcome.value;
      const { failure } = outcome;
      const isTransient = !(failure instanceof S3Refusal) || failure.status >= 500 || failure.status === 429;
      if (!isTransient || attempts === this.patience.attemptsMax || this.signal?.aborted) throw failure;
      await Bun.sleep(FIRST_RETRY_MS * 4 ** (attempts - 1));
    }
  }

  private async attempt<T>(
    request: S3Request,
    headers: Readonly<Record<string, string>>,
    read: (response: Response) => T | Promise<T>,
  ): Promise<{ readonly value: T } | { readonly failure: Error }> {
    const { method, key = "", query = {}, body } = request;
    const url = signedUrl(this.address, { method, key, query, seconds: SIGNED_FOR_SECONDS }, this.nowMs());
    try {
      const timeout = AbortSignal.timeout(this.patience.responseMs);
      const signal = this.signal ? AbortSignal.any([this.signal, timeout]) : timeout;
      const init = { method, headers, redirect: "error", signal, ...(body !== undefined && { body }) } as const;
      const response = await fetch(url, init);
      if (!response.ok) return { failure: this.refusal(method, response.status, one(await response.text(), "Code")) };
      if (method === "PUT") this.fullMs = Number.NEGATIVE_INFINITY;
      return { value: await read(response) };
    } catch (error) {
      // The error itself is not passed on, because it contains the signed URL: also that of a response that breaks off.
      const kind = error instanceof Error ? error.name : "unknown";
      return { failure: new StorageUnavailable(`the bucket cannot be reached for ${method}: ${kind}`) };
    }
  }

  private refusal(method: string, status: number, code: string): Error {
    if (!FULL_CODES.includes(code) && status !== 507) return new S3Refusal(method, status, code);
    this.fullMs = performance.now();
    return new StorageFull("the bucket is full");
  }
}

/** For calls whose status says everything. */
const nothing = (): undefined => undefined;

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

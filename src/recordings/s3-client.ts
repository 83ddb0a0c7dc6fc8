/**
 * The calls of S3 that storage needs, multipart uploads among them: Bun's own client writes those too, but only from one process
 * and from beginning to end, and an upload of ours may be resumed after a crash.
 */
import { createHash } from "node:crypto";
import type { S3Address } from "./s3-address.ts";
import { signedUrl } from "./s3-sign.ts";
import { StorageFull, StorageUnavailable } from "./storage.ts";

const ANSWER_WITHIN_MS = 120_000;
const SIGNED_FOR_SECONDS = 900;
const TRIES = 4;
const FIRST_PAUSE_MS = 100;
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

interface Ask {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer> | string;
}

/** What the service refused. Its text goes to the log: it has no URL in it, and so no signature. */
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
  constructor(
    private readonly address: S3Address,
    private readonly nowMs: () => number,
  ) {}

  link(key: string, query: Readonly<Record<string, string>>, seconds: number): string {
    return signedUrl(this.address, { method: "GET", key, query, seconds }, this.nowMs());
  }

  async createMultipart(key: string): Promise<string> {
    return one(await this.text({ method: "POST", key, query: { uploads: "" } }), "UploadId");
  }

  async uploadPart(key: string, uploadId: string, partNumber: number, body: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.send({ method: "PUT", key, query: { uploadId, partNumber: String(partNumber) }, body }, digestOf(body));
  }

  /** undefined: there is no such upload (any more). */
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
    // The service may begin its answer before it knows: then a failure comes with the status of success.
    if (answer.includes("<Error>")) throw new S3Refusal("POST", 200, one(answer, "Code"));
  }

  async abortMultipart(key: string, uploadId: string): Promise<void> {
    await this.orAbsent({ method: "DELETE", key, query: { uploadId } });
  }

  async put(key: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
    await this.send({ method: "PUT", key, body }, digestOf(body));
  }

  /** undefined: there is no such object. For small ones: it is held in memory. */
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

  private async orAbsent(ask: Ask): Promise<string | undefined> {
    try {
      return await this.text(ask);
    } catch (error) {
      if (isAbsent(error)) return undefined;
      throw error;
    }
  }

  private async text(ask: Ask): Promise<string> {
    return (await this.send(ask)).text();
  }

  /** Each call here may be made twice: what a lost answer has done, the second does again. */
  private async send(ask: Ask, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
    for (let tries = 1; ; tries++) {
      const failure = await this.try(ask, headers);
      if (failure instanceof Response) return failure;
      const isPassing = !(failure instanceof S3Refusal) || failure.status >= 500 || failure.status === 429;
      if (!isPassing || tries === TRIES) throw failure;
      await Bun.sleep(FIRST_PAUSE_MS * 4 ** (tries - 1));
    }
  }

  private async try(
    { method, key = "", query = {}, body }: Ask,
    headers: Readonly<Record<string, string>>,
  ): Promise<Response | Error> {
    const url = signedUrl(this.address, { method, key, query, seconds: SIGNED_FOR_SECONDS }, this.nowMs());
    let response: Response;
    try {
      const signal = AbortSignal.timeout(ANSWER_WITHIN_MS);
      response = await fetch(url, { method, headers, redirect: "error", signal, ...(body !== undefined && { body }) });
    } catch (error) {
      // Not the error itself: it knows the URL.
      return new StorageUnavailable(
        `the bucket cannot be reached for ${method}: ${error instanceof Error ? error.name : "unknown"}`,
      );
    }
    if (response.ok) return response;
    const code = one(await response.text(), "Code");
    if (FULL_CODES.includes(code) || response.status === 507) return new StorageFull("the bucket is full");
    return new S3Refusal(method, response.status, code);
  }
}

/** What is cut off on its way must not be kept as if it were whole: not every service looks at how much has come. */
const digestOf = (body: Uint8Array): Record<string, string> => ({
  "Content-MD5": createHash("md5").update(body).digest("base64"),
});

const isAbsent = (error: unknown): boolean => error instanceof S3Refusal && error.status === 404;

/** The answers are flat and made by machines: the insides of elements by name are all there is to find. */
const every = (xml: string, name: string): string[] =>
  [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, "gs"))].map(([, inside = ""]) => inside);

const one = (xml: string, name: string): string => unescaped(every(xml, name)[0] ?? "");

const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', apos: "'", amp: "&" };
const unescaped = (text: string): string =>
  text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal, hex, name) =>
    name === undefined
      ? String.fromCodePoint(decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal))
      : (ENTITIES[name] ?? whole),
  );
const escaped = (text: string): string => text.replace(/[<>&"']/g, (mark) => `&#${mark.charCodeAt(0)};`);

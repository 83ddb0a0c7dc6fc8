/**
 * Signature version 4 of S3, in the query: the same few lines sign our own calls and the links that others follow. Only the host
 * is signed of the headers, and the body is not: TLS keeps it, and it need not be read twice.
 */
import { createHash, createHmac } from "node:crypto";
import type { S3Address } from "./s3-address.ts";

const ALGORITHM = "AWS4-HMAC-SHA256";

export interface ToSign {
  readonly method: string;
  /** Of the object; "" is the bucket itself. */
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly seconds: number;
}

export function signedUrl(address: S3Address, { method, key, query, seconds }: ToSign, nowMs: number): string {
  const { origin, root, region, accessKeyId, secretAccessKey, sessionToken } = address;
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const path = `${root}/${key}`.split("/").map(encoded).join("/") || "/";
  const all = Object.entries({
    ...query,
    "X-Amz-Algorithm": ALGORITHM,
    "X-Amz-Credential": `${accessKeyId}/${scope}`,
    "X-Amz-Date": time,
    "X-Amz-Expires": String(seconds),
    "X-Amz-SignedHeaders": "host",
    ...(sessionToken !== undefined && { "X-Amz-Security-Token": sessionToken }),
  });
  const sorted = all
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
  const request = [method, path, sorted, `host:${new URL(origin).host}\n`, "host", "UNSIGNED-PAYLOAD"].join("\n");
  const toSign = [ALGORITHM, time, scope, createHash("sha256").update(request).digest("hex")].join("\n");
  const key4 = scope.split("/").reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  return `${origin}${path}?${sorted}&X-Amz-Signature=${hmac(key4, toSign).toString("hex")}`;
}

const hmac = (secret: string | Buffer, text: string): Buffer => createHmac("sha256", secret).update(text).digest();

/** As RFC 3986 has it: encodeURIComponent leaves five characters alone that count as reserved there. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

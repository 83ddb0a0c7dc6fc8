/**
 * Presigned URLs with AWS Signature Version 4, for calls to the bucket and for links that clients follow. The only signed header is the host.
 * The body is not signed: TLS protects it, and it would have to be read twice.
 */
import { createHash, createHmac } from "node:crypto";
import type { S3Address } from "./address.ts";

const ALGORITHM = "AWS4-HMAC-SHA256";

export interface RequestToSign {
  readonly method: string;
  /** Key of the object; "" is the bucket itself. */
  readonly key: string;
  readonly query: Readonly<Record<string, string>>;
  readonly seconds: number;
}

export function signedUrl(address: S3Address, { method, key, query, seconds }: RequestToSign, nowMs: number): string {
  const { origin, root, region, accessKeyId, secretAccessKey, sessionToken } = address;
  const time = new Date(nowMs).toISOString().replace(/[-:]|\.\d+/g, "");
  const scope = `${time.slice(0, 8)}/${region}/s3/aws4_request`;
  const path = `${root}/${key}`.split("/").map(encoded).join("/") || "/";
  const parameters = Object.entries({
    ...query,
    "X-Amz-Algorithm": ALGORITHM,
    "X-Amz-Credential": `${accessKeyId}/${scope}`,
    "X-Amz-Date": time,
    "X-Amz-Expires": String(seconds),
    "X-Amz-SignedHeaders": "host",
    ...(sessionToken !== undefined && { "X-Amz-Security-Token": sessionToken }),
  });
  const sorted = parameters
    .map(([name, value]) => `${encoded(name)}=${encoded(value)}`)
    .sort()
    .join("&");
  const request = [method, path, sorted, `host:${new URL(origin).host}\n`, "host", "UNSIGNED-PAYLOAD"].join("\n");
  const toSign = [ALGORITHM, time, scope, createHash("sha256").update(request).digest("hex")].join("\n");
  const signingKey = scope
    .split("/")
    .reduce<string | Buffer>((secret, part) => hmac(secret, part), `AWS4${secretAccessKey}`);
  return `${origin}${path}?${sorted}&X-Amz-Signature=${hmac(signingKey, toSign).toString("hex")}`;
}

const hmac = (secret: string | Buffer, text: string): Buffer => createHmac("sha256", secret).update(text).digest();

/** Percent-encoding of RFC 3986: encodeURIComponent leaves five reserved characters as they are. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

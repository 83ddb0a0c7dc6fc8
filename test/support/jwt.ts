/** Tokens built by hand, also invalid ones that no library would make. */
import { createHmac } from "node:crypto";

/** Text and bytes are used unchanged, so that a header may hold a key twice or not be JSON at all. */
type Part = object | string | Uint8Array;

const bytesOf = (part: Part): Uint8Array =>
  part instanceof Uint8Array ? part : Buffer.from(typeof part === "string" ? part : JSON.stringify(part));

export const encodePart = (part: Part): string => Buffer.from(bytesOf(part)).toString("base64url");

export const signature = (input: string, secret: string, hash = "sha256"): string =>
  createHmac(hash, secret).update(input).digest("base64url");

export function forge(header: Part, payload: Part, secret: string): string {
  const input = `${encodePart(header)}.${encodePart(payload)}`;
  return `${input}.${signature(input, secret)}`;
}

export const nowSeconds = (): number => Math.floor(Date.now() / 1000);

/** A token as a backend would sign it. */
export const selfSigned = (keyId: string, secret: string, claims: object = {}): string =>
  forge({ alg: "HS256", kid: keyId, typ: "JWT" }, { sub: "alice", exp: nowSeconds() + 600, ...claims }, secret);

export const payloadOf = (token: string): Record<string, unknown> => partOf(token, 1);
export const headerOf = (token: string): Record<string, unknown> => partOf(token, 0);

const partOf = (token: string, at: number): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split(".")[at] ?? "", "base64url").toString());

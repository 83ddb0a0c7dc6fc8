/**
 * Signed texts in the compact form of JWTs. Only HS256 is accepted, whatever the header says. What the payload means is up to the
 * callers: connect tokens and access tokens.
 */
import { timingSafeEqual } from "node:crypto";
import { isObject, type JsonObject, parseStrict } from "../protocol/json.ts";

export interface ParsedJws {
  readonly header: JsonObject;
  readonly payload: Buffer;
  readonly signingInput: string;
  readonly signature: Buffer;
}

/** The state of an HMAC that has read its key: to copy it costs a quarter of making one. Bound: it lives as long as its key. */
const states = new WeakMap<Buffer, Bun.CryptoHasher>();

/** An HMAC-SHA-256 that has read its key and nothing else. */
export function hmacOf(key: Buffer): Bun.CryptoHasher {
  let state = states.get(key);
  if (!state) {
    state = new Bun.CryptoHasher("sha256", key);
    states.set(key, state);
  }
  return state.copy();
}

const hmac = (input: string, key: Buffer): Buffer => hmacOf(key).update(input).digest();

const encode = (json: string): string => Buffer.from(json, "utf8").toString("base64url");

/** `payload` is an object, or the JSON of one. */
export function signJws(header: object, payload: object | string, key: Buffer): string {
  const claims = typeof payload === "string" ? payload : JSON.stringify(payload);
  const input = `${encode(JSON.stringify({ alg: "HS256", ...header, typ: "JWT" }))}.${encode(claims)}`;
  return `${input}.${hmac(input, key).toString("base64url")}`;
}

/** The parts of a token, none of them trusted yet; or what is wrong with it. */
export function parseJws(text: string, maxChars: number): ParsedJws | string {
  const parts = text.length <= maxChars ? text.split(".") : [];
  const [head, payload, signature] = parts.map(decodeBase64Url);
  if (parts.length !== 3 || !head || !payload || !signature) return "it is not three parts of base64url";
  const header = parseUtf8Json(head);
  if (!isObject(header)) return "its header is not a JSON object";
  if (header.alg !== "HS256") return "the header's alg must be HS256";
  // In upper or lower case: RFC 7519, 5.1 recommends upper case, but some libraries write "jwt".
  if (header.typ !== undefined && !(typeof header.typ === "string" && /^jwt$/i.test(header.typ)))
    return "the header's typ must be JWT or absent";
  // crit lists extensions that a verifier must understand (RFC 7515, 4.1.11); we support none.
  if (header.crit !== undefined) return "the header must not have crit";
  return { header, payload, signingInput: `${parts[0]}.${parts[1]}`, signature };
}

export function isSignedBy({ signingInput, signature }: ParsedJws, key: Buffer): boolean {
  const expected = hmac(signingInput, key);
  return signature.length === expected.length && timingSafeEqual(signature, expected);
}

/** Strict: only the alphabet, no padding, no spare bits at the end. Otherwise one token could be written in several ways. */
function decodeBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  return bytes.length > 0 && bytes.toString("base64url") === text ? bytes : undefined;
}

export const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** undefined if the bytes are not valid UTF-8 or JSON, or an object has a duplicate key. */
export function parseUtf8Json(bytes: Buffer): unknown {
  try {
    const parsed = parseStrict(UTF8.decode(bytes));
    return parsed.ok ? parsed.value : undefined;
  } catch {
    return undefined;
  }
}

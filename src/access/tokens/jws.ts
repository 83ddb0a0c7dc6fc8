/**
 * Signed texts in the compact form of JWTs. Only HS256 is accepted, whatever the header says. What the payload means is up to the
 * callers: connect tokens and access tokens.
 */
import { timingSafeEqual } from "node:crypto";
import { isObject, type JsonObject, parseStrict } from "../../protocol/json.ts";

export interface ParsedJws {
  readonly header: Readonly<JsonObject>;
  /** Strict base64url; `payloadOf` decodes it. */
  readonly encodedPayload: string;
  readonly signingInput: string;
  /** Strict base64url. */
  readonly signature: string;
  /** The text of a header that is not among the known ones. */
  readonly newHeader: string | undefined;
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
  const headEnd = text.indexOf(".");
  const inputEnd = text.indexOf(".", headEnd + 1);
  if (text.length > maxChars || headEnd < 0 || inputEnd < 0) return NOT_THREE_PARTS;
  const encodedPayload = text.slice(headEnd + 1, inputEnd);
  const signature = text.slice(inputEnd + 1);
  if (!isBase64Url(encodedPayload) || !isBase64Url(signature)) return NOT_THREE_PARTS;
  const head = text.slice(0, headEnd);
  const known = headers.get(head);
  const header = known ?? parseHeader(head);
  if (typeof header === "string") return header;
  const signingInput = text.slice(0, inputEnd);
  return { header, encodedPayload, signingInput, signature, newHeader: known ? undefined : head };
}

const NOT_THREE_PARTS = "it is not three parts of base64url";

/**
 * Checked headers by their text, which all tokens of one key share. Only headers of tokens whose signature was right: others could
 * displace them. Bound: HEADERS_MAX texts of at most HEADER_MAX_CHARS; the oldest goes first.
 */
const headers = new Map<string, Readonly<JsonObject>>();
const HEADERS_MAX = 1000;
const HEADER_MAX_CHARS = 256;
/** Headers have a few short fields. */
const HEADER_READ_MAX_CHARS = 2048;

function rememberHeader(text: string, header: Readonly<JsonObject>): void {
  if (text.length > HEADER_MAX_CHARS) return;
  if (headers.size >= HEADERS_MAX) for (const oldest of headers.keys().take(1)) headers.delete(oldest);
  // A copy: a slice would keep the whole token in memory.
  headers.set(Buffer.from(text, "latin1").toString("latin1"), Object.freeze(header));
}

/** The header, checked; or what is wrong with it. */
function parseHeader(text: string): JsonObject | string {
  // It is read before anything is known of its sender.
  if (text.length > HEADER_READ_MAX_CHARS) return `its header has more than ${HEADER_READ_MAX_CHARS} characters`;
  if (!isBase64Url(text)) return NOT_THREE_PARTS;
  const header = parseJson(decodedText(text));
  if (!isObject(header)) return "its header is not a JSON object";
  if (header.alg !== "HS256") return "the header's alg must be HS256";
  // In upper or lower case: RFC 7519, 5.1 recommends upper case, but some libraries write "jwt".
  if (header.typ !== undefined && !(typeof header.typ === "string" && /^jwt$/i.test(header.typ)))
    return "the header's typ must be JWT or absent";
  // crit lists extensions that a verifier must understand (RFC 7515, 4.1.11); we support none.
  if (header.crit !== undefined) return "the header must not have crit";
  return header;
}

// One of each for all tokens: they are read before the next one is checked. Bun writes a digest only where the longest of all would fit.
const digest = Buffer.alloc(64);
const expected = digest.subarray(0, 32);
const given = Buffer.alloc(expected.length);
const SIGNATURE_CHARS = Math.ceil((expected.length * 4) / 3);

export function isSignedBy({ header, newHeader, signingInput, signature }: ParsedJws, key: Buffer): boolean {
  if (signature.length !== SIGNATURE_CHARS) return false;
  hmacOf(key).update(signingInput).digest(digest);
  given.write(signature, "base64url");
  const isSigned = timingSafeEqual(given, expected);
  if (isSigned && newHeader !== undefined) rememberHeader(newHeader, header);
  return isSigned;
}

/** Strict: only the alphabet, no padding, no spare bits at the end. Otherwise one token could be written in several ways. */
function isBase64Url(text: string): boolean {
  const lasts = LASTS[text.length % 4];
  return BASE64URL.test(text) && (lasts === undefined || lasts.includes(text.charAt(text.length - 1)));
}

const BASE64URL = /^[\w-]+$/;
/**
 * By the number of characters beyond whole groups of four: which may come last. Of the others some bits would not count. One
 * character alone is too few for a byte.
 */
const LASTS: readonly (readonly string[] | undefined)[] = [undefined, [], [..."AQgw"], [..."AEIMQUYcgkosw048"]];

/** For nearly all tokens: a buffer of its own for each would cost more than decoding it. */
const decoded = Buffer.alloc(4096);
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const REPLACEMENT = "\ufffd";

/** Its text; `undefined` if that is not valid UTF-8. For tokens whose signature is right: others cost no decoding. */
export const payloadOf = ({ encodedPayload }: ParsedJws): string | undefined => decodedText(encodedPayload);

/** `encoded`: strict base64url. undefined if the bytes are not valid UTF-8. */
function decodedText(encoded: string): string | undefined {
  if (encoded.length <= decoded.length) {
    const text = decoded.toString("utf8", 0, decoded.write(encoded, "base64url"));
    // Bytes that are not valid become this character, but it may also have been sent.
    if (!text.includes(REPLACEMENT)) return text;
  }
  try {
    return UTF8.decode(Buffer.from(encoded, "base64url"));
  } catch {
    return undefined;
  }
}

/** undefined if the text is not valid JSON, or an object has a duplicate key. */
export function parseJson(text: string | undefined): unknown {
  const parsed = text === undefined ? undefined : parseStrict(text);
  return parsed?.ok ? parsed.value : undefined;
}

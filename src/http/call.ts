/** One HTTP request on its way through the frame, and the reading of what it carries. */
import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { type Address, type Cidr, clientAddress, contains, isLoopback, parseAddress } from "../access/address.ts";
import { Problem } from "../protocol/codes.ts";
import { isObject, type JsonObject, parseStrict } from "../protocol/json.ts";
import { IDLE_MAX_SECONDS, REST_BODY_MAX_BYTES } from "./limits.ts";
import { sentenceOf } from "./sentence.ts";
import { refuseUnknownFields } from "./unknown-fields.ts";

const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

/** The longest that Bun counts. */
const PAUSE_MAX_SECONDS = 255;
const ANSWER_BEGUN_MS = 1000;

/** The headers that proxies add about the client they speak for. */
const FORWARDING_HEADERS = [
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "forwarded",
  "x-real-ip",
  "via",
];

/** The client went away before its body had come: its own affair, and neither an answer nor a failure. */
export class ClientGone extends Error {}

/** What is found out about a request on its way; shared by all views of it (`withParams`). */
interface Standing {
  /** It has shown a valid credential, or an address that carries its own proof. */
  isKnown: boolean;
  /** It has been counted against its client's address (strangers.ts). */
  isCharged: boolean;
  /** Names of fields and parameters that nothing reads. Bound: IGNORED_MAX. */
  readonly ignored: Set<string>;
}

export class Call {
  readonly requestId = randomUUID();
  /** Headers for the answer. */
  readonly headers: Record<string, string> = { ...SECURITY_HEADERS, "X-Request-Id": this.requestId };
  readonly standing: Standing = { isKnown: false, isCharged: false, ignored: new Set() };

  constructor(
    readonly request: Request,
    private readonly socketAddress: () => string | undefined,
    private readonly trustedProxies: readonly Cidr[],
    /** Of the path, percent-decoded. */
    readonly params: Readonly<Record<string, string>>,
    private readonly setIdleSeconds: (seconds: number) => void,
  ) {}

  /** The body is long: whoever reads it sees to it that it does not stay silent for ever. 0: no limit of the listener's. */
  expectSilence(): void {
    this.setIdleSeconds(0);
  }

  /** The body has ended: the connection is again one like any other. */
  limitSilence(): void {
    this.setIdleSeconds(IDLE_MAX_SECONDS);
  }

  /** The answer is long, and a player that is paused takes nothing of it for a while. */
  allowPauses(): void {
    // Not before the answer has begun: with a file's bytes the listener sets its own limit then.
    setTimeout(() => this.setIdleSeconds(PAUSE_MAX_SECONDS), ANSWER_BEGUN_MS);
  }

  /** Whoever is behind the proxies we trust. */
  get client(): Address {
    return clientAddress(this.socket, this.request.headers.get("x-forwarded-for"), this.trustedProxies);
  }

  /** It comes from this machine, and not through a proxy on it: then everybody would. */
  get isLocal(): boolean {
    const { headers } = this.request;
    return isLoopback(this.socket) && !this.isFromProxy && !FORWARDING_HEADERS.some((name) => headers.has(name));
  }

  /** The host the client named, port and all: what a proxy we trust says of it, or the header itself. */
  get host(): string | null {
    return this.forwarded("x-forwarded-host") ?? this.request.headers.get("host");
  }

  /** Where the client reached us: what links to ourselves begin with. */
  get origin(): string {
    const scheme = this.forwarded("x-forwarded-proto") ?? this.request.url.slice(0, this.request.url.indexOf(":"));
    return `${scheme === "https" ? "https" : "http"}://${this.host ?? ""}`;
  }

  /** The right-most entry: those to its left are whatever the client claims. */
  private forwarded(name: string): string | undefined {
    const header = this.request.headers.get(name);
    if (header === null || !this.isFromProxy) return undefined;
    return header.split(",").at(-1)?.trim() || undefined;
  }

  withParams(params: Readonly<Record<string, string>>): Call {
    const call = new Call(this.request, this.socketAddress, this.trustedProxies, params, this.setIdleSeconds);
    Object.assign(call, { requestId: this.requestId, headers: this.headers, standing: this.standing });
    return call;
  }

  private get isFromProxy(): boolean {
    return this.trustedProxies.some((cidr) => contains(cidr, this.socket));
  }

  private get socket(): Address {
    return parseAddress(this.socketAddress() ?? "") ?? [0, 0, 0, 0];
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** The checked body. Fields the schema does not know are left out and named in X-Parley-Ignored, so that a typo shows. */
export async function readBody<T extends z.ZodType>(
  call: Call,
  schema: T,
  outermostOnly: boolean,
): Promise<{ body: z.infer<T>; text: string }> {
  const text = (await readText(call)) || "{}";
  const value = parseObject(text, outermostOnly);
  refuseUnknownFields(schema, value);
  const body = check(schema, value);
  nameIgnored(call, value, schema);
  return { body, text };
}

export const readText = async (call: Call, maxBytes = REST_BODY_MAX_BYTES): Promise<string> =>
  decode(await readBytes(call.request, maxBytes)).trim();

export function parseObject(text: string, outermostOnly: boolean): JsonObject {
  const parsed = parseStrict(text, outermostOnly);
  if (!parsed.ok) throw new Problem("invalid_request", `The body cannot be read: ${parsed.problem}.`);
  if (!isObject(parsed.value)) throw new Problem("invalid_request", "The body must be a JSON object.");
  return parsed.value;
}

export function readQuery<T extends z.ZodType>(call: Call, schema: T): z.infer<T> {
  return check(schema, Object.fromEntries(queryOf(call.request)));
}

/** Names parameters in X-Parley-Ignored that neither the endpoint nor its guard reads. */
export function nameIgnoredQuery(call: Call, schema: z.ZodType | undefined, alsoKnown: readonly string[]): void {
  if (!call.request.url.includes("?")) return;
  const known = new Set([...alsoKnown, ...(schema && "shape" in schema ? Object.keys(schema.shape as object) : [])]);
  nameAll(
    call,
    [...queryOf(call.request).keys()].filter((name) => !known.has(name)),
  );
}

export function queryOf({ url }: Request): URLSearchParams {
  const from = url.indexOf("?");
  return new URLSearchParams(from < 0 ? "" : url.slice(from + 1));
}

/** More would only repeat what the first ones say. */
const DETAILS_MAX = 20;

export function check<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const result = schema.safeParse(value, { reportInput: false, error: sentenceOf });
  if (result.success) return result.data;
  // A field that is wrong in two ways is told of once.
  const messages = new Map<string, string>();
  for (const { path, message } of result.error.issues) {
    const field = path.map(String).join(".").slice(0, 100);
    if (!messages.has(field)) messages.set(field, message);
  }
  const details = [...messages].slice(0, DETAILS_MAX).map(([field, message]) => ({ field, message }));
  const { field, message } = details[0] ?? { field: "", message: "not valid" };
  throw new Problem("invalid_request", `${field ? `${field}: ` : ""}${message}`, undefined, { details });
}

export function nameIgnored(call: Call, body: object, schema: z.ZodType): void {
  if (!("shape" in schema)) return;
  const known = new Set(Object.keys(schema.shape as object));
  nameAll(
    call,
    Object.keys(body).filter((key) => !known.has(key)),
  );
}

const IGNORED_MAX = 20;
const IGNORED_NAME_MAX_CHARS = 64;

function nameAll({ standing: { ignored }, headers }: Call, names: readonly string[]): void {
  for (const name of names)
    if (ignored.size < IGNORED_MAX)
      ignored.add(encodeURIComponent(name.slice(0, IGNORED_NAME_MAX_CHARS).toWellFormed()));
  if (ignored.size > 0) headers["X-Parley-Ignored"] = [...ignored].join(", ");
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new Problem("invalid_request", "The body is not valid UTF-8.");
  }
}

/** Never holds more than `max` bytes, whatever Content-Length says or leaves out. */
async function readBytes(request: Request, max: number): Promise<Uint8Array> {
  const tooLarge = (): Problem => new Problem("body_too_large", `The body is over ${max} bytes.`);
  const announced = request.headers.get("content-length");
  if (announced !== null && Number(announced) > max) throw tooLarge();
  try {
    if (announced !== null) return await request.bytes();
    if (!request.body) return new Uint8Array();
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of request.body) {
      size += part.length;
      if (size > max) throw tooLarge();
      parts.push(part);
    }
    return Buffer.concat(parts);
  } catch (error) {
    throw isCut(error) ? new ClientGone() : error;
  }
}

/** What Bun throws when a connection ends, or falls silent for too long, before the body is there. */
const isCut = (error: unknown): boolean => error instanceof DOMException && error.name === "AbortError";

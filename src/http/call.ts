/** One HTTP request on its way through the frame, and the reading of what it carries. */
import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { type Address, type Cidr, clientAddress, contains, isLoopback, parseAddress } from "../access/address.ts";
import { Problem } from "../protocol/codes.ts";
import { isObject, type JsonObject, parseStrict } from "../protocol/json.ts";
import { REST_BODY_MAX_BYTES } from "../protocol/limits.ts";
import { sentenceOf } from "./sentence.ts";

const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

/** The longest that Bun counts. */
const PAUSE_MAX_SECONDS = 255;
const ANSWER_BEGUN_MS = 1000;

export class Call {
  readonly requestId = randomUUID();
  /** Headers for the answer. */
  readonly headers: Record<string, string> = { ...SECURITY_HEADERS, "X-Request-Id": this.requestId };

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

  /** The answer is long, and a player that is paused takes nothing of it for a while. */
  allowPauses(): void {
    // Not before the answer has begun: with a file's bytes the listener sets its own limit then.
    setTimeout(() => this.setIdleSeconds(PAUSE_MAX_SECONDS), ANSWER_BEGUN_MS);
  }

  /** Whoever is behind the proxies we trust. */
  get client(): Address {
    return clientAddress(this.socket, this.request.headers.get("x-forwarded-for"), this.trustedProxies);
  }

  /** The socket itself is local and no proxy speaks for somebody else. */
  get isLocal(): boolean {
    const { headers } = this.request;
    return isLoopback(this.socket) && !headers.has("x-forwarded-for") && !headers.has("forwarded");
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
    if (header === null || !this.trustedProxies.some((cidr) => contains(cidr, this.socket))) return undefined;
    return header.split(",").at(-1)?.trim() || undefined;
  }

  withParams(params: Readonly<Record<string, string>>): Call {
    const call = new Call(this.request, this.socketAddress, this.trustedProxies, params, this.setIdleSeconds);
    Object.assign(call, { requestId: this.requestId, headers: this.headers });
    return call;
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
  const body = check(schema, value);
  nameIgnored(call, value, schema);
  return { body, text };
}

export const readText = async (call: Call): Promise<string> =>
  decode(await readBytes(call.request, REST_BODY_MAX_BYTES)).trim();

export function parseObject(text: string, outermostOnly: boolean): JsonObject {
  const parsed = parseStrict(text, outermostOnly);
  if (!parsed.ok) throw new Problem("invalid_request", `The body cannot be read: ${parsed.problem}.`);
  if (!isObject(parsed.value)) throw new Problem("invalid_request", "The body must be a JSON object.");
  return parsed.value;
}

export function readQuery<T extends z.ZodType>(call: Call, schema: T): z.infer<T> {
  return check(schema, Object.fromEntries(queryOf(call.request)));
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
  const ignored = Object.keys(body).filter((key) => !known.has(key));
  if (ignored.length > 0)
    call.headers["X-Parley-Ignored"] = ignored
      .slice(0, 20)
      .map((key) => encodeURIComponent(key.slice(0, 64).toWellFormed()))
      .join(", ");
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
  if (announced !== null) return request.bytes();
  if (!request.body) return new Uint8Array();
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body) {
    size += part.length;
    if (size > max) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

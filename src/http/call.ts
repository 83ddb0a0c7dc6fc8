/** One HTTP request on its way through the frame, and the reading of what it carries. */
import { randomUUID } from "node:crypto";
import type { z } from "zod";
import { type Address, type Cidr, clientAddress, isLoopback, parseAddress } from "../access/address.ts";
import { Problem } from "../protocol/codes.ts";
import { isObject, parseStrict } from "../protocol/json.ts";
import { REST_BODY_MAX_BYTES } from "../protocol/limits.ts";

const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

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
  ) {}

  /** Whoever is behind the proxies we trust. */
  get client(): Address {
    return clientAddress(this.socket, this.request.headers.get("x-forwarded-for"), this.trustedProxies);
  }

  /** The socket itself is local and no proxy speaks for somebody else. */
  get isLocal(): boolean {
    const { headers } = this.request;
    return isLoopback(this.socket) && !headers.has("x-forwarded-for") && !headers.has("forwarded");
  }

  withParams(params: Readonly<Record<string, string>>): Call {
    const call = new Call(this.request, this.socketAddress, this.trustedProxies, params);
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
  const text = decode(await readBytes(call.request, REST_BODY_MAX_BYTES)).trim() || "{}";
  const parsed = parseStrict(text, outermostOnly);
  if (!parsed.ok) throw new Problem("invalid_request", `The body cannot be read: ${parsed.problem}.`);
  if (!isObject(parsed.value)) throw new Problem("invalid_request", "The body must be a JSON object.");
  const body = check(schema, parsed.value);
  nameIgnored(call, parsed.value, schema);
  return { body, text };
}

export function readQuery<T extends z.ZodType>(call: Call, schema: T): z.infer<T> {
  const from = call.request.url.indexOf("?");
  const query = new URLSearchParams(from < 0 ? "" : call.request.url.slice(from + 1));
  return check(schema, Object.fromEntries(query));
}

function check<T extends z.ZodType>(schema: T, value: unknown): z.infer<T> {
  const result = schema.safeParse(value, { reportInput: false });
  if (result.success) return result.data;
  const [first] = result.error.issues;
  const field = first?.path.map(String).join(".").slice(0, 100);
  throw new Problem("invalid_request", `${field ? `${field}: ` : ""}${first?.message ?? "not valid"}`);
}

function nameIgnored(call: Call, body: object, schema: z.ZodType): void {
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

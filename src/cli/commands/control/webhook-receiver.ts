/** A receiver of webhooks on this machine: takes requests, verifies them as Standard Webhooks 1.0.0 says, and may pass them on. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { isObject } from "../../../protocol/json.ts";

/** A request that has arrived. */
export interface Received {
  readonly verified: boolean;
  /** Absent: it is verified. */
  readonly why?: string;
  /** The webhook-id: the same over all attempts. */
  readonly id: string | null;
  /** An attempt with this id was verified before. */
  readonly isRepeated?: true;
  readonly type?: unknown;
  readonly timestamp?: unknown;
  readonly data?: unknown;
  /** What was answered. */
  readonly status: number;
}

interface ReceiverParts {
  readonly port: number;
  /** An event may come before the service has said what it signs with. */
  readonly secret: Promise<string>;
  readonly forward: string | undefined;
  readonly received: (one: Received) => void;
}

/** A timestamp that is further away may be a request that was recorded, and is sent by an attacker. */
const TOLERANCE_SECONDS = 300;
const BODY_MAX_BYTES = 1_048_576;
/** Ids that are remembered, to say which request is an attempt of an earlier one. */
const IDS_REMEMBERED = 10_000;
const SECRET = /^whsec_[A-Za-z0-9+/]+={0,2}$/;
const FORWARD_TIMEOUT_MS = 15_000;

export const isSecret = (text: string): boolean => SECRET.test(text);

/** Why a request is not what the holder of the secret has sent; undefined: it is. */
export function whyNotVerified(secret: string, headers: Headers, body: Uint8Array, nowMs: number): string | undefined {
  const [id, timestamp, signature] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headers.get(name),
  );
  if (!id || !timestamp || !signature) return "webhook-id, webhook-timestamp or webhook-signature is missing";
  if (!/^\d{1,12}$/.test(timestamp)) return "webhook-timestamp is not a time";
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_SECONDS)
    return "webhook-timestamp is more than five minutes off";
  const key = Buffer.from(secret.slice("whsec_".length), "base64");
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  const fits = signature.split(" ").some((one) => {
    const [version, text = ""] = one.split(",");
    const given = Buffer.from(text, "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
  return fits ? undefined : "the signature does not match this secret, or the body was changed";
}

export class Receiver {
  private readonly seen = new Set<string>();
  private readonly server: Bun.Server<undefined>;

  /** Throws what the system reports, such as EADDRINUSE. */
  constructor(private readonly parts: ReceiverParts) {
    this.server = Bun.serve({
      hostname: "127.0.0.1",
      port: parts.port,
      maxRequestBodySize: BODY_MAX_BYTES,
      fetch: (request) => this.take(request),
    });
  }

  get port(): number {
    return this.server.port ?? this.parts.port;
  }

  /** Waits for the answers that are under way. */
  async stop(): Promise<void> {
    await this.server.stop();
  }

  private async take(request: Request): Promise<Response> {
    if (request.method !== "POST")
      return new Response("This address receives webhooks, which are sent with POST.\n", { status: 405 });
    const body = new Uint8Array(await request.arrayBuffer());
    const id = request.headers.get("webhook-id");
    const why = whyNotVerified(await this.parts.secret, request.headers, body, Date.now());
    const isKnown = why === undefined && id !== null && this.seen.has(id);
    if (why === undefined && id !== null) this.remember(id);
    const response = why === undefined ? await this.answer(request, body) : new Response(`${why}\n`, { status: 401 });
    this.parts.received({
      verified: why === undefined,
      ...(why !== undefined && { why }),
      id,
      ...(isKnown && { isRepeated: true as const }),
      ...contentOf(body),
      status: response.status,
    });
    return response;
  }

  private remember(id: string): void {
    this.seen.add(id);
    const [oldest] = this.seen;
    if (this.seen.size > IDS_REMEMBERED && oldest !== undefined) this.seen.delete(oldest);
  }

  /** The answer of the address that it is passed on to; 204 if there is none, and 502 if that does not answer. */
  private async answer({ headers }: Request, body: Uint8Array<ArrayBuffer>): Promise<Response> {
    const { forward } = this.parts;
    if (forward === undefined) return new Response(null, { status: 204 });
    const passed = new Headers(
      [...headers].filter(([name]) => /^(?:webhook-.*|content-type|user-agent|x-.*)$/i.test(name)),
    );
    try {
      const answer = await fetch(forward, {
        method: "POST",
        headers: passed,
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
      });
      return new Response(await answer.bytes(), { status: answer.status });
    } catch (error) {
      return new Response(`${forward} did not answer: ${(error as Error).message}\n`, { status: 502 });
    }
  }
}

function contentOf(body: Uint8Array): Pick<Received, "type" | "timestamp" | "data"> {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(body));
    return isObject(value) ? { type: value.type, timestamp: value.timestamp, data: value.data } : {};
  } catch {
    return {};
  }
}

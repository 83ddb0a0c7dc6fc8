/**
 * One POST to a URL that others have named. The name is resolved once, its addresses are judged, and the connection goes to one that passed. No
 * redirect is followed, and of the response only a bounded part is read. To be used in a process without proxy variables: a proxy would resolve the name
 * again.
 */
import { dns } from "bun";
import { type Address, addressText, parseAddress } from "../base/address.ts";
import { checkUrl, type GuardRules, passing, type Refused, type Target } from "./guard.ts";
import {
  ADDRESSES_TRIED_MAX,
  REQUEST_TIMEOUT_MS,
  RESPONSE_BODY_MAX_MS,
  RESPONSE_KEPT_MAX_BYTES,
  RESPONSE_READ_MAX_BYTES,
  RETRY_AFTER_MAX_MS,
} from "./limits.ts";

/** The addresses of a name. */
export type Resolve = (hostname: string) => Promise<readonly Address[]>;

export interface PinnedRequest {
  readonly url: string;
  readonly isTrusted: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export type PinnedAnswer =
  | {
      readonly status: number;
      /** The beginning of its body. */
      readonly response: string;
      /** What Retry-After asks for. */
      readonly retryAfterMs?: number;
    }
  | { readonly error: string };

export interface PinnedOptions {
  readonly rules: GuardRules;
  readonly resolve?: Resolve;
  readonly timeoutMs?: number;
  readonly nowMs: () => number;
}

/** Never rejects. */
export async function postPinned(request: PinnedRequest, options: PinnedOptions): Promise<PinnedAnswer> {
  const { rules, resolve = resolveName, timeoutMs = REQUEST_TIMEOUT_MS } = options;
  const target = checkUrl(request.url, rules, request.isTrusted);
  if ("refused" in target) return refusal(target);
  const abort = new AbortController();
  // No boundary: it only aborts.
  const timer = setTimeout(() => abort.abort(), timeoutMs);
  try {
    const addresses = await addressesOf(target, rules, resolve, abort.signal);
    if ("refused" in addresses) return refusal(addresses);
    return await firstAnswer(target, addresses, request, options, abort);
  } catch (error) {
    return {
      error: abort.signal.aborted ? `no response within ${timeoutMs / 1000} s` : reasonOf(error, target),
    };
  } finally {
    clearTimeout(timer);
    // A connection on which more is to come is of no use.
    abort.abort();
  }
}

const refusal = ({ refused }: Refused): PinnedAnswer => ({ error: `The URL is not called: ${refused}.` });

async function addressesOf(
  target: Target,
  rules: GuardRules,
  resolve: Resolve,
  signal: AbortSignal,
): Promise<readonly Address[] | Refused> {
  const found = target.literal ? [target.literal] : await beforeAbort(resolve(target.hostname), signal);
  return passing(target, found, rules);
}

async function beforeAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(new Error("it took too long"));
  signal.addEventListener("abort", abort, { once: true });
  aborted.promise.catch(() => undefined);
  return Promise.race([work, aborted.promise]);
}

/** Not libc: each of its lookups holds one of a few threads, so that names whose servers hang would keep all others waiting. */
const RESOLVER = process.platform === "darwin" ? "system" : "c-ares";

async function resolveName(hostname: string): Promise<readonly Address[]> {
  const found = await dns.lookup(hostname, { backend: RESOLVER });
  return found.map(({ address }) => parseAddress(address)).filter((address) => address !== undefined);
}

/** Nothing was sent to an address to which the connection failed, so the next one can be tried. */
const NOT_CONNECTED: readonly string[] = [
  "ConnectionRefused",
  "ECONNREFUSED",
  "FailedToOpenSocket",
  "ENETUNREACH",
  "EHOSTUNREACH",
];

async function firstAnswer(
  target: Target,
  addresses: readonly Address[],
  request: PinnedRequest,
  options: PinnedOptions,
  abort: AbortController,
): Promise<PinnedAnswer> {
  const tried = addresses.slice(0, ADDRESSES_TRIED_MAX);
  for (const [at, address] of tried.entries()) {
    try {
      return await answerOf(target, address, request, options, abort);
    } catch (error) {
      if (at === tried.length - 1 || abort.signal.aborted || !NOT_CONNECTED.includes(codeOf(error))) throw error;
    }
  }
  return { error: "its host does not resolve to an address" };
}

async function answerOf(
  { url, literal, hostname }: Target,
  address: Address,
  { headers, body }: PinnedRequest,
  { nowMs }: PinnedOptions,
  abort: AbortController,
): Promise<PinnedAnswer> {
  const host = address.length === 4 ? addressText(address) : `[${addressText(address)}]`;
  const port = url.port === "" ? "" : `:${url.port}`;
  const response = await fetch(`${url.protocol}//${host}${port}${url.pathname}${url.search}`, {
    method: "POST",
    headers: { ...headers, Host: url.host, "accept-encoding": "identity" },
    body,
    redirect: "manual",
    decompress: false,
    signal: abort.signal,
    // Without it the certificate would be verified for the address.
    ...(literal === undefined && url.protocol === "https:" && { tls: { serverName: hostname } }),
  });
  const retryAfterMs = retryAfterOf(response.headers.get("retry-after"), nowMs());
  const kept = await beginningOf(response, abort);
  return { status: response.status, response: kept, ...(retryAfterMs !== undefined && { retryAfterMs }) };
}

/** Never rejects: the status decides, whatever becomes of the body. */
async function beginningOf(response: Response, abort: AbortController): Promise<string> {
  const kept: Uint8Array[] = [];
  let read = 0;
  // No boundary: it only aborts.
  const timer = setTimeout(() => abort.abort(), RESPONSE_BODY_MAX_MS);
  try {
    for await (const chunk of response.body ?? []) {
      if (read < RESPONSE_KEPT_MAX_BYTES) kept.push(chunk.slice(0, RESPONSE_KEPT_MAX_BYTES - read));
      read += chunk.length;
      if (read > RESPONSE_READ_MAX_BYTES) break;
    }
  } catch {
    // What has come so far is shown.
  } finally {
    clearTimeout(timer);
  }
  return new TextDecoder().decode(Buffer.concat(kept));
}

/** Seconds, or a date. */
function retryAfterOf(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  const ms = /^\d{1,9}$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), RETRY_AFTER_MAX_MS);
}

const codeOf = (error: unknown): string => {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : "";
};

const REASONS: Readonly<Record<string, string>> = {
  ConnectionRefused: "the connection was refused",
  ECONNREFUSED: "the connection was refused",
  FailedToOpenSocket: "the connection failed",
  ECONNRESET: "the connection was closed before a response arrived",
  ConnectionClosed: "the connection was closed before a response arrived",
  ENOTFOUND: "its host is unknown",
  DNS_ENOTFOUND: "its host is unknown",
  ERR_TLS_CERT_ALTNAME_INVALID: "its certificate is not for this host",
  CERT_HAS_EXPIRED: "its certificate has expired",
  DEPTH_ZERO_SELF_SIGNED_CERT: "its certificate is not from a trusted authority",
  SELF_SIGNED_CERT_IN_CHAIN: "its certificate is not from a trusted authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "its certificate is not from a trusted authority",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "its certificate is not from a trusted authority",
};

/** Without the texts of the runtime, which quote the address. */
function reasonOf(error: unknown, { hostname }: Target): string {
  const code = codeOf(error);
  return REASONS[code] ?? `the request to ${hostname} failed${code === "" ? "" : ` (${code})`}`;
}

/** A running server, asked over HTTP. What goes wrong on the way is said in words that help. */

import { isIP } from "node:net";
import { CODES } from "../protocol/codes.ts";
import { isObject } from "../protocol/json.ts";
import { adminToken, appSecret, type Credential, secretKey } from "./credentials.ts";
import { Failure, UsageError } from "./errors.ts";
import type { Given } from "./given.ts";

const DEFAULT_URL = "http://127.0.0.1:8080";
const ANSWER_WITHIN_MS = 30_000;

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** The control plane, opened with the admin token. */
export const controlPlane = (given: Given): Server =>
  new Server(
    `${serverUrl(given)}/api/internal/v1`,
    adminToken(given),
    "the hosts of applications have no control plane, and with PARLEY_ADMIN_LISTEN it has an address of its own",
  );

/** The REST calls an application's backend makes, with its secret key. */
export const backendApi = (given: Given): Server =>
  new Server(
    `${serverUrl(given)}/v1`,
    secretKey(given),
    "the address of PARLEY_ADMIN_LISTEN has the control plane only",
  );

/** An application's own host: rooms, access tokens, recordings. */
export const applicationApi = (given: Given): Server => applicationServer(given, appSecret(given));

/** The same, for what anybody may ask. */
export const openApplicationApi = (given: Given): Server => applicationServer(given, undefined);

function applicationServer(given: Given, credential: Credential | undefined): Server {
  const { base, host } = applicationHost(given);
  return new Server(
    `${base}/api/v1`,
    credential,
    "the address of PARLEY_ADMIN_LISTEN has the control plane only, and the server's PARLEY_DOMAIN may be another",
    host,
  );
}

/**
 * Applications live at `<app>.<domain>`. Where the server is named by a number or as localhost, the host is told in the
 * header alone: not every machine finds `demo.localhost`.
 */
export function applicationHost(given: Given): { base: string; host: string } {
  const url = new URL(serverUrl(given));
  const app = given.text("app") ?? (given.env.PARLEY_APP || "demo");
  if (!/^[a-z0-9-]+$/.test(app)) throw new UsageError(`${JSON.stringify(app)} is not the name of an application`);
  // Its own address, as the docs have it, is as good as the server's.
  if (url.hostname === `${app}.localhost`) url.hostname = "localhost";
  const bare = url.hostname.replace(/^\[|\]$/g, "");
  const isLocal = bare === "localhost" || isIP(bare) !== 0;
  const domain = given.env.PARLEY_DOMAIN || (isLocal ? "localhost" : bare);
  const host = `${app}.${domain}${url.port ? `:${url.port}` : ""}`;
  const base = isLocal ? url.href : `${url.protocol}//${host}${url.pathname}`;
  return { base: base.replace(/\/+$/, ""), host };
}

function serverUrl({ flags, env }: Given): string {
  const [text, from] = flags.has("url")
    ? [flags.get("url") ?? "", "--url"]
    : [env.PARLEY_URL || DEFAULT_URL, "PARLEY_URL"];
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (
    !url ||
    !["http:", "https:"].includes(url.protocol) ||
    url.username !== "" ||
    url.search !== "" ||
    url.hash !== ""
  )
    throw new UsageError(`${from} must be an address such as ${DEFAULT_URL}`);
  return url.href.replace(/\/+$/, "");
}

export class Server {
  constructor(
    private readonly base: string,
    private readonly credential: Credential | undefined,
    /** Why a server may not have what is asked for at this address. */
    private readonly absent: string,
    /** Where it is not the one of the address. */
    private readonly host?: string,
  ) {}

  get<T extends object>(path: string): Promise<T> {
    return this.ask("GET", path);
  }

  post<T extends object>(path: string, body: object = {}): Promise<T> {
    return this.ask("POST", path, body);
  }

  put<T extends object>(path: string, body: object): Promise<T> {
    return this.ask("PUT", path, body);
  }

  patch<T extends object>(path: string, body: object): Promise<T> {
    return this.ask("PATCH", path, body);
  }

  delete<T extends object>(path: string): Promise<T> {
    return this.ask("DELETE", path);
  }

  /** T is the server's promise (docs/rest.md); that it is an object at all is checked here. */
  private async ask<T extends object>(method: Method, path: string, body?: object): Promise<T> {
    const response = await this.send(method, path, body);
    const answer = await readObject(response);
    if (!answer) throw this.notParley(response);
    if (!response.ok) throw this.refusal(response, answer);
    return answer as T;
  }

  private async send(method: Method, path: string, body: object | undefined): Promise<Response> {
    try {
      return await fetch(this.base + path, {
        method,
        headers: {
          ...(this.credential && { Authorization: `Bearer ${this.credential.value}` }),
          ...(this.host && { Host: this.host }),
          ...(body && { "Content-Type": "application/json" }),
        },
        // Followed blindly, a redirect could carry the credential to somebody else.
        redirect: "manual",
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
        ...(body && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new Failure(
        "unreachable",
        `no server can be reached at ${this.origin} (${causeOf(error)}); start one with "parley up", or name another with --url or PARLEY_URL`,
      );
    }
  }

  private refusal(response: Response, answer: Readonly<Record<string, unknown>>): Failure {
    const code = codeOf(answer.error);
    const message = typeof answer.message === "string" ? answer.message : `${this.origin} answered ${response.status}`;
    const retry = response.headers.get("retry-after");
    const isRefused = response.status === 401 || code === "invalid_secret_key";
    if (isRefused && this.credential) return new Failure(code, `${this.credential.refused} (${this.origin})`);
    if (response.status === 429 && retry) return new Failure(code, `${message} Retry in ${retry} s.`);
    if (response.status === 404 && message === CODES.not_found.text)
      return new Failure(code, `${this.base} is not there: ${this.absent}; name the right address with --url`);
    return new Failure(code, message);
  }

  private notParley(response: Response): Failure {
    const location = response.headers.get("location");
    return new Failure(
      "unexpected_answer",
      location
        ? `${this.origin} redirects to ${location}; name the right address with --url or PARLEY_URL`
        : `${this.origin} answered ${response.status}, and not as Parley does; is this a Parley server?`,
    );
  }

  get origin(): string {
    return new URL(this.base).origin;
  }
}

/** The application API has its code one level deeper. */
function codeOf(error: unknown): string {
  if (isObject(error)) return codeOf(error.code);
  return typeof error === "string" ? error : "unexpected_answer";
}

async function readObject(response: Response): Promise<Record<string, unknown> | undefined> {
  try {
    const value: unknown = await response.json();
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const UNTRUSTED = "its certificate is not trusted here; NODE_EXTRA_CA_CERTS names a file of certificates to trust";
const CAUSES: Readonly<Record<string, string>> = {
  ConnectionRefused: "connection refused",
  ConnectionClosed: "the connection was closed",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was closed",
  ENOTFOUND: "no such host",
  EPROTO: "it does not speak TLS there",
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
};

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no answer within ${ANSWER_WITHIN_MS / 1000} s`;
  const code = "code" in error ? String(error.code) : "";
  return CAUSES[code] ?? (code || error.message);
}

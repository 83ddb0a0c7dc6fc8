/** Calls a running server over HTTP, and turns what goes wrong into messages that help the user. */
import { CODES } from "../../protocol/codes.ts";
import { isObject } from "../../protocol/json.ts";
import { CredentialRefused, Failure } from "../line/errors.ts";
import type { Input } from "../line/input.ts";
import { addressDoubt, applicationHost, controlUrl, noServerHint, serverUrl, trustIn } from "./address.ts";
import { adminToken, type Credential } from "./credentials.ts";
import { sayService } from "./service-line.ts";

const RESPONSE_TIMEOUT_MS = 30_000;

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

interface Stream {
  readonly method?: Method;
  /** The media type that is expected. */
  readonly type?: string;
}

/** The control plane, with the admin token or an operator's. */
export const controlPlane = (input: Input, credential: Credential = adminToken(input)): Server =>
  new Server(
    input,
    `${controlUrl(input)}/api/internal/v1`,
    credential,
    "application hosts do not serve the control plane, and PARLEY_ADMIN_LISTEN gives it a separate address",
  );

/** The REST API for the backend of an application, with its secret key. */
export const backendApi = (input: Input, credential: Credential): Server =>
  new Server(
    input,
    `${serverUrl(input)}/v1`,
    credential,
    "the address of PARLEY_ADMIN_LISTEN serves only the control plane",
  );

/** The API at the application's own host. Calls that need no credential have none. */
export function applicationServer(input: Input, credential: Credential | FindCredential | undefined): Server {
  const { base, host } = applicationHost(input);
  return new Server(
    input,
    `${base}/api/v1`,
    credential,
    "the address of PARLEY_ADMIN_LISTEN serves only the control plane, and the server's PARLEY_DOMAIN may be different",
    { host, app: input.text("app") },
  );
}

/** Called before the first request, after the arguments of the command have been checked. */
type FindCredential = () => Promise<Credential>;

export class Server {
  private credential: Credential | undefined;
  /** Fields that the server did not know in the last request, and ignored. */
  private lastIgnored: readonly string[] = [];

  constructor(
    private readonly input: Input,
    private readonly base: string,
    private readonly given: Credential | FindCredential | undefined,
    /** Why this address may not serve the API. */
    private readonly whyAbsent: string,
    /** `host` is the Host header, if it differs from the address; `app` is the application, if a flag names it. */
    private readonly more: { readonly host?: string; readonly app?: string | undefined } = {},
  ) {}

  get<T extends object>(path: string): Promise<T> {
    return this.request("GET", path);
  }

  /** All pages of a list. */
  async getAll<T>(path: string): Promise<{ data: T[]; next: null }> {
    const data: T[] = [];
    for (let after: string | null | undefined = ""; after !== null && after !== undefined; ) {
      const query: string = after === "" ? "" : `${path.includes("?") ? "&" : "?"}after=${encodeURIComponent(after)}`;
      const page: { data: T[]; next?: string | null } = await this.get(path + query);
      data.push(...page.data);
      after = page.next;
    }
    return { data, next: null };
  }

  post<T extends object>(path: string, body: object = {}): Promise<T> {
    return this.request("POST", path, body);
  }

  put<T extends object>(path: string, body: object): Promise<T> {
    return this.request("PUT", path, body);
  }

  patch<T extends object>(path: string, body: object): Promise<T> {
    return this.request("PATCH", path, body);
  }

  delete<T extends object>(path: string): Promise<T> {
    return this.request("DELETE", path);
  }

  /** The response to a call that lasts, such as the tail; what the server refuses is a Failure. */
  async stream(
    path: string,
    signal: AbortSignal,
    { method = "GET", type = "text/event-stream" }: Stream = {},
  ): Promise<Response> {
    const response = await this.send(method, path, undefined, signal);
    if (response.ok && response.headers.get("content-type")?.startsWith(type)) return response;
    const content = await readObject(response);
    throw content && !response.ok ? this.refusal(response, content) : this.notParley(response);
  }

  /** T is what docs/rest.md promises; only that the response is an object is checked. */
  private async request<T extends object>(method: Method, path: string, body?: object): Promise<T> {
    const response = await this.send(method, path, body);
    const content = await readObject(response);
    if (!content) throw this.notParley(response);
    if (!response.ok) throw this.refusal(response, content);
    this.lastIgnored = ignoredBy(response);
    return content as T;
  }

  /** Notes about the fields of the last request that the server is too old to know. */
  ignoredNotes(): string[] {
    return this.lastIgnored.map(
      (name) => `This server does not know the field ${JSON.stringify(name)} and ignored it.`,
    );
  }

  private async send(
    method: Method,
    path: string,
    body: object | undefined,
    signal: AbortSignal = AbortSignal.timeout(RESPONSE_TIMEOUT_MS),
  ): Promise<Response> {
    sayService(this.input);
    this.credential ??= await (typeof this.given === "function" ? this.given() : this.given);
    try {
      return await fetch(this.base + path, {
        method,
        headers: {
          ...(this.credential && { Authorization: `Bearer ${this.credential.value}` }),
          ...(this.more.host && { Host: this.more.host }),
          ...(body && { "Content-Type": "application/json" }),
        },
        // Following a redirect could send the credential to another server.
        redirect: "manual",
        signal,
        ...trustIn(this.input, this.base),
        ...(body && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new Failure(
        "unreachable",
        `cannot reach a server at ${this.origin} (${causeOf(error)}); ${noServerHint(this.input)}`,
      );
    }
  }

  private refusal(response: Response, content: Readonly<Record<string, unknown>>): Failure {
    const code = codeOf(content.error);
    const message =
      typeof content.message === "string" ? content.message : `${this.origin} answered ${response.status}`;
    const retry = response.headers.get("retry-after");
    const isRefused = response.status === 401 || code === "invalid_secret_key";
    if (isRefused && this.credential)
      return new CredentialRefused(code, `${this.credential.refused} (${this.origin})${addressDoubt(this.input)}`);
    if (response.status === 429 && retry) return new Failure(code, `${message} Retry in ${retry} s.`);
    if (response.status === 404 && message === CODES.not_found.text)
      return new Failure(code, `nothing found at ${this.base}: ${this.whyAbsent}; set the right address with --url`);
    return new Failure(code, this.withList(message));
  }

  /** Names the command that lists what there is, for a name or an id that is not there. */
  private withList(message: string): string {
    const list = LISTS[message];
    if (list === undefined) return message;
    const flags = this.more.app === undefined ? "" : ` --app ${this.more.app}`;
    return `${message.replace(/\.$/, "")}; "parley ${list}${flags}" lists them`;
  }

  private notParley(response: Response): Failure {
    const location = response.headers.get("location");
    return new Failure(
      "unexpected_answer",
      location
        ? `${this.origin} redirects to ${location}; set the right address with --url or PARLEY_URL`
        : `${this.origin} answered ${response.status}, which is not how Parley answers; is this a Parley server?${addressDoubt(this.input)}`,
    );
  }

  get origin(): string {
    return new URL(this.base).origin;
  }
}

/** What a service sends that is larger than memory. A connection that is cut before the end is a Failure, an interrupt of the user is none. */
export async function* bytesOf({ body, headers, url }: Response, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const announced = headers.get("x-parley-bytes");
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.length;
      yield chunk;
    }
  } catch (error) {
    if (signal.aborted) throw error;
    throw cut(url, causeOf(error));
  }
  if (announced !== null && Number(announced) !== bytes) throw cut(url, `${bytes} bytes of ${announced} arrived`);
}

const cut = (url: string, why: string): Failure =>
  new Failure(
    "incomplete",
    `${new URL(url).origin} closed the connection before everything was sent (${why}), so nothing was written; its log says why`,
  );

/** By the message of the service: the control plane has one code for everything that is not there. */
const LISTS: Readonly<Record<string, string>> = {
  "There is no such application.": "apps list",
  "There is no such key.": "keys list",
  "There is no such backup.": "backups list",
  [CODES.room_not_found.text]: "rooms list",
  [CODES.webhook_not_found.text]: "webhooks list",
  [CODES.meeting_not_found.text]: "rooms meetings",
  [CODES.recording_not_found.text]: "recordings list",
};

/** docs/rooms.md: names are percent-encoded and separated by commas. */
const ignoredBy = ({ headers }: Response): string[] =>
  (headers.get("x-parley-ignored") ?? "")
    .split(",")
    .map((name) => decodedName(name.trim()))
    .filter(Boolean);

function decodedName(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** The application API nests the code one level deeper. */
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

const UNTRUSTED =
  "this machine does not trust its certificate; set NODE_EXTRA_CA_CERTS to a file of certificates to trust";
const CAUSES: Readonly<Record<string, string>> = {
  ConnectionRefused: "connection refused",
  ConnectionClosed: "the connection was closed",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was closed",
  ENOTFOUND: "no such host",
  EPROTO: "the server does not use TLS at this address",
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
};

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error.name === "TimeoutError") return `no answer within ${RESPONSE_TIMEOUT_MS / 1000} s`;
  const code = "code" in error ? String(error.code) : "";
  return CAUSES[code] ?? (code || error.message);
}

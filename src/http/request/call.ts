/** One HTTP request while it is handled: its id, its client, the application it is for, and headers for its response. */
import { randomUUID } from "node:crypto";
import { type Address, type Cidr, clientAddress, contains, isLoopback, parseAddress } from "../../base/address.ts";
import { IDLE_MAX_SECONDS } from "../limits.ts";
import { isPlainHost, isShortHost, type RequestTarget, targetOf } from "./host.ts";

const SECURITY_HEADERS = {
  "Cache-Control": "no-store",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
} as const;

/** The longest idle timeout that Bun supports. */
const PAUSE_MAX_SECONDS = 255;
const RESPONSE_BEGUN_MS = 1000;

/** Headers that proxies add about the client they forward. */
const FORWARDING_HEADERS = [
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "forwarded",
  "x-real-ip",
  "via",
];

/** What a call needs of the connection that its request came on. */
export interface CallConnection {
  address(): string | undefined;
  /** Closes the connection after this many seconds without traffic; 0: never. */
  setIdleSeconds(seconds: number): void;
}

/** The node's settings that decide where a request comes from and which application it is for. */
export interface CallSettings {
  readonly trustedProxies: readonly Cidr[];
  readonly domain: string;
}

export class Call {
  private id: string | undefined;
  private responseHeaders: Record<string, string> | undefined;
  /** The request carries a valid credential, or its address a valid proof. */
  isAuthenticated = false;
  /** The request was counted against its client's address (unauthenticated-limit.ts). */
  isCharged = false;
  /** Names of fields and parameters that nothing reads; `undefined` if there are none. Bound: IGNORED_MAX. */
  ignored: Set<string> | undefined;
  private foundTarget: RequestTarget | undefined;
  private foundClient: Address | undefined;

  constructor(
    readonly request: Request,
    private readonly connection: CallConnection,
    private readonly settings: CallSettings,
    /** Parameters of the path, percent-decoded. The router replaces them where a name has raw slashes. */
    public params: Readonly<Record<string, string>>,
  ) {}

  /** Made when it is first needed, like the headers: a request that becomes a WebSocket needs neither. */
  get requestId(): string {
    this.id ??= randomUUID();
    return this.id;
  }

  /** Headers for the response. */
  get headers(): Record<string, string> {
    this.responseHeaders ??= { ...SECURITY_HEADERS, "X-Request-Id": this.requestId };
    return this.responseHeaders;
  }

  /** Switches the idle timeout off for a long body. The code that reads the body needs a stall timeout of its own. */
  suspendIdleTimeout(): void {
    this.connection.setIdleSeconds(0);
  }

  /** Back to the usual timeout after a long body: the connection may serve further requests. */
  restoreIdleTimeout(): void {
    this.connection.setIdleSeconds(IDLE_MAX_SECONDS);
  }

  /** For long responses: a media player that is paused reads nothing for a while. */
  allowPauses(): void {
    // Only after the response has begun: when Bun starts to send a file, it sets its own timeout over an earlier one.
    // No boundary: setting an idle limit does not throw for a request that is over.
    setTimeout(() => this.connection.setIdleSeconds(PAUSE_MAX_SECONDS), RESPONSE_BEGUN_MS);
  }

  /** The client's address, behind any trusted proxies; found once per request. */
  get client(): Address {
    this.foundClient ??= this.findClient();
    return this.foundClient;
  }

  /** The request comes from this machine itself. Through a local proxy every client would seem to. */
  get isLocal(): boolean {
    return isLoopback(this.socket) && !this.isForwarded;
  }

  /** A proxy is between the client and this node, as far as can be seen: a trusted one, or one that says so. */
  get isForwarded(): boolean {
    const { headers } = this.request;
    return this.isFromProxy || FORWARDING_HEADERS.some((name) => headers.has(name));
  }

  /** The host that the client named, with its port: as a trusted proxy forwards it, else the Host header. */
  get host(): string | null {
    return this.forwarded("x-forwarded-host") ?? this.request.headers.get("host");
  }

  /**
   * MUST be asked before anything reads `request.url`, or upgrades the request: Bun makes the URL then, from the Host header. It decodes
   * and normalises that as an international name, which takes more than a second for a header full of combining marks.
   * `isAny`: a health check may send other characters in a short header, such as the name of a cluster.
   */
  hasGoodHost(isAny: boolean): boolean {
    const isGood = isAny ? isShortHost : isPlainHost;
    const isForwardedGood = this.settings.trustedProxies.length === 0 || isGood(this.forwarded("x-forwarded-host"));
    return isForwardedGood && isGood(this.request.headers.get("host"));
  }

  /** Which application the request is for; decided once per request. */
  get target(): RequestTarget {
    this.foundTarget ??= targetOf(this.request, this.host, this.settings.domain);
    return this.foundTarget;
  }

  /** Scheme and host under which the client reached us: links to ourselves begin with it. */
  get origin(): string {
    const scheme = this.forwarded("x-forwarded-proto") ?? this.request.url.slice(0, this.request.url.indexOf(":"));
    return `${scheme === "https" ? "https" : "http"}://${this.host ?? ""}`;
  }

  /** The right-most entry: a client can make up all the entries to its left. */
  private forwarded(name: string): string | undefined {
    const header = this.request.headers.get(name);
    if (header === null || !this.isFromProxy) return undefined;
    return header.slice(header.lastIndexOf(",") + 1).trim() || undefined;
  }

  private findClient(): Address {
    const { trustedProxies } = this.settings;
    if (trustedProxies.length === 0) return this.socket;
    return clientAddress(this.socket, this.request.headers.get("x-forwarded-for"), trustedProxies);
  }

  private get isFromProxy(): boolean {
    return this.settings.trustedProxies.some((cidr) => contains(cidr, this.socket));
  }

  private get socket(): Address {
    return parseAddress(this.connection.address() ?? "") ?? [0, 0, 0, 0];
  }
}

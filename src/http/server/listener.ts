/** A listening address, and its certificate, which can be reloaded while connections stay open. */
import { readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { createSecureContext } from "node:tls";
import type { Server, WebSocketHandler } from "bun";
import { REQUEST_HEAD_MAX_BYTES } from "../../protocol/limits.ts";
import type { Socket } from "../../realtime/state/socket.ts";
import { IDLE_MAX_SECONDS } from "../limits.ts";
import { type CertificateState, validityOf } from "./certificate.ts";
import { setHeadLimit } from "./head-limit.ts";
import type { Handler, Routes } from "./pipeline.ts";

setHeadLimit(REQUEST_HEAD_MAX_BYTES);

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  /** Other processes of this service listen on the same port. */
  readonly isShared: boolean;
  /** The flags that set host and port, for the error if the system refuses them. */
  readonly settings: { readonly host: string; readonly port: string };
}

export interface Served<Data> {
  readonly routes: Routes;
  /** Handles every path that has no route. */
  readonly fallback: Handler;
  readonly websocket: WebSocketHandler<Data>;
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

interface Pem {
  readonly cert: string;
  readonly key: string;
  readonly validity: Pick<CertificateState, "startsMs" | "expiresMs">;
}

/** A message to a channel costs a call into each server. */
const EARLIER_MAX = 8;

/** A server and what it serves; there is none before `listen`. */
interface Running<Data> {
  readonly server: Server<Data>;
  readonly served: Served<Data>;
  /** That of the server, which has none any more once it is stopped. */
  readonly port: number;
}

export class Listener<Data> {
  private running: Running<Data> | undefined;
  /** The last valid pair: an invalid one on the disk never stops a listener. */
  private pem: Pem | undefined;
  private isReloadFailed = false;
  /** Servers from before a certificate was reloaded, or a pause. Bound: one per SIGHUP, and EARLIER_MAX for pauses, while they have connections. */
  private earlier: Server<Data>[] = [];
  private isPaused = false;
  private stopping: Promise<void> | undefined;

  constructor(private readonly options: ListenerOptions) {
    this.pem = options.tls && readTls(options.tls);
  }

  listen(served: Served<Data>): void {
    try {
      const server = this.serve(served, this.options.port);
      this.running = { served, server, port: server.port ?? this.options.port };
    } catch (error) {
      throw listenError(error, this.options);
    }
  }

  /** The port that the system has chosen, if the option is 0. */
  get port(): number {
    return this.running?.port ?? this.options.port;
  }

  get url(): string {
    const host = ["0.0.0.0", "::"].includes(this.options.host) ? "localhost" : this.options.host;
    return `${this.options.tls ? "https" : "http"}://${inUrl(host)}:${this.port}`;
  }

  /** Throws and changes nothing if the files are not a certificate and its key. Open connections stay open. */
  reloadTls(): void {
    if (!this.options.tls) return;
    this.isReloadFailed = true;
    this.pem = readTls(this.options.tls);
    this.isReloadFailed = false;
    // One that is paused uses the new pair when it resumes.
    if (!this.running || this.isPaused || this.stopping) return;
    void this.running.server.stop(false);
    this.listenAgain();
  }

  /**
   * Takes no new connections until `resume`, and keeps those that are open: other processes that listen on the port get them. Bun
   * can only close the port, so each pause leaves a server behind while it has connections; after many of them it goes on listening.
   */
  pause(): void {
    if (!this.running || this.isPaused || this.stopping || !this.options.isShared) return;
    this.earlier = this.withConnections();
    if (this.earlier.length >= EARLIER_MAX) return;
    this.isPaused = true;
    void this.running.server.stop(false);
  }

  resume(): void {
    if (!this.isPaused) return;
    this.listenAgain();
    this.isPaused = false;
  }

  private listenAgain(): void {
    // One that has stopped would listen again.
    if (!this.running || this.stopping) return;
    const { server, served, port } = this.running;
    this.earlier = [...this.withConnections(), server];
    this.running = { served, server: this.serve(served, port), port };
  }

  private withConnections(): Server<Data>[] {
    return this.earlier.filter((one) => one.pendingWebSockets > 0);
  }

  /** undefined: it does not serve TLS. */
  get certificate(): CertificateState | undefined {
    return this.pem && { ...this.pem.validity, isReloadFailed: this.isReloadFailed };
  }

  /** Writes to every subscriber of a topic but `except`. Each server has topics of its own, earlier ones too. */
  broadcast(topic: string, text: string, except: Socket | undefined): number {
    if (this.earlier.length > 0) return this.broadcastToAll(topic, text, except);
    return except ? except.publish(topic, text) : (this.running?.server.publish(topic, text) ?? 0);
  }

  private broadcastToAll(topic: string, text: string, except: Socket | undefined): number {
    // The sender leaves the topic meanwhile, so that no server has to know whether the sender is one of its own.
    except?.unsubscribe(topic);
    const written = this.servers.map((server) => server.publish(topic, text));
    except?.subscribe(topic);
    return Math.min(...written);
  }

  /** Takes no new requests; resolves when those under way are complete. */
  stop(): Promise<void> {
    this.stopping ??= this.running?.server.stop(false) ?? Promise.resolve();
    return this.stopping;
  }

  /** Closes every connection that is still open. */
  kill(): void {
    for (const server of this.servers) void server.stop(true);
  }

  private get servers(): Server<Data>[] {
    return this.running ? [this.running.server, ...this.earlier] : [];
  }

  private serve({ routes, fallback, websocket }: Served<Data>, port: number): Server<Data> {
    return Bun.serve<Data>({
      hostname: this.options.host,
      port,
      reusePort: this.options.isShared,
      routes,
      fetch: fallback,
      websocket,
      idleTimeout: IDLE_MAX_SECONDS,
      // Unlimited here, because each endpoint has its own limit and responds in our error format.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      ...(this.pem && { tls: { cert: this.pem.cert, key: this.pem.key } }),
    });
  }
}

/** In a URL, an IPv6 address stands in brackets. */
const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** The system's refusal as a sentence that names the flag to change. Keeps the code, which the command line checks. */
export function listenError(
  error: unknown,
  { host, port, settings }: Pick<ListenerOptions, "host" | "port" | "settings">,
): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const otherPort = `choose another port with ${settings.port}`;
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is in use by another program; ${otherPort}, or stop that program`,
    EACCES: `port ${port} of ${host} may not be opened by this user; ${otherPort} (1024 or higher)`,
    EADDRNOTAVAIL: `${host} is not an address of this machine; choose another with ${settings.host}`,
    EINVAL: `${host} cannot be listened on; choose an address of this machine with ${settings.host}`,
  };
  const sentence = sentences[code];
  return sentence === undefined ? error : Object.assign(new Error(sentence), { code });
}

/** The certificate or its key cannot be used; the message says why. */
export class TlsError extends Error {}

function readTls(files: TlsFiles): Pem {
  try {
    const pem = { cert: readFileSync(files.cert, "utf8"), key: readFileSync(files.key, "utf8") };
    // Bun takes an empty text for "no TLS"; the file is empty while a renewal is being written.
    if (pem.cert.trim() === "" || pem.key.trim() === "") throw new Error("the file is empty");
    createSecureContext(pem);
    return { ...pem, validity: validityOf(pem.cert) };
  } catch (error) {
    throw new TlsError(`${files.cert} and ${files.key} are not a certificate and its key: ${(error as Error).message}`);
  }
}

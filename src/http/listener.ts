/** A listening address: its routes, and its certificate, which can be read again while connections live on. */
import { readFileSync } from "node:fs";
import { isIPv6 } from "node:net";
import { createSecureContext } from "node:tls";
import type { Server, WebSocketHandler } from "bun";
import { REQUEST_HEAD_MAX_BYTES } from "../protocol/limits.ts";
import type { Socket } from "../realtime/socket.ts";
import { setHeadLimit } from "./head-limit.ts";
import { IDLE_MAX_SECONDS } from "./limits.ts";
import type { Handler, Routes } from "./pipeline.ts";

setHeadLimit(REQUEST_HEAD_MAX_BYTES);

export interface ListenerOptions<Data> {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  readonly routes: Routes;
  readonly fallback: Handler;
  readonly websocket: WebSocketHandler<Data>;
  /** The flags its address comes from, for the sentence that a refusal of the system is told in. */
  readonly settings: { readonly host: string; readonly port: string };
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

interface Pem {
  readonly cert: string;
  readonly key: string;
}

export class Listener<Data> {
  private server: Server<Data>;
  /** The last good pair: a bad one on the disk never takes a listener down. */
  private pem: Pem | undefined;
  /** Servers from before a certificate was read again, as long as they have connections. */
  private earlier: Server<Data>[] = [];

  constructor(private readonly options: ListenerOptions<Data>) {
    this.pem = options.tls && readTls(options.tls);
    try {
      this.server = this.listen(options.port);
    } catch (error) {
      throw listenError(error, options);
    }
  }

  get port(): number {
    return this.server.port ?? this.options.port;
  }

  get url(): string {
    const host = ["0.0.0.0", "::"].includes(this.options.host) ? "localhost" : this.options.host;
    return `${this.options.tls ? "https" : "http"}://${inUrl(host)}:${this.port}`;
  }

  /** Throws, and changes nothing, if the files are not a certificate and its key. Connections that are open stay open. */
  reloadTls(): void {
    if (!this.options.tls) return;
    this.pem = readTls(this.options.tls);
    const { port } = this;
    void this.server.stop(false);
    this.earlier = [...this.earlier.filter((server) => server.pendingWebSockets > 0), this.server];
    this.server = this.listen(port);
  }

  /** To every subscriber of a topic but `except`. Topics belong to a server: earlier ones have theirs. */
  broadcast(topic: string, text: string, except: Socket | undefined): number {
    if (this.earlier.length === 0) return except ? except.publish(topic, text) : this.server.publish(topic, text);
    return this.broadcastToAll(topic, text, except);
  }

  private broadcastToAll(topic: string, text: string, except: Socket | undefined): number {
    // Off its topic for this turn: then no server has to know whether the sender is one of its own.
    except?.unsubscribe(topic);
    const written = [this.server, ...this.earlier].map((server) => server.publish(topic, text));
    except?.subscribe(topic);
    return Math.min(...written);
  }

  /** No new requests; resolves when those under way are answered. */
  stop(): Promise<void> {
    return this.server.stop(false);
  }

  /** Ends what is still open. */
  kill(): void {
    for (const server of [this.server, ...this.earlier]) void server.stop(true);
  }

  private listen(port: number): Server<Data> {
    const { host, routes, fallback, websocket } = this.options;
    return Bun.serve<Data>({
      hostname: host,
      port,
      routes,
      fetch: fallback,
      websocket,
      idleTimeout: IDLE_MAX_SECONDS,
      // Our own limits answer in our own shape; this one only has to stay out of their way.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      ...(this.pem && { tls: this.pem }),
    });
  }
}

/** An IPv6 address stands in brackets there. */
export const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

/** The system's refusal as a sentence that names the flag to change. The code stays: the command line knows it by that. */
function listenError(
  error: unknown,
  { host, port, settings }: Pick<ListenerOptions<unknown>, "host" | "port" | "settings">,
): unknown {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const otherPort = `choose another port with ${settings.port}`;
  const sentences: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is in use by another program; ${otherPort}, or stop that program`,
    EACCES: `port ${port} of ${host} may not be opened by this user; ${otherPort} (from 1024 on)`,
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
    const pem: Pem = { cert: readFileSync(files.cert, "utf8"), key: readFileSync(files.key, "utf8") };
    // An empty text passes as "no certificate": a renewal that is being written just now.
    if (pem.cert.trim() === "" || pem.key.trim() === "") throw new Error("the file is empty");
    createSecureContext(pem);
    return pem;
  } catch (error) {
    throw new TlsError(`${files.cert} and ${files.key} are not a certificate and its key: ${(error as Error).message}`);
  }
}

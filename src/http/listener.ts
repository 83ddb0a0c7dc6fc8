/** A listening address: its routes, and its certificate, which can be read again while connections live on. */
import { readFileSync } from "node:fs";
import http from "node:http";
import { createSecureContext } from "node:tls";
import type { Server } from "bun";
import { REQUEST_HEAD_MAX_BYTES } from "../protocol/limits.ts";
import type { Handler, Routes } from "./router.ts";

// Bun takes this limit from here for all its servers; the default of 16 KiB is less than a legal token.
Object.assign(http, { maxHeaderSize: REQUEST_HEAD_MAX_BYTES });

export interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  readonly routes: Routes;
  readonly fallback: Handler;
}

export interface TlsFiles {
  readonly cert: string;
  readonly key: string;
}

export class Listener {
  private server: Server<unknown>;

  constructor(private readonly options: ListenerOptions) {
    this.server = this.listen(options.port);
  }

  get port(): number {
    return this.server.port ?? this.options.port;
  }

  get url(): string {
    const host = ["0.0.0.0", "::"].includes(this.options.host) ? "localhost" : this.options.host;
    return `${this.options.tls ? "https" : "http"}://${host}:${this.port}`;
  }

  /** Throws, and changes nothing, if the files are not a certificate and its key. Connections that are open stay open. */
  reloadTls(): void {
    if (!this.options.tls) return;
    readTls(this.options.tls);
    const { port } = this;
    void this.server.stop(false);
    this.server = this.listen(port);
  }

  /** No new requests; resolves when those under way are answered. */
  stop(): Promise<void> {
    return this.server.stop(false);
  }

  /** Ends what is still open. */
  kill(): void {
    void this.server.stop(true);
  }

  private listen(port: number): Server<unknown> {
    const { host, tls, routes, fallback } = this.options;
    return Bun.serve({
      hostname: host,
      port,
      routes,
      fetch: fallback,
      // Our own limits answer in our own shape; this one only has to stay out of their way.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      ...(tls && { tls: readTls(tls) }),
    });
  }
}

function readTls(files: TlsFiles): { cert: string; key: string } {
  const pem = { cert: readFileSync(files.cert, "utf8"), key: readFileSync(files.key, "utf8") };
  createSecureContext(pem);
  return pem;
}

/** The addresses a node listens on: the public one, and one for the operator where PARLEY_ADMIN_LISTEN asks for it. */
import type { WebSocketHandler } from "bun";
import type { Config } from "../config/settings.ts";
import type { CertificateState } from "../http/server/certificate.ts";
import { Listener } from "../http/server/listener.ts";
import type { Handler } from "../http/server/pipeline.ts";
import type { Broadcast } from "../realtime/state/socket.ts";
import type { NodeRoutes } from "./routes/routes.ts";

export interface Service<Data> {
  readonly routes: NodeRoutes;
  /** Handles every path that has no route. */
  readonly fallback: Handler;
  readonly websocket: WebSocketHandler<Data>;
}

/** Built before the service that it serves, because that service writes to its sockets; `listen` opens the ports. */
export class Listeners<Data> {
  private readonly main: Listener<Data>;
  private readonly admin: Listener<Data> | undefined;

  /** `isShared`: the other workers of this machine listen on the same ports. */
  constructor(config: Config, host: string, isShared = false) {
    const tls = config.tlsCert === "" ? undefined : { cert: config.tlsCert, key: config.tlsKey };
    this.main = new Listener({
      tls,
      host,
      port: config.port,
      isShared,
      settings: { host: "--host", port: "--port" },
    });
    if (config.adminListen === "") return;
    const colon = config.adminListen.lastIndexOf(":");
    this.admin = new Listener({
      tls,
      host: config.adminListen.slice(0, colon).replace(/^\[|\]$/g, ""),
      port: Number(config.adminListen.slice(colon + 1)),
      isShared,
      settings: { host: "--admin-listen", port: "--admin-listen" },
    });
  }

  listen({ routes: { publicRoutes, adminRoutes }, ...common }: Service<Data>): void {
    if (!this.admin) return this.main.listen({ ...common, routes: { ...publicRoutes, ...adminRoutes } });
    const health = Object.fromEntries(
      ["/healthz", "/readyz"].map((path) => [path, publicRoutes[path] ?? common.fallback]),
    );
    this.main.listen({ ...common, routes: publicRoutes });
    this.admin.listen({ ...common, routes: { ...adminRoutes, ...health } });
  }

  readonly broadcast: Broadcast = (topic, text, except) => this.main.broadcast(topic, text, except);

  get url(): string {
    return this.main.url;
  }

  /** Where operators find the control plane and the dashboard. */
  get adminUrl(): string {
    return (this.admin ?? this.main).url;
  }

  get port(): number {
    return this.main.port;
  }

  get adminPort(): number {
    return (this.admin ?? this.main).port;
  }

  /** All listeners have the same; undefined: they do not serve TLS. */
  get certificate(): CertificateState | undefined {
    return this.main.certificate;
  }

  reloadTls(): void {
    for (const listener of this.all) listener.reloadTls();
  }

  /** Leaves new connections to the other workers, until `resume`. Operators are served as before if they have an address of their own. */
  pause(): void {
    this.main.pause();
  }

  resume(): void {
    this.main.resume();
  }

  /** Takes no new connections. Those that are open stay, and their requests are answered. */
  stopAccepting(): void {
    for (const listener of this.all) void listener.stop();
  }

  /** Takes no new requests; resolves when those under way are complete, or after `withinMs`. */
  async drain(withinMs: number): Promise<void> {
    const { promise: timedOut, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, withinMs);
    await Promise.race([Promise.all(this.all.map((listener) => listener.stop())), timedOut]);
    clearTimeout(timer);
  }

  /** Closes every connection that is still open. */
  close(): void {
    for (const listener of this.all) listener.kill();
  }

  private get all(): Listener<Data>[] {
    return this.admin ? [this.main, this.admin] : [this.main];
  }
}

/** Builds one node from its parts, starts and stops it: the only file that knows them all. */
import { readFileSync } from "node:fs";
import { Directory } from "./access/directory.ts";
import { Keyring } from "./access/keyring.ts";
import { Throttle } from "./access/throttle.ts";
import { DUMMY_DIGEST, digestOf, makeMasterKey, masterKeyFile, readMasterKey, Vault } from "./access/vault.ts";
import type { Config } from "./config/settings.ts";
import { adminTokenDigest, type FirstRun, finishFirstRun, firstRun } from "./first-run.ts";
import { appEndpoints } from "./http/apps.ts";
import { makeAudit } from "./http/audit.ts";
import { docsPage } from "./http/docs.ts";
import { makeGuards } from "./http/guards.ts";
import { appLabel } from "./http/host.ts";
import { keyEndpoints } from "./http/keys.ts";
import { Listener } from "./http/listener.ts";
import { openapiDocument } from "./http/openapi.ts";
import { healthEndpoint, readyResponse } from "./http/operations.ts";
import { Frame, type Handler, type Routes } from "./http/router.ts";
import { tokenEndpoints } from "./http/tokens.ts";
import { ADMIN_WRONG_TRIES_PER_MINUTE } from "./protocol/limits.ts";
import { openStore } from "./store/open.ts";
import { type Store, StoreError } from "./store/store.ts";
import type { Log } from "./telemetry/log.ts";
import { Metrics, processMetrics } from "./telemetry/metrics.ts";
import { VERSION } from "./version.ts";

export interface Node {
  readonly url: string;
  readonly port: number;
  readonly adminPort: number;
  /** What the first start made; show it, then call `shown`. */
  readonly firstRun: FirstRun | undefined;
  /** The store may forget what only `firstRun` holds in clear. */
  shown(): Promise<void>;
  reloadTls(): void;
  stop(): Promise<void>;
}

const monotonicMs = (): number => performance.now();
const nowMs = (): number => Date.now();

export async function startNode(config: Config, nodeId: string, log: Log): Promise<Node> {
  const store = await openStore(config.data);
  try {
    return await build(config, nodeId, log, store);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function build(config: Config, nodeId: string, log: Log, store: Store): Promise<Node> {
  const metrics = new Metrics();
  processMetrics(metrics, VERSION, nodeId);
  const vault = new Vault(await masterKey(config, store));
  const keyring = new Keyring(vault);
  keyring.load(await store.snapshot());
  warnOfSealed(keyring, log);
  metrics.gauge("parley_keys", "Live keys.", () => keyring.size);
  metrics.gauge("parley_store_revision", "Revision of keys and applications.", () => keyring.revision);

  const directory = new Directory(store, keyring, vault, nowMs);
  const made = await firstRun(store, directory, { demo: config.demo, adminToken: config.adminToken === "" });
  const adminToken = config.adminToken || made?.adminToken;

  const guards = makeGuards({
    keyring,
    nowMs,
    requests: new Throttle(config.restRequestsPerSecond, config.restRequestsPerSecond, monotonicMs),
    wrongTries: new Throttle(ADMIN_WRONG_TRIES_PER_MINUTE, ADMIN_WRONG_TRIES_PER_MINUTE / 60, monotonicMs),
    adminTokenDigest: adminToken ? digestOf(adminToken) : ((await adminTokenDigest(store)) ?? DUMMY_DIGEST),
  });
  const audit = makeAudit(log);
  const { rotationGraceSeconds } = config;
  const realtimeEndpoints = tokenEndpoints(guards.minting, nowMs);
  const controlEndpoints = [
    ...appEndpoints(guards.admin, directory, audit),
    ...keyEndpoints(guards.admin, { directory, keyring, audit, nowMs, rotationGraceSeconds }),
  ];

  let draining = false;
  const checks = async (): Promise<Record<string, string>> => ({
    store: await store.ping().then(
      () => "ok",
      () => "the store does not answer",
    ),
    shutdown: draining ? "this node is shutting down" : "ok",
  });

  const frame = new Frame({ log, metrics, trustedProxies: config.trustedProxies });
  const document = openapiDocument([healthEndpoint, ...realtimeEndpoints, ...controlEndpoints], VERSION);
  const publicRoutes: Routes = {
    ...frame.routes([healthEndpoint, ...realtimeEndpoints]),
    "/readyz": frame.wrap("/readyz", () => readyResponse(checks)),
    "/openapi.json": frame.wrap("/openapi.json", () => Response.json(document)),
    "/docs": frame.wrap("/docs", docsPage),
  };
  const adminRoutes: Routes = {
    ...frame.routes(controlEndpoints),
    "/metrics": frame.wrap("/metrics", (call) => {
      guards.observer.admit(call);
      return new Response(metrics.text(), { headers: { "Content-Type": "text/plain; version=0.0.4; charset=utf-8" } });
    }),
  };
  const listeners = listen(
    config,
    frame.notFound,
    publicRoutes,
    absentOnAppHosts(adminRoutes, config.domain, frame.notFound),
  );
  const [main, admin = main] = listeners;

  return {
    url: main.url,
    port: main.port,
    adminPort: admin.port,
    firstRun: made,
    shown: async () => {
      if (made) await finishFirstRun(store, made);
    },
    reloadTls: () => {
      for (const listener of listeners) listener.reloadTls();
    },
    stop: async () => {
      draining = true;
      await settled(
        listeners.map((listener) => listener.stop()),
        config.drainSeconds * 1000,
      );
      for (const listener of listeners) listener.kill();
      await store.close();
    },
  };
}

function listen(
  config: Config,
  fallback: Handler,
  publicRoutes: Routes,
  adminRoutes: Routes,
): [Listener, ...Listener[]] {
  const tls = config.tlsCert === "" ? undefined : { cert: config.tlsCert, key: config.tlsKey };
  const main = { host: config.host, port: config.port, tls, fallback };
  if (config.adminListen === "") return [new Listener({ ...main, routes: { ...publicRoutes, ...adminRoutes } })];
  const colon = config.adminListen.lastIndexOf(":");
  const host = config.adminListen.slice(0, colon).replace(/^\[|\]$/g, "");
  const port = Number(config.adminListen.slice(colon + 1));
  const health = Object.fromEntries(["/healthz", "/readyz"].map((path) => [path, publicRoutes[path] ?? fallback]));
  return [
    new Listener({ ...main, routes: publicRoutes }),
    new Listener({ host, port, tls, fallback, routes: { ...adminRoutes, ...health } }),
  ];
}

/** The control plane does not exist on an application's host. */
function absentOnAppHosts(routes: Routes, domain: string, notFound: Handler): Routes {
  const onOwnHost =
    (handler: Handler): Handler =>
    (request, server) =>
      appLabel(request.headers.get("host"), domain) === undefined
        ? handler(request, server)
        : notFound(request, server);
  return Object.fromEntries(Object.entries(routes).map(([path, handler]) => [path, onOwnHost(handler)]));
}

async function masterKey(config: Config, store: Store): Promise<Buffer> {
  if (config.masterKey !== "") return Buffer.from(config.masterKey, "base64");
  const present = readMasterKey(config.data);
  if (present) return present;
  if ((await store.apps()).length > 0) {
    throw new StoreError(
      `the store holds encrypted secrets, but their master key is missing: put ${masterKeyFile(config.data)} back, or set PARLEY_MASTER_KEY`,
    );
  }
  return makeMasterKey(config.data);
}

function warnOfSealed(keyring: Keyring, log: Log): void {
  const { sealed } = keyring;
  if (sealed.length > 0) {
    log.error(
      { keys: sealed },
      "the master key does not open the secrets of these keys: they answer 503 until it is put right (PARLEY_MASTER_KEY, or master.key in the data folder)",
    );
  }
}

async function settled(work: readonly Promise<unknown>[], withinMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, withinMs);
  await Promise.race([Promise.all(work), promise]);
  clearTimeout(timer);
}

/** Each connection is a file to the system: a low limit is a low limit on connections. */
export function openFilesLimit(): number {
  try {
    return Number(
      /Max open files\s+(\d+)/.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Number.POSITIVE_INFINITY,
    );
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

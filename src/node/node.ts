/** Builds one node from its parts, starts and stops it: the only file that knows them all. */
import type { WebSocketHandler } from "bun";
import { BlockSweep } from "../access/block-sweep.ts";
import { Directory } from "../access/directory.ts";
import { Keyring } from "../access/keyring.ts";
import { Throttle } from "../access/throttle.ts";
import { DUMMY_DIGEST, digestOf, makeMasterKey, masterKeyFile, readMasterKey, Vault } from "../access/vault.ts";
import { ConfigError } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import { countOpenFiles, HeadLimit, setHeadLimit } from "../http/head-limit.ts";
import { Listener, TlsError } from "../http/listener.ts";
import { type Handler, RequestPipeline } from "../http/pipeline.ts";
import { UnauthenticatedLimit } from "../http/unauthenticated-limit.ts";
import { systemClock as clock } from "../realtime/clock.ts";
import type { SocketData } from "../realtime/gateway.ts";
import { watchEventLoop } from "../realtime/metrics.ts";
import { AccessTokens } from "../rooms/access-token.ts";
import { Expiry } from "../rooms/expiry.ts";
import { Rooms } from "../rooms/rooms.ts";
import { openStore } from "../store/open.ts";
import { type Snapshot, type Store, StoreError } from "../store/store.ts";
import { Faults } from "../telemetry/faults.ts";
import type { Log } from "../telemetry/log.ts";
import { Metrics, processMetrics } from "../telemetry/metrics.ts";
import { VERSION } from "../version.ts";
import { factsOf } from "./facts.ts";
import { adminTokenDigest, defaultHost, type FirstRun, finishFirstRun, firstRun } from "./first-run.ts";
import { readyChecks } from "./readiness.ts";
import { buildHeart } from "./realtime.ts";
import { buildArchive } from "./recordings.ts";
import { buildRoutes, type NodeRoutes } from "./routes.ts";

export interface Node {
  readonly url: string;
  /** The address it listens on. */
  readonly host: string;
  readonly port: number;
  readonly adminPort: number;
  /** What the first start made; show it, then call `shown`. */
  readonly firstRun: FirstRun | undefined;
  /** The store may forget what only `firstRun` holds in clear. */
  shown(): Promise<void>;
  reloadTls(): void;
  stop(): Promise<void>;
}

export async function startNode(config: Config, nodeId: string, log: Log): Promise<Node> {
  if (config.databaseUrl !== "" && config.masterKey === "")
    throw new ConfigError(
      "PARLEY_MASTER_KEY is required with PARLEY_DATABASE_URL, the same on every node (make one: openssl rand -base64 32)",
    );
  const store = await openStore(config.data, config.databaseUrl);
  try {
    return await build(config, nodeId, log, store);
  } catch (error) {
    await store.close();
    throw error instanceof TlsError ? new ConfigError(`PARLEY_TLS_CERT, PARLEY_TLS_KEY: ${error.message}`) : error;
  }
}

async function build(config: Config, nodeId: string, log: Log, store: Store): Promise<Node> {
  const metrics = new Metrics();
  processMetrics(metrics, VERSION, nodeId);
  const faults = new Faults(log, metrics);
  const vault = new Vault(await masterKey(config, store));
  const keyring = new Keyring(vault);
  keyring.load(await store.snapshot());
  const directory = new Directory(store, keyring, vault, clock.nowMs);
  const made = await firstRun(store, directory, { demo: config.demo, adminToken: config.adminToken === "" });
  const warnOfSealed = sealedWarner(keyring, log);
  let adminDigest = DUMMY_DIGEST;
  const changed = (snapshot: Snapshot): void => {
    // The one just made is not in the store before it was shown.
    const token = config.adminToken || (adminTokenDigest(snapshot) === undefined ? made?.adminToken : undefined);
    adminDigest = token ? digestOf(token) : (adminTokenDigest(snapshot) ?? DUMMY_DIGEST);
    warnOfSealed();
  };
  // Again: another node may have made the first run while this one waited.
  const snapshot = await store.snapshot();
  keyring.load(snapshot);
  changed(snapshot);
  if (adminDigest === DUMMY_DIGEST)
    log.warn("there is no admin token: set PARLEY_ADMIN_TOKEN, or stop and run `parley admin reset-token`");
  if (config.natsUrl !== "" && !store.isShared)
    log.warn("PARLEY_NATS_URL without PARLEY_DATABASE_URL: other nodes do not know this one's keys");

  const heart = await buildHeart(
    config,
    nodeId,
    log,
    store,
    keyring,
    metrics,
    faults,
    (...message) => listeners[0].broadcast(...message),
    changed,
  );
  const { follow } = heart;
  if (follow) directory.onChange(() => heart.engine.nudge());
  const expiry = new Expiry({
    store: store.rooms,
    nowMs: clock.nowMs,
    archived: countRooms(metrics),
    failed: (err) => log.error({ err }, "rooms whose time has come could not be archived; trying again soon"),
    guarded: (callback) => faults.guarded("timer", callback),
  });
  const rooms = new Rooms(store.rooms, expiry, clock.nowMs, config.maxRoomsPerApp || Number.MAX_SAFE_INTEGER);
  await store.rooms.recount();
  const blockSweep = new BlockSweep({
    blocks: heart.blocks,
    store,
    nowMs: clock.nowMs,
    failed: (err) => log.error({ err }, "blocks that have ended could not be removed; trying again in a minute"),
  });
  const archive = buildArchive(config, log, store, vault, metrics, faults);
  const checks = readyChecks({
    store,
    keyring,
    isFollowing: () => follow?.isUp !== false,
    isDraining: () => heart.gateway.isDraining,
    recordings: archive.state,
    monotonicMs: clock.monotonicMs,
    failed: (err) => log.error({ err }, "the store cannot be written to"),
  });
  const perMinute = config.httpRequestsPerMinutePerIp;
  const unauthenticated = new UnauthenticatedLimit(new Throttle(perMinute, perMinute / 60, clock.monotonicMs));
  const { trustedProxies, domain } = config;
  const pipeline = new RequestPipeline({ log, metrics, trustedProxies, domain, unauthenticated });
  const host = config.host || defaultHost(snapshot, made);
  const routes = buildRoutes({
    config,
    log,
    store,
    keyring,
    directory,
    metrics,
    heart,
    rooms,
    archive,
    accessTokens: new AccessTokens(store.rooms, vault, clock.nowMs),
    checks,
    pipeline,
    unauthenticated,
    facts: factsOf({ config, nodeId, host, sealedKeys: () => keyring.sealed.length }),
    adminTokenDigest: () => adminDigest,
  });
  await follow?.start();
  const listeners = listen({ ...config, host }, pipeline.notFound, routes, heart.gateway.handlers());
  const [main, adminListener = main] = listeners;
  await expiry.start();
  blockSweep.start();
  archive.start();
  const stopWatching = watchEventLoop(metrics, faults);
  const headLimit = new HeadLimit({
    openFiles: countOpenFiles,
    webSockets: () => heart.hub.connections,
    set: setHeadLimit,
    guarded: (callback) => faults.guarded("timer", callback),
  });
  metrics.gauge("parley_request_head_limit_bytes", "How long a request head may be.", () => headLimit.bytes);
  headLimit.start();

  return {
    url: main.url,
    host,
    port: main.port,
    adminPort: adminListener.port,
    firstRun: made,
    shown: async () => {
      if (made) await finishFirstRun(store, made);
    },
    reloadTls: () => {
      for (const listener of listeners) listener.reloadTls();
    },
    stop: async () => {
      const drainMs = config.drainSeconds * 1000;
      await heart.gateway.drain(drainMs);
      await settled(
        listeners.map((listener) => listener.stop()),
        drainMs,
      );
      for (const listener of listeners) listener.kill();
      stopWatching();
      headLimit.stop();
      await expiry.stop();
      await blockSweep.stop();
      await archive.stop();
      // The follower last: it is what notices that the store has fallen silent, and ends what waits for it.
      await heart.usage.stop();
      await follow?.stop();
      await heart.engine.close();
      await store.close();
    },
  };
}

function listen(
  config: Config,
  fallback: Handler,
  { publicRoutes, adminRoutes }: NodeRoutes,
  websocket: WebSocketHandler<SocketData>,
): [Listener<SocketData>, ...Listener<SocketData>[]] {
  const tls = config.tlsCert === "" ? undefined : { cert: config.tlsCert, key: config.tlsKey };
  const common = { tls, fallback, websocket };
  const main = { ...common, host: config.host, port: config.port, settings: { host: "--host", port: "--port" } };
  if (config.adminListen === "") return [new Listener({ ...main, routes: { ...publicRoutes, ...adminRoutes } })];
  const colon = config.adminListen.lastIndexOf(":");
  const host = config.adminListen.slice(0, colon).replace(/^\[|\]$/g, "");
  const port = Number(config.adminListen.slice(colon + 1));
  const health = Object.fromEntries(["/healthz", "/readyz"].map((path) => [path, publicRoutes[path] ?? fallback]));
  return [
    new Listener({ ...main, routes: publicRoutes }),
    new Listener({
      ...common,
      host,
      port,
      routes: { ...adminRoutes, ...health },
      settings: { host: "--admin-listen", port: "--admin-listen" },
    }),
  ];
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

function countRooms(metrics: Metrics): (count: number) => void {
  const counter = metrics.counter("parley_rooms_expired_total", "Rooms archived because their time had come.");
  return (count) => counter.inc(count);
}

/** Says it at the start, and again when there are others. */
function sealedWarner(keyring: Keyring, log: Log): () => void {
  let known: ReadonlySet<string> = new Set();
  return () => {
    const sealed = new Set(keyring.sealed);
    if (!sealed.isSubsetOf(known)) {
      log.error(
        { keys: [...sealed] },
        "the master key does not open the secrets of these keys: they answer 503 until it is put right (PARLEY_MASTER_KEY, or master.key in the data folder)",
      );
    }
    known = sealed;
  };
}

async function settled(work: readonly Promise<unknown>[], withinMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, withinMs);
  await Promise.race([Promise.all(work), promise]);
  clearTimeout(timer);
}

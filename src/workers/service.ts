/** A service of several workers: the stores that they share, the locks of its ports, and their supervisor. */
import { mkdirSync } from "node:fs";
import type { Loaded } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import { defaultHost, hadFirstRun } from "../node/parts/first-run.ts";
import { type EmbeddedStores, openEmbedded } from "../node/parts/stores.ts";
import type { Store } from "../store/contract/store.ts";
import { openStore } from "../store/open.ts";
import type { Log } from "../telemetry/log.ts";
import { lockPlaces } from "./file-lock.ts";
import { endLeftWorkers } from "./left-workers.ts";
import type { Ready } from "./messages.ts";
import { lockPort, type PortLock } from "./port-lock.ts";
import { RunFolder, removeLeftFolder, storeSocket } from "./run-folder.ts";
import { STILL_STARTING, Supervisor } from "./supervisor.ts";

export interface ServiceParts extends Pick<Loaded, "config" | "sources"> {
  readonly nodeId: string;
  readonly count: number;
  /** Runs Parley's command line. */
  readonly command: readonly string[];
  readonly log: Log;
}

/** What was opened, to be closed in the opposite order. */
class Opened {
  /** What this supervisor has opened. Bound: set up at the start. */
  private readonly closes: (() => unknown)[] = [];

  add(close: () => unknown): void {
    this.closes.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.closes.splice(0).reverse()) await close();
  }
}

export class Service {
  private readonly opened = new Opened();
  private run: RunFolder | undefined;
  private supervisor: Supervisor | undefined;
  private starting: Promise<Ready> | undefined;
  isStopping = false;

  constructor(private readonly parts: ServiceParts) {}

  /** Resolves with what the first worker has reported. Rejects when it cannot start, or is stopped meanwhile; then nothing is left behind. */
  start(): Promise<Ready> {
    this.starting = this.open().catch(async (error: unknown) => {
      await this.opened.close();
      throw error;
    });
    return this.starting;
  }

  async reload(): Promise<number> {
    if (!this.supervisor) throw new Error(STILL_STARTING);
    return this.supervisor.reload();
  }

  reloadTls(): void {
    this.supervisor?.reloadTls();
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    // A start that is under way ends with its workers.
    await this.supervisor?.stop();
    await this.starting?.catch(() => undefined);
    await this.opened.close();
  }

  /** Ends the workers at once. */
  kill(): void {
    this.supervisor?.kill();
    this.run?.remove();
  }

  private async open(): Promise<Ready> {
    const { opened, parts } = this;
    const { config, sources, nodeId, count, command, log } = parts;
    const isEmbedded = config.databaseUrl === "";
    // First: a second start on the same data folder is refused before it touches anything.
    const stores = isEmbedded ? await openEmbedded(config, log) : undefined;
    if (stores)
      opened.add(async () => {
        await stores.history.close();
        await stores.store.close();
      });
    // The store's lock says that no other service runs on this folder.
    const left = stores ? await endLeftWorkers(config.data) : undefined;
    if (left && left.killed > 0) log.warn("killed workers left over from an earlier start");
    if (stores) removeLeftFolder(config.data);
    const host = config.host || (await hostOf(config, log, stores?.store));
    const { locks, ...ports } = await lockPortsWithin(left?.found ? SOCKETS_CLOSE_MS : 0, config, host);
    for (const lock of locks) opened.add(() => lock.release());
    const run = new RunFolder(config.data);
    this.run = run;
    opened.add(() => run.remove());
    // With PostgreSQL each worker has connections of its own.
    if (stores) await serve(stores, run.path, opened, log);
    if (this.isStopping) throw new Error("the service was stopped while it started");
    const supervisor = new Supervisor({
      config: { ...config, ...ports, host },
      sources,
      nodeId,
      count,
      folder: run.path,
      command,
      log,
    });
    this.supervisor = supervisor;
    opened.add(() => supervisor.stop());
    // Before workers start: if this process is killed meanwhile, the next one finds them.
    run.announce();
    return supervisor.start();
  }
}

async function serve(
  { store, history, holdStill }: EmbeddedStores,
  folder: string,
  opened: Opened,
  log: Log,
): Promise<void> {
  const { serveStore } = await import("../remote/server.ts");
  const server = await serveStore({
    path: storeSocket(folder),
    store,
    history,
    holdStill,
    warn: (text) => log.warn(text),
  });
  opened.add(() => server.close());
}

/** Where workers listen if no setting says so. */
async function hostOf(config: Config, log: Log, embedded: Store | undefined): Promise<string> {
  const store = embedded ?? (await openStore(config.data, config.databaseUrl, log));
  try {
    // The first start makes a demo.
    if (!(await hadFirstRun(store))) return config.demo ? "127.0.0.1" : "0.0.0.0";
    return defaultHost(await store.snapshot(), undefined);
  } finally {
    if (!embedded) await store.close();
  }
}

type Ports = Pick<Config, "port" | "adminListen">;
type PortSettings = Ports & Pick<Config, "data">;

/** The sockets of a killed process may be open for a moment after it is gone. */
const SOCKETS_CLOSE_MS = 2000;
const TRY_EVERY_MS = 50;

async function lockPortsWithin(ms: number, config: PortSettings, host: string): Promise<ReturnType<typeof lockPorts>> {
  const untilMs = performance.now() + ms;
  for (;;) {
    try {
      return lockPorts(config, host);
    } catch (error) {
      if (performance.now() >= untilMs) throw error;
      await Bun.sleep(TRY_EVERY_MS);
    }
  }
}

/** All workers need the same ports, so a free one is chosen here. */
function lockPorts(
  { port, adminListen, data }: PortSettings,
  host: string,
): Ports & { readonly locks: readonly PortLock[] } {
  // With PostgreSQL, nothing may have made the data folder yet.
  mkdirSync(data, { recursive: true, mode: 0o700 });
  const places = lockPlaces(data);
  const main = lockPort({ host, port, settings: { host: "--host", port: "--port" } }, places);
  if (adminListen === "") return { port: main.port, adminListen, locks: [main] };
  const colon = adminListen.lastIndexOf(":");
  const [name, adminPort] = [adminListen.slice(0, colon), Number(adminListen.slice(colon + 1))];
  try {
    const settings = { host: "--admin-listen", port: "--admin-listen" };
    const admin = lockPort({ host: name.replace(/^\[|\]$/g, ""), port: adminPort, settings }, places);
    return { port: main.port, adminListen: `${name}:${admin.port}`, locks: [main, admin] };
  } catch (error) {
    main.release();
    throw error;
  }
}

/** `parley up`: runs a node until a signal stops it, or several as workers of one service. */
import { randomBytes } from "node:crypto";
import { type Loaded, loadForDataFolder } from "../../../config/load.ts";
import { type LoadPages, type Node, startNode } from "../../../node/node.ts";
import { hasLocalServers, openFilesLimit } from "../../../node/status/facts.ts";
import { type Log, makeLog } from "../../../telemetry/log.ts";
import { CAN_SHARE_PORTS, chosenWorkers, thisMachine } from "../../../workers/count.ts";
import { LOW_OPEN_FILES } from "../../line/defaults.ts";
import type { Input } from "../../line/input.ts";
import { announce, keepFirstRun } from "./announce.ts";
import { onHangup } from "./hangup.ts";
import { Shutdown } from "./shutdown.ts";

/** Added to the two phases of a drain, connections and requests, which take up to PARLEY_DRAIN_SECONDS each. */
const DRAIN_SLACK_MS = 10_000;

/** `loadPages`: for development, other pages than those of the last build; then there is one process. */
export async function runUp({ flags, env }: Input, loadPages?: LoadPages): Promise<undefined> {
  await up(loadForDataFolder(flags, env), loadPages);
  return undefined;
}

async function up(loaded: Loaded, loadPages?: LoadPages): Promise<void> {
  const { config, warnings } = loaded;
  const nodeId = config.nodeId || randomBytes(4).toString("hex");
  const log = makeLog(config.logLevel, config.logFormat, nodeId);
  for (const warning of warnings) log.warn(warning);
  if (openFilesLimit() < LOW_OPEN_FILES)
    log.warn(`the open file limit is ${openFilesLimit()}, and each connection uses one file (ulimit -n, LimitNOFILE)`);
  const { count, why } = loadPages
    ? { count: 1 }
    : chosenWorkers(config.workers, () => thisMachine(hasLocalServers(config)));
  if (why !== undefined) log.info(`--workers auto: ${why}${openFilesClause()}`);
  if (count > 1 && CAN_SHARE_PORTS) {
    // Loaded only where it is used.
    const { upWorkers } = await import("./up-workers.ts");
    return upWorkers({ ...loaded, nodeId, count, log });
  }
  if (count > 1) log.warn("PARLEY_WORKERS: workers can share a port only on Linux; this system runs one");
  // Before the start: without a handler, both signals end a process.
  let started: Node | undefined;
  let shutdown: Shutdown | undefined;
  onHangup(
    () => started && reloadTls(started, log),
    // As SIGTERM does: before the node has started, there is nothing to drain.
    () => (shutdown ? shutdown.signalled("SIGHUP") : process.exit(1)),
  );
  process.on("SIGUSR2", () =>
    log.warn("SIGUSR2 was ignored: it replaces workers, and this service runs as one process (PARLEY_WORKERS)"),
  );
  const node = await startNode(loaded, nodeId, log, { loadPages });
  started = node;
  // Before the ready line is printed, because a SIGTERM may follow at once and needs its handler.
  shutdown = onEnd(node, log, 2 * config.drainSeconds * 1000 + DRAIN_SLACK_MS);
  announce({ ...addressesOf(node), firstRunText: await keepFirstRun(node, config.data) }, config, log);
}

/** Where files are the limit, more workers hold more connections. */
function openFilesClause(): string {
  const limit = openFilesLimit();
  return Number.isFinite(limit) ? `; each can open ${limit} files, and each connection uses one` : "";
}

const addressesOf = ({ url, host, adminUrl, port, adminPort }: Node) => ({ url, host, adminUrl, port, adminPort });

function onEnd(node: Node, log: Log, drainMaxMs: number): Shutdown {
  const shutdown = new Shutdown({ stop: () => node.stop(), log, drainMaxMs, exit: (code) => process.exit(code) });
  process.on("SIGTERM", (signal) => shutdown.signalled(signal));
  process.on("SIGINT", (signal) => shutdown.signalled(signal));
  process.on("uncaughtException", (error) => shutdown.uncaught(error));
  process.on("unhandledRejection", (error) => shutdown.uncaught(error));
  return shutdown;
}

export function reloadTls(node: Pick<Node, "reloadTls">, log: Log): void {
  try {
    node.reloadTls();
    log.info("certificate reloaded");
  } catch (error) {
    log.error(`the certificate was not reloaded; the old one stays in use: ${(error as Error).message}`);
  }
}

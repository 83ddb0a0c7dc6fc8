/** `parley worker`: one of the processes that `parley up --workers` starts. Its supervisor says which settings it has. */
import { type Node, startNode } from "../../../node/node.ts";
import { type Log, makeLog } from "../../../telemetry/log.ts";
import { VERSION } from "../../../version.ts";
import { hasEnded } from "../../../workers/activity.ts";
import { DRAIN_SLACK_MS, ORPHAN_DRAIN_MS, ORPHAN_MAX_MS } from "../../../workers/limits.ts";
import { type Begin, OTHER_VERSION } from "../../../workers/messages.ts";
import { removeRunFolder } from "../../../workers/run-folder.ts";
import { SupervisorConnection } from "../../../workers/supervisor-connection.ts";
import { reportOf } from "../../line/errors.ts";
import type { Input } from "../../line/input.ts";
import { keepFirstRun } from "./announce.ts";
import { Shutdown } from "./shutdown.ts";
import { reloadTls } from "./up.ts";

export async function runWorker({ operands }: Input): Promise<undefined> {
  const [slot = "", folder = ""] = operands;
  // A terminal sends its signals to all processes, and so does pkill; the supervisor decides what follows from them.
  for (const signal of ["SIGINT", "SIGHUP", "SIGUSR2"] as const) process.on(signal, () => undefined);
  const supervisor = process.ppid;
  const connection = await SupervisorConnection.join(Number(slot), folder);
  const { config, nodeId } = connection.begin;
  const log = makeLog(config.logLevel, config.logFormat, { node: nodeId, worker: connection.slot });
  try {
    refuseOtherVersion(connection.begin);
    const node = await startNode(connection.begin, nodeId, log, { team: connection });
    onEnd(node, connection, log, supervisor);
    const { url, host, adminUrl, port, adminPort } = node;
    const firstRunText = await keepFirstRun(node, config.data);
    connection.ready({ url, host, adminUrl, port, adminPort, ...(firstRunText !== undefined && { firstRunText }) });
  } catch (error) {
    const report = error instanceof OfOtherVersion ? { ...OTHER, message: error.message } : reportOf(error);
    if (error instanceof OfOtherVersion) log.error(error.message);
    // Unexpected: its stack must be shown.
    if (!report) throw error;
    connection.failed(report);
    await connection.close();
    process.exit(report.exitCode);
  }
  return undefined;
}

class OfOtherVersion extends Error {}
const OTHER = { exitCode: 1, code: OTHER_VERSION } as const;

/** The files of Parley were replaced while it runs. What the supervisor sends, and what the stores expect, may be different. */
function refuseOtherVersion({ version = "0.1.0" }: Begin): void {
  if (version !== VERSION)
    throw new OfOtherVersion(
      `a new worker is Parley ${VERSION}, but this service is still ${version}: restart the service to finish the upgrade`,
    );
}

function onEnd(node: Node, connection: SupervisorConnection, log: Log, supervisor: number): void {
  const { config } = connection.begin;
  const shutdown = new Shutdown({
    stop: async () => {
      connection.draining();
      await node.stop();
      await connection.close();
    },
    log,
    drainMaxMs: 2 * config.drainSeconds * 1000 + DRAIN_SLACK_MS,
    exit: (code) => process.exit(code),
  });
  process.on("SIGTERM", (signal) => shutdown.signalled(signal));
  process.on("uncaughtException", (error) => shutdown.uncaught(error));
  process.on("unhandledRejection", (error) => shutdown.uncaught(error));
  connection.events = {
    drain: () => shutdown.asked(),
    reloadTls: () => reloadTls(node, log),
    orphaned: () => void endWithout(node, connection, log, supervisor),
  };
}

/**
 * The supervisor was killed, and with it the embedded stores. Clients are sent away, to come back when it is started again. If it runs, it
 * has only cut this connection, and the other workers need its sockets.
 */
async function endWithout(node: Node, { folder }: SupervisorConnection, log: Log, supervisor: number): Promise<void> {
  log.fatal("the connection to the supervisor has ended; this worker is draining and will exit");
  const end = (): never => {
    // Not earlier: a process that is killed closes its sockets a moment before it is gone.
    if (hasEnded(supervisor)) removeRunFolder(folder);
    process.exit(1);
  };
  setTimeout(end, ORPHAN_MAX_MS);
  await node.stop(ORPHAN_DRAIN_MS).catch(() => undefined);
  end();
}

/** `parley worker`: one of the processes that `parley up --workers` starts. Its supervisor says which settings it has. */
import { type Node, startNode } from "../node/node.ts";
import { type Log, makeLog } from "../telemetry/log.ts";
import { DRAIN_SLACK_MS, ORPHAN_DRAIN_MS, ORPHAN_MAX_MS } from "../workers/limits.ts";
import { removeRunFolder } from "../workers/run-folder.ts";
import { TeamLink } from "../workers/team-link.ts";
import { keepFirstRun } from "./announce.ts";
import { reportOf } from "./errors.ts";
import type { Input } from "./input.ts";
import { Shutdown } from "./shutdown.ts";
import { reloadTls } from "./up.ts";

export async function runWorker({ operands }: Input): Promise<undefined> {
  const [slot = "", folder = ""] = operands;
  // A terminal sends its signal to all processes; the supervisor decides what follows from it.
  process.on("SIGINT", () => undefined);
  const link = await TeamLink.join(Number(slot), folder);
  const { config, nodeId } = link.begin;
  const log = makeLog(config.logLevel, config.logFormat, { node: nodeId, worker: link.slot });
  try {
    const node = await startNode(link.begin, nodeId, log, { team: link });
    onEnd(node, link, log);
    const { url, host, adminUrl, port, adminPort } = node;
    const firstRunText = await keepFirstRun(node, config.data);
    link.ready({ url, host, adminUrl, port, adminPort, ...(firstRunText !== undefined && { firstRunText }) });
  } catch (error) {
    const report = reportOf(error);
    // Unexpected: its stack must be shown.
    if (!report) throw error;
    link.failed(report);
    await link.close();
    process.exit(report.exitCode);
  }
  return undefined;
}

function onEnd(node: Node, link: TeamLink, log: Log): void {
  const { config } = link.begin;
  const shutdown = new Shutdown({
    stop: async () => {
      await node.stop();
      await link.close();
    },
    log,
    drainMaxMs: 2 * config.drainSeconds * 1000 + DRAIN_SLACK_MS,
    exit: (code) => process.exit(code),
  });
  process.on("SIGTERM", (signal) => shutdown.signalled(signal));
  process.on("uncaughtException", (error) => shutdown.uncaught(error));
  process.on("unhandledRejection", (error) => shutdown.uncaught(error));
  link.events = {
    drain: () => shutdown.signalled("drain"),
    reloadTls: () => reloadTls(node, log),
    orphaned: () => void endWithout(node, link, log),
  };
}

/** The supervisor was killed, and with it the embedded stores. Clients are sent away, to come back when it is started again. */
async function endWithout(node: Node, { folder }: TeamLink, log: Log): Promise<void> {
  log.fatal("the supervisor has ended; this worker drains and exits");
  removeRunFolder(folder);
  setTimeout(() => process.exit(1), ORPHAN_MAX_MS);
  await node.stop(ORPHAN_DRAIN_MS).catch(() => undefined);
  process.exit(1);
}

/** `parley up`: runs a node until a signal stops it. */
import { randomBytes } from "node:crypto";
import { type Loaded, loadConfig } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import { openFilesLimit } from "../node/facts.ts";
import { firstRunFile, firstRunText, hasSomethingToShow, writeFirstRunFile } from "../node/first-run.ts";
import { type LoadPages, type Node, startNode } from "../node/node.ts";
import { type Log, makeLog } from "../telemetry/log.ts";
import { LOW_OPEN_FILES } from "./defaults.ts";
import { greeting, howToOpen, readyFields } from "./greeting.ts";
import type { Input } from "./input.ts";
import { Shutdown } from "./shutdown.ts";

/** Added to the two phases of a drain, connections and requests, which take up to PARLEY_DRAIN_SECONDS each. */
const DRAIN_SLACK_MS = 10_000;

/** `loadPages`: for development, other pages than those of the last build. */
export async function runUp({ flags, env }: Input, loadPages?: LoadPages): Promise<undefined> {
  await up(loadConfig(flags, env), loadPages);
  return undefined;
}

async function up(loaded: Loaded, loadPages?: LoadPages): Promise<void> {
  const { config, warnings } = loaded;
  const nodeId = config.nodeId || randomBytes(4).toString("hex");
  const log = makeLog(config.logLevel, config.logFormat, nodeId);
  for (const warning of warnings) log.warn(warning);
  if (openFilesLimit() < LOW_OPEN_FILES)
    log.warn(`the limit of open files is ${openFilesLimit()}, and each connection needs one (ulimit -n, LimitNOFILE)`);
  const node = await startNode(loaded, nodeId, log, loadPages);
  // Before the ready line is printed, because a SIGTERM may follow at once and needs its handler.
  onEnd(node, log, 2 * config.drainSeconds * 1000 + DRAIN_SLACK_MS);
  await announce(node, config, log);
}

/**
 * Every start reports version, data folder and addresses: as text on a terminal, elsewhere as one line of the log. The keys that the
 * first start made also go to a file that only its owner can read, so that a command can copy them from it.
 */
async function announce(node: Node, config: Config, log: Log): Promise<void> {
  const started = {
    url: node.url,
    host: node.host,
    isHostDefault: config.host === "",
    dataFolder: config.data,
    ...(config.dashboard && { dashboardUrl: `${node.adminUrl}/dashboard` }),
  };
  const isTerminal = process.stdout.isTTY && config.logFormat !== "json";
  if (isTerminal) process.stdout.write(greeting(started));
  await showFirstRun(node, config.data, isTerminal, log);
  if (isTerminal) return;
  const hint = howToOpen(started);
  if (hint) log.info(hint);
  log.info(
    { ...readyFields(started), ...(node.adminPort !== node.port && { adminPort: node.adminPort }), pid: process.pid },
    "parley is ready",
  );
}

async function showFirstRun(node: Node, dataFolder: string, isTerminal: boolean, log: Log): Promise<void> {
  const made = node.firstRun;
  if (!made) return;
  if (!hasSomethingToShow(made)) return node.shown();
  const text = firstRunText(node.url, made);
  // The file comes first: if the process ends here, the next start counts as the first one and makes new keys.
  writeFirstRunFile(dataFolder, text);
  await node.shown();
  if (isTerminal) process.stdout.write(text);
  log.info(`what the first start made is in ${firstRunFile(dataFolder)}; delete it when you have saved its keys`);
}

function onEnd(node: Node, log: Log, drainMaxMs: number): void {
  const shutdown = new Shutdown({ stop: node.stop, log, drainMaxMs, exit: (code) => process.exit(code) });
  process.on("SIGTERM", (signal) => shutdown.signalled(signal));
  process.on("SIGINT", (signal) => shutdown.signalled(signal));
  process.on("uncaughtException", (error) => shutdown.uncaught(error));
  process.on("unhandledRejection", (error) => shutdown.uncaught(error));
  process.on("SIGHUP", () => {
    try {
      node.reloadTls();
      log.info("certificate reloaded");
    } catch (error) {
      log.error(`the certificate was not reloaded, the old one stays in use: ${(error as Error).message}`);
    }
  });
}

/** `parley up`: runs a node until it is told to stop. */
import { randomBytes } from "node:crypto";
import { type Loaded, loadConfig } from "../config/load.ts";
import { firstRunFile, firstRunText, writeFirstRunFile } from "../first-run.ts";
import { type Node, openFilesLimit, startNode } from "../node.ts";
import { type Log, makeLog } from "../telemetry/log.ts";
import type { Given } from "./given.ts";

const LOW_OPEN_FILES = 4096;
/** Under `npm start` one Ctrl-C arrives as two signals within a millisecond: only a later one means "at once". */
const SECOND_SIGNAL_MS = 1000;

export async function runUp({ flags, env }: Given): Promise<undefined> {
  await up(loadConfig(flags, env));
  return undefined;
}

async function up({ config, warnings }: Loaded): Promise<void> {
  const nodeId = config.nodeId || randomBytes(4).toString("hex");
  const log = makeLog(config.logLevel, config.logFormat, nodeId);
  for (const warning of warnings) log.warn(warning);
  if (openFilesLimit() < LOW_OPEN_FILES)
    log.warn(`the limit of open files is ${openFilesLimit()}: each connection needs one (ulimit -n, LimitNOFILE)`);
  const node = await startNode(config, nodeId, log);
  await announce(node, config.data, log);
  onSignals(node, log);
  log.info({ url: node.url, ...(node.adminPort !== node.port && { adminPort: node.adminPort }) }, "parley is ready");
}

/**
 * Keys made by the first start go to a file that only its owner can read, so that they can be copied by a command; on a
 * terminal they are printed too.
 */
async function announce(node: Node, dataFolder: string, log: Log): Promise<void> {
  if (!node.firstRun) return;
  const text = firstRunText(node.url, node.firstRun);
  // First the file: a start that is cut short here is done again, and its keys made anew.
  writeFirstRunFile(dataFolder, text);
  await node.shown();
  if (process.stdout.isTTY) process.stdout.write(text);
  log.info(`what the first start made is in ${firstRunFile(dataFolder)}; delete it when you have read it`);
}

function onSignals(node: Node, log: Log): void {
  let asked = 0;
  const stop = async (signal: string): Promise<void> => {
    if (asked > 0) {
      if (performance.now() - asked >= SECOND_SIGNAL_MS) process.exit(1);
      return;
    }
    asked = performance.now();
    log.info({ signal }, "stopping; the same signal again ends at once");
    await node.stop();
    log.info("stopped");
    process.exit(0);
  };
  process.on("SIGTERM", stop);
  process.on("SIGINT", stop);
  process.on("SIGHUP", () => {
    try {
      node.reloadTls();
      log.info("certificate read again");
    } catch (error) {
      log.error(`the certificate was not read again, the old one stays: ${(error as Error).message}`);
    }
  });
}

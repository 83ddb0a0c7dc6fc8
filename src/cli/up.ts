/** `parley up`: runs a node until it is told to stop. */
import { randomBytes } from "node:crypto";
import { type Loaded, loadConfig } from "../config/load.ts";
import { firstRunFile, firstRunText, writeFirstRunFile } from "../first-run.ts";
import { type Node, openFilesLimit, startNode } from "../node.ts";
import { type Log, makeLog } from "../telemetry/log.ts";
import { Ending } from "./ending.ts";
import type { Given } from "./given.ts";

const LOW_OPEN_FILES = 4096;
/** On top of the two halves of a drain, connections and requests, each of which takes as long as PARLEY_DRAIN_SECONDS says. */
const DRAIN_SLACK_MS = 10_000;

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
  onEnd(node, log, 2 * config.drainSeconds * 1000 + DRAIN_SLACK_MS);
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

function onEnd(node: Node, log: Log, drainMaxMs: number): void {
  const ending = new Ending({ stop: node.stop, log, drainMaxMs, exit: (code) => process.exit(code) });
  process.on("SIGTERM", (signal) => ending.signalled(signal));
  process.on("SIGINT", (signal) => ending.signalled(signal));
  process.on("uncaughtException", (error) => ending.uncaught(error));
  process.on("unhandledRejection", (error) => ending.uncaught(error));
  process.on("SIGHUP", () => {
    try {
      node.reloadTls();
      log.info("certificate read again");
    } catch (error) {
      log.error(`the certificate was not read again, the old one stays: ${(error as Error).message}`);
    }
  });
}

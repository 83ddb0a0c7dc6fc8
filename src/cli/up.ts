/** `parley up`: runs a node until it is told to stop. */
import { randomBytes } from "node:crypto";
import { type Loaded, loadConfig } from "../config/load.ts";
import type { Config } from "../config/settings.ts";
import { openFilesLimit } from "../node/facts.ts";
import { firstRunFile, firstRunText, hasSomethingToShow, writeFirstRunFile } from "../node/first-run.ts";
import { type Node, startNode } from "../node/node.ts";
import { type Log, makeLog } from "../telemetry/log.ts";
import { Ending } from "./ending.ts";
import type { Given } from "./given.ts";
import { factsOf, greeting, howToOpen } from "./greeting.ts";

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
  // Before the ready line is printed: a SIGTERM that follows at once must find its handler.
  onEnd(node, log, 2 * config.drainSeconds * 1000 + DRAIN_SLACK_MS);
  await announce(node, config, log);
}

/**
 * Every start says which version serves which data at which addresses: plainly on a terminal, in one line of the log elsewhere.
 * What the first start made also goes to a file that only its owner can read, so that a command can copy keys from it.
 */
async function announce(node: Node, config: Config, log: Log): Promise<void> {
  const started = { url: node.url, host: node.host, isHostDefault: config.host === "", dataFolder: config.data };
  const isTerminal = process.stdout.isTTY && config.logFormat !== "json";
  if (isTerminal) process.stdout.write(greeting(started));
  await showFirstRun(node, config.data, isTerminal, log);
  if (isTerminal) return;
  const hint = howToOpen(started);
  if (hint) log.info(hint);
  log.info(
    { ...factsOf(started), ...(node.adminPort !== node.port && { adminPort: node.adminPort }), pid: process.pid },
    "parley is ready",
  );
}

async function showFirstRun(node: Node, dataFolder: string, isTerminal: boolean, log: Log): Promise<void> {
  const made = node.firstRun;
  if (!made) return;
  if (!hasSomethingToShow(made)) return node.shown();
  const text = firstRunText(node.url, made);
  // First the file: a start that is cut short here is done again, and its keys made anew.
  writeFirstRunFile(dataFolder, text);
  await node.shown();
  if (isTerminal) process.stdout.write(text);
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

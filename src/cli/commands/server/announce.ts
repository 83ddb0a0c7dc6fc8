/** What a start reports: as text on a terminal, elsewhere as lines of the log. */

import { hasColours } from "../../../base/colours.ts";
import type { Config } from "../../../config/settings.ts";
import type { Node } from "../../../node/node.ts";
import { firstRunFile, firstRunText, hasSomethingToShow, writeFirstRunFile } from "../../../node/parts/first-run.ts";
import type { Log } from "../../../telemetry/log.ts";
import { VERSION } from "../../../version.ts";
import { currentName } from "../../calls/contexts.ts";
import { noteServer } from "../../calls/running-server.ts";
import { noteForUser } from "../../calls/user-services.ts";
import { commandsVariable, greeting, howToOpen, readyFields } from "./greeting.ts";

/** By the host that a server listens on. */
const ON_LOOPBACK: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

export interface Announced extends Pick<Node, "url" | "host" | "adminUrl" | "port" | "adminPort"> {
  /** What the first start made, in clear. */
  readonly firstRunText?: string | undefined;
  /** How many workers there are, if there are several. */
  readonly workers?: number;
}

/**
 * Every start reports version, data folder and addresses. The keys that the first start made are also in a file that only its owner
 * can read, so that a command can copy them from it.
 */
export function announce(node: Announced, config: Config, log: Log): void {
  const isNoted = noteUntilExit(node, config, log);
  const started = {
    url: node.url,
    host: node.host,
    isHostDefault: config.host === "",
    isNoted,
    dataFolder: config.data,
    contextInUse: contextInUse(),
    ...(config.dashboard && { dashboardUrl: `${node.adminUrl}/dashboard` }),
  };
  // In this order: to look at stdout loads the streams of the runtime.
  const isTerminal = config.logFormat !== "json" && process.stdout.isTTY;
  if (isTerminal)
    process.stdout.write(`${greeting(started, hasColours(process.stdout, process.env))}${node.firstRunText ?? ""}`);
  if (node.firstRunText !== undefined)
    log.info(
      `the keys and tokens of the first start are in ${firstRunFile(config.data)}; delete it once you have saved its keys`,
    );
  if (isTerminal) return;
  const hint = howToOpen(started);
  if (hint) log.info(hint);
  const variable = commandsVariable(started);
  if (variable) log.info(`commands need the address of this server: ${variable}`);
  const { workers } = node;
  const ports = node.adminPort !== node.port && { adminPort: node.adminPort };
  log.info(
    { ...readyFields(started), ...ports, ...(workers !== undefined && { workers }), pid: process.pid },
    "parley is ready",
  );
}

/** Not a reason to stop a start: commands say what is wrong with it. */
function contextInUse(): string | undefined {
  try {
    return currentName(process.env);
  } catch {
    return undefined;
  }
}

/** Notes the addresses for commands on this machine. Returns whether that was possible: without it, the server works too. */
function noteUntilExit(node: Announced, config: Config, log: Log): boolean {
  const adminHost = config.adminListen.slice(0, config.adminListen.lastIndexOf(":")).replace(/^\[|\]$/g, "");
  const addresses = {
    url: seenHere(node.url, node.host),
    controlUrl: seenHere(node.adminUrl, adminHost || node.host),
    domain: config.domain,
    version: VERSION,
  };
  try {
    process.on("exit", noteForUser(process.env, { ...addresses, data: config.data }));
  } catch (error) {
    log.info(`commands can find this server only from its folder, or with --data: ${(error as Error).message}`);
  }
  try {
    process.on("exit", noteServer(config.data, addresses));
    return true;
  } catch (error) {
    log.info(`commands cannot find this server by its data folder: ${(error as Error).message}`);
    return false;
  }
}

/** For a server on all addresses, an address of loopback: another program may listen on the other one that `localhost` means. */
function seenHere(url: string, host: string): string {
  const address = new URL(url);
  address.hostname = ON_LOOPBACK[host] ?? address.hostname;
  return address.origin;
}

/** Keeps what the first start made, if this one was it; returns it as a text to be shown. */
export async function keepFirstRun(node: Node, dataFolder: string): Promise<string | undefined> {
  const made = node.firstRun;
  if (!made) return undefined;
  if (!hasSomethingToShow(made)) {
    await node.shown();
    return undefined;
  }
  const text = firstRunText(node.url, made);
  // The file comes first: if the process ends here, the next start counts as the first one and makes new keys.
  writeFirstRunFile(dataFolder, text);
  await node.shown();
  return text;
}

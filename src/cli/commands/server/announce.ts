/** What a start reports: as text on a terminal, elsewhere as lines of the log. */
import type { Config } from "../../../config/settings.ts";
import type { Node } from "../../../node/node.ts";
import { firstRunFile, firstRunText, hasSomethingToShow, writeFirstRunFile } from "../../../node/parts/first-run.ts";
import type { Log } from "../../../telemetry/log.ts";
import { commandsVariable, greeting, howToOpen, readyFields } from "./greeting.ts";

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
  const started = {
    url: node.url,
    host: node.host,
    isHostDefault: config.host === "",
    dataFolder: config.data,
    ...(config.dashboard && { dashboardUrl: `${node.adminUrl}/dashboard` }),
  };
  const isTerminal = process.stdout.isTTY && config.logFormat !== "json";
  if (isTerminal) process.stdout.write(`${greeting(started)}${node.firstRunText ?? ""}`);
  if (node.firstRunText !== undefined)
    log.info(`what the first start made is in ${firstRunFile(config.data)}; delete it when you have saved its keys`);
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

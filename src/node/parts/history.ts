/** The history of a node: in the data folder, or in PostgreSQL beside the store. */
import type { Keyring } from "../../access/keys/keyring.ts";
import type { Clock } from "../../base/clock.ts";
import type { Config } from "../../config/settings.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import { openPostgresHistory } from "../../history/postgres/history.ts";
import { RuleChanges } from "../../history/rule-changes.ts";
import { historyFile } from "../../history/sqlite/file.ts";
import { SqliteHistory } from "../../history/sqlite/history.ts";
import { HistoryTrimming } from "../../history/trimming.ts";
import type { Log } from "../../telemetry/log.ts";
import type { NodeContext } from "./context.ts";

export async function openHistory(config: Config, log: Log): Promise<HistoryStore> {
  return config.databaseUrl === ""
    ? openEmbeddedHistory(config, log)
    : openPostgresHistory({ url: config.databaseUrl });
}

export const openEmbeddedHistory = (config: Config, log: Log): SqliteHistory =>
  new SqliteHistory({
    path: historyFile(config.data),
    sync: config.historySync,
    setAside: (text) => log.error(text),
  });

export function buildTrimming({ history, keyring, log }: NodeContext & { readonly keyring: Keyring }): HistoryTrimming {
  return new HistoryTrimming({
    history,
    // Another node may have created an application that this one does not know yet.
    maxBytesOf: (app) => keyring.app(app)?.maxHistoryBytes ?? Number.POSITIVE_INFINITY,
    failed: (err) => log.error({ err }, "the history could not be trimmed; trying again every second"),
  });
}

interface RuleParts extends NodeContext {
  readonly keyring: Keyring;
  readonly clock: Clock;
}

export const buildRuleChanges = ({ history, keyring, clock, log }: RuleParts): RuleChanges =>
  new RuleChanges({
    history,
    keyring,
    clock,
    failed: (err, app) => log.error({ err, app }, "history could not be adapted to the channel rules; trying again"),
  });

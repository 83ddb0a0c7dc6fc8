/** Builds the reports of what this service keeps. */
import { resolve } from "node:path";
import { systemClock } from "../../base/clock.ts";
import { shownSettings } from "../../config/show.ts";
import { amountsIn } from "../../durable/report/folder.ts";
import { DataReports } from "../../durable/report/reports.ts";
import { historyFile } from "../../history/sqlite/file.ts";
import { sqliteFile } from "../../store/open.ts";
import type { NodeContext } from "./context.ts";
import type { RecordingService } from "./recordings.ts";

export function buildDataReports(
  { config, sources, store, history }: NodeContext,
  recordings: Pick<RecordingService, "storageName" | "recordings">,
): DataReports {
  const isEmbedded = config.databaseUrl === "";
  const data = resolve(config.data);
  const values = new Map(shownSettings({ config, sources }).map(({ name, value }) => [name, value]));
  const database = databaseOf(config.databaseUrl);
  return new DataReports({
    amounts: store.amounts,
    history,
    folder: () => amountsIn(data),
    where: {
      store: isEmbedded ? sqliteFile(data) : database,
      histories: isEmbedded ? historyFile(data) : database,
      recordings: recordings.storageName,
      files: data,
    },
    isEmbedded,
    recorded: (app) => recordings.recordings.stored(app),
    setting: (name) => settingOf(values.get(name)),
    nowMs: systemClock.wallMs,
    monotonicMs: systemClock.monotonicMs,
  });
}

/** Where numbers bound something, 0 means that they do not. */
function settingOf(value = ""): string {
  if (value === "0") return "any number";
  return /^\d+$/.test(value) ? Number(value).toLocaleString("en") : value;
}

/** Without credentials, which may be in its address. */
function databaseOf(url: string): string {
  const parsed = URL.parse(url);
  return parsed ? `PostgreSQL at ${parsed.host}${parsed.pathname}` : "PostgreSQL";
}

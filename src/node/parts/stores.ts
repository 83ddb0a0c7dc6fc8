/** Opens the stores of a node: the durable state and the history. */
import type { Config } from "../../config/settings.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import { openPostgresHistory } from "../../history/postgres/history.ts";
import { historyFile } from "../../history/sqlite/file.ts";
import { SqliteHistory } from "../../history/sqlite/history.ts";
import { holdStillOf } from "../../history/sqlite/hold-still.ts";
import type { HoldStill } from "../../store/contract/still-files.ts";
import type { Store } from "../../store/contract/store.ts";
import { openStore, sqliteFile } from "../../store/open.ts";
import type { SqlStore } from "../../store/sql/store.ts";
import type { Log } from "../../telemetry/log.ts";
import type { Team } from "./team.ts";

export interface Stores {
  readonly store: Store;
  readonly history: HistoryStore;
  /** Absent: the stores are in PostgreSQL. */
  readonly holdStill?: HoldStill | undefined;
}

/** A worker reaches the embedded stores through its supervisor, the only process that has them open. */
export async function openStores(config: Config, log: Log, team?: Pick<Team, "storePath">): Promise<Stores> {
  if (team?.storePath !== undefined) {
    const { connectStore } = await import("../../remote/client.ts");
    return connectStore({ path: team.storePath });
  }
  if (config.databaseUrl === "") return openEmbedded(config, log);
  const store = await openStore(config.data, config.databaseUrl, log);
  try {
    return { store, history: await openPostgresHistory({ url: config.databaseUrl, log }) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

export interface EmbeddedStores {
  readonly store: SqlStore;
  readonly history: SqliteHistory;
  readonly holdStill: HoldStill;
}

export async function openEmbedded(config: Config, log: Log): Promise<EmbeddedStores> {
  const store = await openStore(config.data, "", log);
  try {
    const history = new SqliteHistory({
      path: historyFile(config.data),
      sync: config.historySync,
      setAside: (text) => log.error(text),
      log,
    });
    const holdStill = holdStillOf({
      store,
      history,
      paths: [sqliteFile(config.data), historyFile(config.data)],
      failed: (err) => log.error({ err }, "the files of the stores could not be watched while they are copied"),
    });
    return { store, history, holdStill };
  } catch (error) {
    await store.close();
    throw error;
  }
}

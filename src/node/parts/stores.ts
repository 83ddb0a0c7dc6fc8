/** Opens the stores of a node: the durable state and the history. */
import type { Config } from "../../config/settings.ts";
import type { HistoryStore } from "../../history/contract/history.ts";
import type { Store } from "../../store/contract/store.ts";
import { openStore } from "../../store/open.ts";
import type { Log } from "../../telemetry/log.ts";
import { openHistory } from "./history.ts";
import type { Team } from "./team.ts";

export interface Stores {
  readonly store: Store;
  readonly history: HistoryStore;
}

/** A worker reaches the embedded stores through its supervisor, the only process that has them open. */
export async function openStores(config: Config, log: Log, team?: Pick<Team, "storePath">): Promise<Stores> {
  if (team?.storePath !== undefined) {
    const { connectStore } = await import("../../remote/client.ts");
    return connectStore({ path: team.storePath });
  }
  const store = await openStore(config.data, config.databaseUrl);
  try {
    return { store, history: await openHistory(config, log) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

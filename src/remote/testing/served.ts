/** For tests: embedded stores behind a server on a real socket, and workers that are connected to it. */
import { dirname, join } from "node:path";
import type { HistoryStore } from "../../history/contract/history.ts";
import type { HistoryClocks } from "../../history/sqlite/clocks.ts";
import { historyFile } from "../../history/sqlite/file.ts";
import { SqliteHistory } from "../../history/sqlite/history.ts";
import { holdStillOf } from "../../history/sqlite/hold-still.ts";
import type { HoldStill } from "../../store/contract/still-files.ts";
import type { Store } from "../../store/contract/store.ts";
import { openStore, sqliteFile } from "../../store/open.ts";
import type { SqlStore } from "../../store/sql/store.ts";
import { databaseOf } from "../../store/testing/recordings.ts";
import { connectStore, type RemoteStores } from "../client.ts";
import { type StoreServer, serveStore } from "../server.ts";

export interface ServedOptions {
  readonly changeMaxMs?: number;
  readonly streamsMax?: number;
  readonly clocks?: HistoryClocks;
}

/** The stores of a folder, which workers use through `path`. */
export class Served {
  readonly warnings: string[] = [];
  readonly holdStill: HoldStill;
  private readonly workers: RemoteStores[] = [];

  private constructor(
    readonly path: string,
    readonly store: SqlStore,
    readonly history: SqliteHistory,
    private readonly options: ServedOptions,
    private server: StoreServer | undefined,
  ) {
    const folder = dirname(path);
    const failed = (error: unknown): void => void this.warnings.push(String(error));
    this.holdStill = holdStillOf({ store, history, paths: [sqliteFile(folder), historyFile(folder)], failed });
  }

  static async open(folder: string, options: ServedOptions = {}): Promise<Served> {
    const store = await openStore(folder);
    const history = new SqliteHistory({
      path: historyFile(folder),
      sync: "process",
      setAside: () => undefined,
      ...(options.streamsMax !== undefined && { streamsMax: options.streamsMax }),
      ...(options.clocks && { clocks: options.clocks }),
    });
    const served = new Served(join(folder, "store.sock"), store, history, options, undefined);
    await served.serve();
    return served;
  }

  async serve(): Promise<void> {
    const { path, store, history, holdStill, options } = this;
    this.server = await serveStore({
      path,
      store,
      history,
      holdStill,
      warn: (text) => this.warnings.push(text),
      ...options,
    });
  }

  async stopServing(): Promise<void> {
    await this.server?.close();
    this.server = undefined;
  }

  async worker(): Promise<RemoteStores> {
    const worker = await connectStore({ path: this.path });
    this.workers.push(worker);
    return worker;
  }

  async close(): Promise<void> {
    for (const { store, history } of this.workers) {
      await store.close();
      await history.close();
    }
    await this.stopServing();
    await this.store.close();
    await this.history.close();
  }
}

/** One worker, whose `close` closes everything. */
export async function openServedStore(folder: string): Promise<Store> {
  const served = await Served.open(folder);
  const { store } = await served.worker();
  // The suite writes many recordings at once directly into the database.
  return Object.assign({ ...store, close: () => served.close() }, { database: databaseOf(served.store) });
}

export async function openServedHistory(folder: string, options: ServedOptions): Promise<HistoryStore> {
  const served = await Served.open(folder, options);
  const { history } = await served.worker();
  return { ...history, close: () => served.close() };
}

/** The stores of a worker: the contracts of the embedded ones, which another process has open (server.ts). */
import type { HistoryStore } from "../history/contract/history.ts";
import type { HoldStill } from "../store/contract/still-files.ts";
import type { Store } from "../store/contract/store.ts";
import { RemoteChanges } from "./changes.ts";
import { remoteHistory } from "./history.ts";
import { RemoteLeases } from "./leases.ts";
import { partOf } from "./methods.ts";
import { ServerConnection } from "./server-connection.ts";

export interface RemoteStores {
  readonly store: Store;
  readonly history: HistoryStore;
  readonly holdStill: HoldStill;
}

/** The connection ends when both are closed. Throws StoreError if the server does not answer. */
export async function connectStore({ path, waitMs }: { path: string; waitMs?: number }): Promise<RemoteStores> {
  const server = await ServerConnection.connect(path, waitMs);
  const methodFor =
    (nr: number) =>
    (...args: unknown[]) =>
      server.call(nr, args);
  const session = partOf("session", methodFor);
  let openParts = 2;
  const closed = (): void => {
    if (--openParts === 0) server.close();
  };
  const leases = new RemoteLeases(session, () => server.connection);
  const changes = new RemoteChanges(session);
  const store: Store = {
    ...partOf("store", methodFor),
    rooms: partOf("rooms", methodFor),
    meetings: partOf("meetings", methodFor),
    recordings: partOf("recordings", methodFor),
    audit: partOf("audit", methodFor),
    heldMembers: partOf("heldMembers", methodFor),
    clearing: partOf("clearing", methodFor),
    amounts: partOf("amounts", methodFor),
    tracking: partOf("tracking", methodFor),
    webhooks: partOf("webhooks", methodFor),
    leases,
    // Other workers write too.
    isShared: true,
    onChange: (listener) => server.onChanged(listener),
    change: changes.change,
    lock: async (name) => {
      const { connection } = server;
      const lock = await session.lock(name);
      // A lock ends with its connection.
      return async () => (server.connection === connection ? session.unlock(lock) : undefined);
    },
    close: async () => closed(),
  };
  const parts = {
    server: server,
    history: partOf("history", methodFor),
    calls: partOf("historyCalls", methodFor),
    created: partOf("created", methodFor),
    createdCalls: partOf("createdCalls", methodFor),
    closed,
  };
  const holdStill: HoldStill = async () => {
    const { connection } = server;
    const { hold, ...still } = await session.holdStill();
    // A hold ends with its connection.
    return { ...still, release: async () => server.connection === connection && session.releaseStill(hold) };
  };
  return { store, history: remoteHistory(parts), holdStill };
}

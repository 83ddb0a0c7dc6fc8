/**
 * Serves the embedded stores to the workers of this machine, on a Unix socket: one process has their files open, and workers reach them
 * through the same contracts. client.ts is the other side.
 *
 * - Calls of one worker begin in the order in which it made them.
 * - Leases, locks and an open change end when the connection of their worker closes.
 * - A worker whose connection was lost connects again: its earlier connection is ended first, with everything in it that was not read yet. So
 *   a batch that `settle` has reported as not stored is never stored later.
 */
import { randomUUID } from "node:crypto";
import { chmodSync, rmSync } from "node:fs";
import type { SqliteHistory } from "../history/sqlite/history.ts";
import type { HoldStill } from "../store/contract/still-files.ts";
import { StoreError } from "../store/contract/store.ts";
import type { SqlStore } from "../store/sql/store.ts";
import { JoinedAppends } from "./joined-appends.ts";
import { CONNECTIONS_MAX, SOCKET_PATH_MAX_BYTES } from "./limits.ts";
import { NamedLocks } from "./named-locks.ts";
import { WorkerConnection } from "./worker.ts";

export interface ServeOptions {
  /** Where the socket is: in a folder that only the owner can open. */
  readonly path: string;
  readonly store: SqlStore;
  readonly history: SqliteHistory;
  readonly holdStill: HoldStill;
  readonly warn: (text: string) => void;
  /** For tests: instead of CHANGE_MAX_MS. */
  readonly changeMaxMs?: number;
}

export interface StoreServer {
  /** Ends all connections, and undoes the changes that are open. The stores stay open. */
  close(): Promise<void>;
}

export async function serveStore(options: ServeOptions): Promise<StoreServer> {
  const { path, store, history, holdStill, warn } = options;
  if (Buffer.byteLength(path) > SOCKET_PATH_MAX_BYTES)
    throw new StoreError(
      `the path ${path} is too long for a socket (at most ${SOCKET_PATH_MAX_BYTES} bytes); name a shorter folder`,
    );
  const incarnation = randomUUID();
  const locks = new NamedLocks();
  /** Bound: CONNECTIONS_MAX. */
  const workers = new Set<WorkerConnection>();
  let rewinds = 0;
  history.onRewound(() => {
    rewinds++;
    for (const worker of workers) worker.rewound();
  });
  const arrived = (worker: WorkerConnection) => {
    for (const other of workers) if (other !== worker && other.id === worker.id) other.end();
    return { incarnation, rewinds };
  };
  const appends = new JoinedAppends((batches) => history.appendAll(batches));
  const { changeMaxMs } = options;
  const changed = (worker: WorkerConnection): void => {
    for (const other of workers) if (other !== worker) other.changed();
  };
  const parts = { store, history, appends, holdStill, locks, arrived, changed, warn, changeMaxMs };
  // An earlier process has left it: only the process that has the stores open listens here.
  rmSync(path, { force: true });
  const listener = Bun.listen<WorkerConnection | undefined>({
    unix: path,
    data: undefined,
    socket: {
      open: (socket) => {
        if (workers.size >= CONNECTIONS_MAX) {
          warn(`a connection to the stores was refused: there are ${CONNECTIONS_MAX}`);
          socket.terminate();
          return;
        }
        socket.data = new WorkerConnection(socket, parts);
        workers.add(socket.data);
      },
      data: ({ data: worker }, chunk) => worker?.read(chunk),
      drain: ({ data: worker }) => worker?.drained(),
      close: ({ data: worker }) => {
        if (!worker) return;
        workers.delete(worker);
        worker.gone();
      },
      // The socket has failed, or a function above has thrown: the runtime would keep the connection open, in an unknown state.
      error: (socket, error) => {
        warn(`the connection of a worker to the stores has failed: ${error.message}`);
        socket.terminate();
      },
    },
  });
  chmodSync(path, 0o600);
  return {
    close: async () => {
      listener.stop();
      for (const worker of workers) worker.end();
      rmSync(path, { force: true });
    },
  };
}

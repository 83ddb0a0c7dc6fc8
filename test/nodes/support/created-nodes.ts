/** For tests: two nodes that use the created streams of one PostgreSQL, the first behind a proxy. */
import { SQL } from "bun";
import type { Write, WriteBatch, Written } from "../../../src/history/contract/created-streams.ts";
import { HistoryUnavailable } from "../../../src/history/contract/history.ts";
import { randomBase36 } from "../../../src/history/contract/random.ts";
import { openPostgresHistory, type PostgresHistory } from "../../../src/history/postgres/history.ts";
import { NAME, SPACE } from "../../../src/history/testing/created-kit.ts";
import type { PostgresServer } from "../../../src/store/testing/postgres.ts";
import { NetworkProxy } from "../../support/network-proxy.ts";
import { retried } from "../../support/wait.ts";

/** A node, whose batches have a writer of its own. */
interface Node {
  readonly history: PostgresHistory;
  readonly store: PostgresHistory["created"];
  readonly batch: (...writes: readonly Write[]) => WriteBatch;
  readonly write: (...writes: readonly Write[]) => Promise<readonly Written[]>;
}

export interface Kit extends AsyncDisposable {
  readonly nodes: readonly [Node, Node];
  readonly url: string;
  readonly proxy: NetworkProxy;
  /** Connections of the test itself, past the proxy. */
  readonly sql: SQL;
}

function nodeOf(history: PostgresHistory): Node {
  const writer = randomBase36();
  const batch = (...writes: readonly Write[]) => ({ writer, check: randomBase36(), writes });
  const { created: store } = history;
  return { history, store, batch, write: (...writes) => store.write(batch(...writes)) };
}

export async function setup(server: PostgresServer, answerMs?: number): Promise<Kit> {
  const url = await server.newDatabase();
  const proxy = await NetworkProxy.to(server.port);
  const behind = url.replace(`:${server.port}/`, `:${proxy.port}/`);
  const first = nodeOf(await openPostgresHistory({ url: behind, ...(answerMs && { answerMs }) }));
  const second = nodeOf(await openPostgresHistory({ url }));
  const sql = new SQL({ url, max: 3 });
  return {
    nodes: [first, second],
    url,
    proxy,
    sql,
    [Symbol.asyncDispose]: async () => {
      for (const { history } of [first, second]) await history.close();
      await sql.close({ timeout: 0 });
      await proxy.close();
    },
  };
}

/** Retries like a node does. */
export const settle = ({ store }: Node, batch: WriteBatch) =>
  retried(
    "the batch is settled",
    () => store.settle(batch),
    (error) => error instanceof HistoryUnavailable,
  );

/** The processes of the server that wait for a lock. */
export const waiting = async ({ sql }: Kit): Promise<readonly number[]> => {
  const rows: { pid: number }[] = await sql`
    SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'parley-history-%' AND wait_event_type = 'Lock'`;
  return rows.map(({ pid }) => pid);
};

/** Locks all streams until released, so that a write waits in the server. */
export async function lockStreams({ sql }: Kit): Promise<() => Promise<void>> {
  const held = await sql.reserve();
  await held`BEGIN`;
  await held`SELECT 1 FROM history_streams FOR UPDATE`;
  return async () => {
    await held`ROLLBACK`;
    held.release();
  };
}

/** The offsets of all messages of a stream. */
export async function offsetsIn({ store }: Node, channel = NAME.channel): Promise<readonly number[]> {
  const found = await store.read({ spaceId: SPACE, channel }, { after: 0, limit: 1e6, maxBytes: 1e9 });
  if (!found || found === "gone") throw new Error("not there");
  return found.page.messages.map(({ offset }) => offset);
}

export const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1);
